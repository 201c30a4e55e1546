/** Signals and callbacks: values from outside, kept until they are asked for; the first one stands. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"
import { refused, taken } from "./operators.ts"
import { dispatched, hour, openWaits, outputOf, outside, recorded, rowOf } from "./waits.ts"

const Payment = Schema.Struct({ amount: Schema.Number })

const Awaits = Agent.make("awaits", { input: Schema.Json, output: Schema.Json }).handler(
  Effect.fn(function* (_, run) {
    yield* run.approval("first", { summary: "Ready?" })
    return yield* Effect.match(run.waitFor("paid", Payment, { timeout: "1 hour" }), {
      onSuccess: ({ amount }): Agent.Json => ({ amount }),
      onFailure: (error): Agent.Json =>
        error._tag === "WaitTimedOut"
          ? { tag: error._tag, wait: error.wait, timeoutMillis: error.timeoutMillis }
          : { tag: error._tag, wait: error.wait },
    })
  }),
)

const Hook = Agent.make("hook", { input: Schema.Json, output: Schema.Json }).handler(
  Effect.fn(function* (_, run) {
    const token = yield* run.callback("paid")
    yield* run.progress("given", token)
    const { amount } = yield* run.waitFor("paid", Payment)
    return { amount, again: token }
  }),
)

const begun = async () => {
  const world = makeWorld({ agents: [Awaits, Hook] })
  const { submissionId } = await accepted(world.admit("awaits", 1))
  return { world, submissionId, ...outside(world) }
}

/** At the wait for the signal. */
const atWait = async () => {
  const at = await begun()
  await dispatched(at.world)
  await taken(at.decide(at.submissionId, "first", true))
  expect(await dispatched(at.world)).toBe("Suspended")
  expect(openWaits(at.world)).toEqual(["paid"])
  return at
}

describe("a signal", () => {
  it("resumes the run that waits for it", async () => {
    const { signal, submissionId, world } = await atWait()
    const reply = await taken(signal(submissionId, "paid", { amount: 5 }))
    expect(reply).toEqual({ receivedAt: world.time.now, duplicate: false, state: "ready" })
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({ amount: 5 })
  })

  it.each(["before its run has begun", "before its run has come to the wait"])(
    "that comes %s is kept until it does",
    async (when) => {
      const { decide, signal, submissionId, world } = await begun()
      if (when.includes("come to")) await dispatched(world)
      await taken(signal(submissionId, "paid", { amount: 7 }))
      await dispatched(world)
      expect(rowOf(world)?.state).toBe("suspended")
      await taken(decide(submissionId, "first", true))
      await drain(world)
      expect(await outputOf(world, submissionId)).toEqual({ amount: 7 })
    },
  )

  it("is given once: the same value again is a duplicate, another is refused, before and after settlement", async () => {
    const { signal, submissionId, world } = await atWait()
    await taken(signal(submissionId, "paid", { amount: 5 }))
    for (const state of ["ready", "settled"]) {
      expect(await taken(signal(submissionId, "paid", { amount: 5 }))).toMatchObject({
        duplicate: true,
        state,
      })
      expect(await refused(signal(submissionId, "paid", { amount: 6 }))).toMatchObject({
        _tag: "ResolutionConflict",
      })
      await drain(world)
    }
  })

  it("that does not fit is a typed failure, the same after a crash and under a schema that it would fit", async () => {
    const { signal, submissionId, world } = await atWait()
    await taken(signal(submissionId, "paid", { amount: "much" }))
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({
      tag: "SignalInvalid",
      wait: "paid",
    })
  })

  it("that was read once is a mismatch for code that reads it no more, and holds the run", async () => {
    const make = (schema: typeof Schema.Number | typeof Schema.String) =>
      Agent.make("reads", { input: Schema.Json, output: Schema.Json }).handler(
        Effect.fn(function* (_, run) {
          const value = yield* run.waitFor("value", schema as typeof Schema.Number)
          yield* run.approval("ok", { summary: "?" })
          return value
        }),
      )
    const world = makeWorld({ agents: [make(Schema.Number)] })
    const { submissionId } = await accepted(world.admit("reads", 1))
    await taken(outside(world).signal(submissionId, "value", 5))
    await dispatched(world)
    await taken(outside(world).decide(submissionId, "ok", true))
    world.crash({ agents: [make(Schema.String)] })
    expect(await dispatched(world)).toBe("BindingUnavailable")
    world.crash({ agents: [make(Schema.Number)] })
    expect(await dispatched(world)).toBe("Settled")
    expect(await outputOf(world, submissionId)).toBe(5)
  })

  it("that does not come in time is a typed failure; a late one is refused", async () => {
    const { signal, submissionId, world } = await atWait()
    world.time.now += hour
    expect(await refused(signal(submissionId, "paid", { amount: 5 }))).toMatchObject({
      _tag: "NotAwaiting",
    })
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({
      tag: "WaitTimedOut",
      wait: "paid",
      timeoutMillis: hour,
    })
    expect(await refused(signal(submissionId, "paid", { amount: 5 }))).toMatchObject({
      _tag: "SettlementConflict",
    })
  })

  it("under the name of another operation is refused", async () => {
    const { signal, submissionId, world } = await begun()
    await dispatched(world)
    expect(await refused(signal(submissionId, "first", 1))).toMatchObject({ _tag: "NotAwaiting" })
  })

  it("larger than a record is refused, and leaves nothing", async () => {
    const world = makeWorld({ agents: [Awaits], limits: { recordBytes: 100 } })
    const { submissionId } = await accepted(world.admit("awaits", 1))
    expect(
      await refused(outside(world).signal(submissionId, "paid", "x".repeat(200))),
    ).toMatchObject({ _tag: "AdmissionLimitExceeded", limit: "recordBytes" })
    expect(await recorded(world)).toEqual([])
  })
})

