/** Inputs that a run has taken, where the run comes to an end that it did not plan. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { expectVerified } from "./calls.ts"
import { accepted, drain, go, makeWorld, until, type WorldOptions } from "./harness.ts"
import { operate, refused } from "./operators.ts"
import { outputOf, recorded, rowOf } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }
const Elsewhere = Agent.make("elsewhere", io)

type AnyRun = Agent.Run<never>

/** A thread whose open run is about to take the input behind it, and what it does after that. */
const taking = async (
  rest: (run: AnyRun) => Effect.Effect<unknown, unknown>,
  { input = 2, ...options }: WorldOptions & { readonly input?: unknown } = {},
) => {
  const open = Deferred.makeUnsafe<void>()
  const host = Agent.make("host", { input: Schema.Number, output: Schema.Json }).handler(
    (first, run) =>
      Effect.gen(function* () {
        if (first !== 1) return first
        yield* run.step("hold", Schema.Undefined, Effect.as(Deferred.await(open), undefined))
        yield* run.takeInputs("all")
        return (yield* rest(run as never)) as never
      }).pipe(Effect.orDie),
  )
  const world = makeWorld({ agents: [host] as never, ...options })
  const first = await accepted(world.admit("host", 1))
  await go(world.process({ attentionMillis: 2 }))
  const second = await accepted(world.admit("host", input as never, { delivery: "join" } as never))
  Deferred.doneUnsafe(open, Effect.void)
  await until(
    "the run rests",
    () => rowOf(world)?.state,
    (state) => state === "suspended" || state === "settled",
  )
  return { first, second, world }
}

const asks = (run: AnyRun) => run.approval("go", { summary: "?" })

/** Leaves something that the thread owes. */
const sendsAndAsks = (run: AnyRun) =>
  Effect.andThen(
    run.send("m", { threadId: ThreadId.make("t"), agent: Elsewhere, input: 1 }),
    asks(run),
  )

describe("an input that a run has taken", () => {
  it("settles once with its run when their thread is to be forgotten, and what is owed stays owed", async () => {
    const { second, world } = await taking(sendsAndAsks)
    const forget = () => refused(operate(world).forget({ abort: true }))
    const owed = { _tag: "WorkOwed", nonterminal: 0, outbox: 1 }
    expect(await forget()).toMatchObject(owed)
    const ends = (await recorded(world)).filter((kind) => kind === "Settled")
    expect(ends).toHaveLength(2)
    expect(await recorded(world)).toContain("AbortRequested")
    expect(await go(world.status(second.submissionId))).toMatchObject({
      settlement: { outcome: "aborted" },
    })
    await expectVerified(world)
    world.crash()
    expect(await forget()).toMatchObject(owed)
    expect(world.storage.sql.all("SELECT id FROM outbox")).toHaveLength(1)
  })

  it("holds no forgetting up where its run does not decode", async () => {
    const { world } = await taking(asks)
    world.storage.sql.run("UPDATE submissions SET epoch = 'x' WHERE sequence = 1")
    world.crash()
    expect((await operate(world).forget({ abort: true })).result).toMatchObject({ _tag: "Success" })
  })

  it("runs by itself where its run had no room to record that it took it", async () => {
    const { second, world } = await taking(() => Effect.succeed(null), {
      limits: { runRecords: 1 },
    })
    expect(await go(world.status(second.submissionId))).toMatchObject({ state: "ready" })
    await drain(world)
    expect(await outputOf(world, second.submissionId)).toBe(2)
    await expectVerified(world)
  })
})

describe("an input that its run cannot read", () => {
  it("is left in the queue where the run had no room to record what it took", async () => {
    const { second, world } = await taking(() => Effect.succeed(null), {
      limits: { runRecords: 1 },
      input: "no number",
    })
    expect(await go(world.status(second.submissionId))).toMatchObject({ state: "ready" })
  })
})
