import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import { selectHead } from "../../../thread-actors/Head.ts"
import type { SubmissionRow } from "../../../thread-actors/Ledger.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { go, makeWorld, type World } from "./harness.ts"

/** A small generator: the same numbers in every run of a seed. */
const random = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const withoutMarks = ({ revision: _revision, ...report }: LaneReport) => JSON.stringify(report)

/** Does what its input says: finishes, hangs, fails for a retry, yields, records. */
const Chameleon = Agent.make("chameleon", {
  input: Schema.String,
  output: Schema.String,
  retry: { times: 2, delay: "5 seconds" },
}).handler((input, run) =>
  Effect.gen(function* () {
    if (input === "steps") yield* run.step("one", Schema.Number, Effect.succeed(1))
    if (input === "dies") return yield* Effect.die("no")
    if (input === "fades") return yield* Effect.interrupt
    if (input === "hangs" && run.info.attempt < 3) return yield* Effect.never
    return input
  }),
)

/** Aborts some submission, whatever its state: also one that has settled. */
const abortAny = async (world: World, pick: (below: number) => number): Promise<void> => {
  const admitted = world.storage.sql.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE name = 'submissions'",
  ).length
  const rows =
    admitted === 0 ? [] : world.storage.sql.all<{ id: string }>("SELECT id FROM submissions")
  const row = rows[pick(rows.length)]
  if (row !== undefined) await go(world.abort(row.id as never))
}

/** A word that a command to the schedules needs, whatever it is. */
const words = (world: World) => ({
  ...world.address,
  name: "often" as never,
  generation: world.generation(),
  principal: "alice" as never,
  now: world.time.now,
})

const schedule = (world: World, input: number) =>
  go(
    world.asOwner.schedule({
      ...words(world),
      cron: "*/5 * * * * *",
      agent: "chameleon" as never,
      input: inputs[input] ?? "ok",
    }),
  )

const inputs = ["ok", "steps", "dies", "fades", "hangs"]

const act = async (world: World, pick: (below: number) => number): Promise<void> => {
  switch (pick(11)) {
    case 0:
    case 1:
      await go(world.admit("chameleon", inputs[pick(inputs.length)] ?? "ok"))
      return
    case 2:
      await go(world.admit("chameleon", "ok", { notBefore: world.time.now + pick(20_000) }))
      return
    case 3:
      await go(world.inspect(world.generation()))
      return
    case 4:
      world.time.now += pick(10_000)
      return
    case 5:
      world.crash()
      return
    case 6:
      await go(world.recover())
      return
    case 7:
      await abortAny(world, pick)
      return
    case 8:
      await schedule(world, pick(3))
      return
    case 9:
      if (pick(2) === 0) await go(world.asOwner.unschedule(words(world)))
      return
    default:
      await go(world.process({ attentionMillis: 2, maxHeads: 1 + pick(3) }))
  }
}

/** What a call now would change, apart from time. */
const changes = async (world: World, call: () => Promise<unknown>): Promise<boolean> => {
  const before = world.storage.dump()
  await call()
  return world.storage.dump() !== before
}

describe("the lane report", () => {
  it.each(Array.from({ length: 25 }, (_, seed) => seed + 1))(
    "tells when a call would change something, and grows with every change (seed %i)",
    async (seed) => {
      const pick = random(seed)
      const world = makeWorld({
        agents: [Chameleon],
        limits: { attentionMillis: 2 },
        ...(seed % 2 === 0 ? {} : { settledAfterMillis: 10_000 }),
      })
      let last: LaneReport | undefined
      for (let round = 0; round < 30; round++) {
        await act(world, pick)
        const { report } = await go(world.inspect())
        if (last !== undefined && last.born === report.born) {
          expect(report.revision).toBeGreaterThanOrEqual(last.revision)
          const lost = report.recoverAt === 0 || last.recoverAt === 0
          const due = report.head?.sequence !== last.head?.sequence || report.dueAt !== last.dueAt
          if (report.revision === last.revision && !lost && !due)
            expect(withoutMarks(report)).toBe(withoutMarks(last))
        }
        last = report
        const live = world.thread().isRunning()
        const none = report.dueAt === undefined && report.recoverAt === undefined
        const { upkeepAt = Infinity } = report
        if (none && upkeepAt > world.time.now) {
          expect(await changes(world, () => go(world.process()))).toBe(false)
          expect(await changes(world, () => go(world.recover()))).toBe(false)
          expect(report.nonterminal).toBe(0)
        }
        if (none) {
          if (upkeepAt === Infinity) continue
          world.time.now = Math.max(world.time.now, upkeepAt)
          expect(await changes(world, () => go(world.process({ attentionMillis: 2 })))).toBe(true)
        } else if (report.recoverAt !== undefined)
          expect(await changes(world, () => go(world.recover()))).toBe(true)
        else if (!live) {
          world.time.now = Math.max(world.time.now, report.dueAt ?? 0)
          expect(await changes(world, () => go(world.process({ attentionMillis: 2 })))).toBe(true)
        }
        last = (await go(world.inspect())).report
      }
    },
  )

  it("names the database, so that another one is told apart", async () => {
    const one = makeWorld({ agents: [Chameleon] })
    const two = makeWorld({ agents: [Chameleon] })
    const borns = []
    for (const world of [one, one, two])
      borns.push((await go(world.admit("chameleon", "ok"))).report.born)
    expect(borns[0]).toBe(borns[1])
    expect(borns[2]).not.toBe(borns[0])
  })

  it("carries the last title given", async () => {
    const world = makeWorld({ agents: [Chameleon] })
    await go(world.admit("chameleon", "ok", { title: "An order" }))
    expect((await go(world.admit("chameleon", "ok"))).report.title).toBe("An order")
    expect((await go(world.admit("chameleon", "ok", { title: "Two" }))).report.title).toBe("Two")
  })
})

const row = (change: Partial<SubmissionRow>): SubmissionRow => ({
  sequence: 1,
  id: "018f0000-0000-7000-8000-000000000001" as never,
  principal: "alice" as never,
  agent: "agent" as never,
  inputBytes: 2,
  acceptedAt: 1,
  notBefore: null,
  inputDigest: "",
  delivery: "queue",
  parent: null,
  trace: null,
  state: "ready",
  epoch: 1,
  attempts: 1,
  ended: 0,
  vanished: 0,
  vanishedVersion: null,
  retries: null,
  dueAt: null,
  suspension: null,
  abort: null,
  outcome: null,
  settledSequence: null,
  ...change,
})

describe("the head", () => {
  const [one, two, three, four] = [1, 2, 3, 4].map((sequence) => row({ sequence }))
  const none = { open: undefined, resolved: undefined, queued: undefined, due: undefined }

  it("is the open run, then a resolved unknown, then the lowest ready one", () => {
    const all = { open: four, resolved: three, queued: two, due: one }
    expect(selectHead(all)).toBe(four)
    expect(selectHead({ ...all, open: undefined })).toBe(three)
    expect(selectHead({ ...none, queued: two, due: one })).toBe(one)
    expect(selectHead({ ...none, queued: one, due: two })).toBe(one)
    expect(selectHead({ ...none, due: two })).toBe(two)
    expect(selectHead(none)).toBeUndefined()
  })
})