describe("a callback", () => {
  const given = async () => {
    const world = makeWorld({ agents: [Hook] })
    const { submissionId } = await accepted(world.admit("hook", 1))
    await dispatched(world)
    const { records } = await go(world.history())
    const told = records.find(({ name }) => name === "given")
    const { data: token } = (told?.payload ?? { data: "" }) as { readonly data: string }
    return { world, submissionId, token, ...outside(world) }
  }

  it("leads to its wait, and to that alone", async () => {
    const { callback, signal, submissionId, token, world } = await given()
    expect(token).toMatch(/^acme~order-1~[0-9a-f]{32}$/)
    expect(await callback(token)).toEqual({ submissionId, name: "paid" })
    const other = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0")
    await expect(callback(other)).rejects.toMatchObject({ _tag: "OperationDenied" })
    await taken(signal(submissionId, "paid", { amount: 3 }))
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({ amount: 3, again: token })
    // Who comes again because an answer was lost still finds its wait, and is told that the value is there.
    expect(await callback(token)).toEqual({ submissionId, name: "paid" })
    expect(await taken(signal(submissionId, "paid", { amount: 3 }))).toMatchObject({
      duplicate: true,
    })
  })

  it("is in no record and no row that its run did not put it into", async () => {
    const { token, world } = await given()
    const secret = token.slice(-32)
    const { records } = await go(world.history())
    const ours = records.filter(({ name }) => name !== "given")
    expect(ours.map(({ kind }) => kind)).toContain("ValueDrawn")
    expect(JSON.stringify(ours)).not.toContain(secret)
    for (const table of ["callbacks", "waits", "meta", "submissions"])
      expect(JSON.stringify(world.storage.sql.all(`SELECT * FROM ${table}`))).not.toContain(secret)
  })

  it("is another for each thread", async () => {
    const [one, other] = [await given(), await given()]
    expect(one.token).not.toBe(other.token)
    const keyOf = ({ world }: typeof one) =>
      world.storage.sql.all<{ callbackKey: string }>("SELECT callbackKey FROM meta")[0]?.callbackKey
    // Whoever knows the ids of a run knows nothing of its tokens: they come of a secret of the thread.
    expect(keyOf(one)).toMatch(/^[0-9a-f]{64}$/)
    expect(keyOf(one)).not.toBe(keyOf(other))
  })

  it("of a thread that was never written to leads nowhere, and leaves it so", async () => {
    const world = makeWorld({ agents: [Hook] })
    await expect(outside(world).callback(`acme~order-1~${"0".repeat(32)}`)).rejects.toMatchObject({
      _tag: "OperationDenied",
    })
    expect(world.storage.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
  })
})
