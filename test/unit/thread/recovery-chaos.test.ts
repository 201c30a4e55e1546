/**
 * Whatever happens to runs that pay, in an order that a seed draws: nothing is paid twice, what is recorded is
 * what happened, every report keeps its promise, and all of it settles once somebody has said what they know.
 */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { changesOf, io, payment, questionsOf, settle } from "./calls.ts"
import { go, makeWorld } from "./harness.ts"
import { operate } from "./operators.ts"

/** A small generator: the same numbers in every run of a seed. */
const drawing = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
type Draw = ReturnType<typeof drawing>

type Look = Effect.Effect<Agent.Reconciliation<string>, string>

const idOf = (call: { readonly submissionId: string; readonly name?: string | undefined }) =>
  `${call.submissionId} ${call.name ?? ""}`

/** The provider: which calls reached it, and which it has carried out. Reliable once it is calm. */
const makeProvider = (draw: Draw) => {
  const paid = new Map<string, number>()
  const starts = new Map<string, number>()
  const calm = { now: false }
  const drawn = (below: number) => (calm.now ? 0 : draw(below))
  const count = (counts: Map<string, number>, id: string) =>
    void counts.set(id, (counts.get(id) ?? 0) + 1)
  const pay = (call: Agent.ToolCall): Effect.Effect<string> =>
    Effect.suspend(() => {
      count(starts, idOf(call))
      const way = drawn(6)
      if (way < 4) count(paid, idOf(call))
      if (way < 2) return Effect.succeed("paid")
      return way % 2 === 0 ? Effect.never : Effect.die(new Error("the connection broke"))
    })
  const look = (call: Agent.ToolCall): Look =>
    Effect.suspend((): Look => {
      const way = drawn(4)
      if (way === 3) return Effect.fail("no answer")
      if (way === 2) return Effect.succeed({ _tag: "Uncertain" })
      return Effect.succeed(
        paid.has(idOf(call)) ? { _tag: "Completed", result: "paid" } : { _tag: "NeverStarted" },
      )
    })
  return { calm, drawn, look, paid, pay, starts }
}
type Provider = ReturnType<typeof makeProvider>

/** Pays once or twice, one after the other or beside each other; hangs at times behind it. */
const payer = ({ drawn, look, pay }: Provider) => {
  const asked = payment("ordinary", { timeout: 1, reconcile: look })
  const silent = payment("ordinary", { timeout: 1, name: "silent" })
  return Agent.make("agent", io).handler(
    (input, run) =>
      Effect.gen(function* () {
        const one = run.tool("one", asked, pay)
        const two = run.tool("two", silent, pay)
        yield* Effect.all(input === "one" ? [one] : [one, two], {
          concurrency: input === "both" ? "unbounded" : 1,
        })
        return drawn(6) === 5 ? yield* Effect.never : "done"
      }),
    { tools: [asked, silent] },
  )
}

const other = Agent.make("other", io).handler(() => Effect.succeed("other"))

const makeScene = (seed: number) => {
  const draw = drawing(seed)
  const provider = makeProvider(draw)
  const agent = payer(provider)
  const world = makeWorld({ agents: [agent, other], cutsOff: true })
  const ids: Array<SubmissionId> = []
  return { draw, provider, agent, world, ids }
}
type Scene = ReturnType<typeof makeScene>

/** Says about one question what the provider knows, if anything is asked. */
const resolveOne = async ({ draw, ids, provider, world }: Scene): Promise<void> => {
  const id = ids[draw(ids.length)]
  const questions = id === undefined ? [] : await questionsOf(world, id)
  const question = questions[draw(questions.length)]
  if (question === undefined) return
  const word = provider.paid.has(idOf(question))
    ? { _tag: "CompletedWithResult", result: "paid" }
    : { _tag: "NeverHappened" }
  await operate(world).resolve(question, word)
}

