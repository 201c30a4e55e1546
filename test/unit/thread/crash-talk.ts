/**
 * A crash in the blocks by which threads talk: a run takes what joins it, sends a message, and has a child; its owner
 * carries what is queued. After it the same calls again come to the history without one.
 */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { OutboxEntry } from "../../../contracts/Outbox.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"

const Kid = Agent.make("kid", { input: Schema.String, output: Schema.String })

const Talks = Agent.make("talks", { input: Schema.String, output: Schema.String }).handler(
  Effect.fn(function* (input, run) {
    const more = yield* run.takeInputs("more")
    const threadId = ThreadId.make("elsewhere")
    yield* run.send("letter", { threadId, agent: Kid, input: "hello" })
    yield* run.child("apart", Kid, "on its own", { detached: true })
    const grown = yield* run.child("kid", Kid, "small")
    return [input, ...more.map((one) => one.input), grown].join(" ")
  }),
)

const call = (world: World) => ({
  ...world.address,
  generation: world.generation(),
  now: world.time.now,
})

const settlementOf = (childId: string) => ({
  submissionId: "01900000-0000-7000-8000-000000000001",
  sequence: 1,
  outcome: "completed",
  output: `grown ${childId.length}`,
  settledAt: 1,
  attempts: 1,
})

/** Takes an entry as its target would, and lets a child settle at once. */
const take = async (world: World, entry: OutboxEntry): Promise<void> => {
  if (entry._tag !== "Child") return
  const { name, submissionId } = entry.parent
  const settlement = settlementOf(entry.id)
  const child = { ...call(world), submissionId, name, childId: entry.id, settlement }
  await go(world.asOwner.settleChild(child as never))
}

/** Carries what is queued until nothing is. */
const carry = async (world: World): Promise<void> => {
  for (;;) {
    const { result } = await go(world.asOwner.claimOutbox({ ...call(world), limit: 8 }))
    if (result._tag === "Failure") throw result.error
    const entries = result.value.filter((entry) => entry._tag !== "Unrecognized")
    if (entries.length === 0) return
    const results = entries.map(({ id }) => ({ id, result: { _tag: "Taken" } as const }))
    for (const entry of entries) await take(world, entry)
    await go(world.asOwner.acknowledgeOutbox({ ...call(world), results }))
  }
}

const play = async (world: World) => {
  const host = await accepted(world.admit("talks", "a", { idempotencyKey: "a" }))
  const join = { idempotencyKey: "b", delivery: "join" } as never
  const joined = await accepted(world.admit("talks", "b", join))
  await drain(world)
  await carry(world)
  await drain(world)
  await carry(world)
  return { host, joined }
}

/** What must be the same with and without a crash, but for the ids that each world draws. */
const canonical = async (world: World) =>
  (await go(world.history())).records
    .filter(({ kind }) => kind !== "AttemptInterrupted")
    .map(({ kind, name, payload }) => {
      const { outcome, output } = payload as { outcome?: unknown; output?: unknown }
      return { kind, name, outcome, output }
    })

export const crashInTalk = async (point: string): Promise<void> => {
  const undisturbed = makeWorld({ agents: [Talks] })
  await play(undisturbed)
  const world = makeWorld({ agents: [Talks], stopAt: point })
  void play(world).catch(() => undefined)
  await world.stopped()
  world.crash()
  const { host, joined } = await play(world)
  expect(await canonical(world)).toEqual(await canonical(undisturbed))
  for (const { submissionId } of [host, joined])
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", output: "a b grown 32" },
    })
  expect(world.storage.sql.all("SELECT * FROM outbox")).toEqual([])
  expect(world.storage.sql.all("SELECT * FROM children")).toEqual([])
}

/** A child that is told to end before it comes: whenever the word is lost, it settles aborted, once. */
export const crashInAbortChild = async (point: string): Promise<void> => {
  const ran: Array<string> = []
  const live = Kid.handler((input) => Effect.sync(() => ran.push(input)).pipe(Effect.as(input)))
  const world = makeWorld({ agents: [live], stopAt: point })
  const childId = "c".repeat(32)
  const words = { author: "heddle", reason: "the parent failed", principal: "alice" }
  const end = () => go(world.asOwner.abortChild({ ...call(world), childId, ...words } as never))
  void end().catch(() => undefined)
  await world.stopped()
  world.crash()
  await end()
  const parent = {
    threadId: "p",
    submissionId: "01900000-0000-7000-8000-000000000001",
    name: "kid",
    depth: 1,
  }
  const extra = { idempotencyKey: childId, parent } as never
  const { submissionId } = await accepted(world.admit("kid", "small", extra))
  await drain(world)
  expect(await go(world.status(submissionId))).toMatchObject({
    settlement: { outcome: "aborted", abort: { author: "heddle" } },
  })
  expect(ran).toEqual([])
  const { result } = await go(world.asOwner.claimOutbox({ ...call(world), limit: 8 }))
  expect(result).toMatchObject({
    value: [{ _tag: "ChildNotice", childId, threadId: "p", settlement: { outcome: "aborted" } }],
  })
}