const admit = async ({ draw, ids, world }: Scene, options: { readonly notBefore?: number }) => {
  const input = ["one", "two", "both"][draw(3)] ?? "one"
  const { result } = await go(world.admit("agent", input, options))
  // A deployment without the agent refuses.
  if (result._tag === "Success") ids.push(result.value.submissionId)
}

const abortOne = async ({ draw, ids, world }: Scene): Promise<void> => {
  const id = ids[draw(ids.length)]
  if (draw(3) === 0 && id !== undefined) await go(world.abort(id))
}

const act = async (scene: Scene): Promise<void> => {
  const { agent, draw, world } = scene
  switch (draw(10)) {
    case 0:
      return admit(scene, {})
    case 1:
      return admit(scene, { notBefore: world.time.now + 1 + draw(20_000) })
    case 2:
      return world.crash({ agents: draw(3) === 0 ? [other] : [agent, other] })
    case 3:
      world.time.now += draw(60_000)
      return
    case 4:
      await go(world.recover())
      return
    case 5:
      return resolveOne(scene)
    case 6:
      return abortOne(scene)
    default:
      await go(world.process({ attentionMillis: 5, maxHeads: 1 + draw(3) }))
  }
}

/** Nothing was paid twice, and no body started again without a record that says it may. */
const expectSafe = ({ provider, world }: Scene): void => {
  for (const [, times] of provider.paid) expect(times).toBe(1)
  const leaves = world.storage.sql.all<{ submissionId: string; name: string; times: number }>(
    `SELECT s.id AS submissionId, j.name, sum(j.kind = 'ToolResolved') AS times
     FROM journal j JOIN submissions s ON s.sequence = j.submission
     WHERE j.name IS NOT NULL GROUP BY s.id, j.name`,
  )
  for (const call of leaves)
    expect(provider.starts.get(idOf(call)) ?? 0).toBeLessThanOrEqual(1 + call.times)
}

/** What is recorded as an outcome has happened. */
const expectTrue = ({ provider, world }: Scene): void => {
  const outcomes = world.storage.sql.all<{ submissionId: string; name: string }>(
    `SELECT s.id AS submissionId, j.name FROM journal j
     JOIN submissions s ON s.sequence = j.submission WHERE j.kind = 'ToolSettled'`,
  )
  for (const call of outcomes) expect(provider.paid.get(idOf(call))).toBe(1)
}

/** The report keeps its promise: what is due changes something, and where nothing is due nothing does. */
const expectPromise = async ({ world }: Scene): Promise<void> => {
  if (world.thread().isRunning()) return
  const { dueAt, nonterminal, parked, recoverAt } = (await go(world.inspect())).report
  if (recoverAt !== undefined) {
    const isDue = recoverAt <= world.time.now
    expect(await changesOf(world, () => go(world.recover()))).toBe(isDue)
  } else if (dueAt === undefined) {
    expect(await changesOf(world, () => go(world.process()))).toBe(false)
    expect(await changesOf(world, () => go(world.recover()))).toBe(false)
    expect(nonterminal).toBe(parked)
  }
}

/** Everybody says what they know, until all has settled. */
const finish = async (scene: Scene): Promise<void> => {
  const { agent, ids, provider, world } = scene
  provider.calm.now = true
  for (let round = 0; round < 60; round++) {
    world.crash({ agents: [agent, other] })
    const { nonterminal } = await settle(world)
    if (nonterminal === 0) return
    for (const _id of ids) await resolveOne(scene)
  }
  throw new Error("something never settles")
}

describe("runs that pay", () => {
  it.each(Array.from({ length: 24 }, (_, seed) => seed + 1))(
    "pay once each, whatever happens (seed %i)",
    async (seed) => {
      const scene = makeScene(seed)
      await admit(scene, {})
      for (let round = 0; round < 40; round++) {
        await act(scene)
        await expectPromise(scene)
        expectSafe(scene)
      }
      await finish(scene)
      expectSafe(scene)
      expectTrue(scene)
      const ends = (await go(scene.world.history())).records.filter(
        ({ kind }) => kind === "Settled",
      )
      expect(ends).toHaveLength(scene.ids.length)
    },
  )
})
