/** Work that waits for somebody's word, through the owner, with nothing but the alarm to drive the rest. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const a = { ownerId, threadId: ThreadId.make("a"), author: "ann", reason: "the bank says so" }

const payBack = Agent.tool("pay-back", {
  execution: "ordinary",
  result: Schema.Json,
  timeout: "10 millis",
})

/** The first payment of a thread is never heard of again; the others are. */
const make = () => {
  let calls = 0
  const agent = Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler(
    (_, run) =>
      run.tool("pay", payBack, () =>
        Effect.suspend(() => {
          calls += 1
          return run.info.sequence === 1 ? Effect.never : Effect.succeed("paid")
        }),
      ),
    { tools: [payBack] },
  )
  const loom = makeLoom({
    agents: [agent],
    limits: { clockAllowanceMillis: 0, oldInstanceMillis: 10 },
  })
  return { loom, calls: () => calls }
}

const parked = async () => {
  const { calls, loom } = make()
  const first = await go(loom.submit("a"))
  const second = await go(loom.submit("a"))
  await loom.quiet()
  const { obligations } = await go(loom.client.obligations({ ownerId }))
  return { loom, calls, first, second, obligations }
}

const stateOf = async (loom: ReturnType<typeof makeLoom>, submissionId: SubmissionId) =>
  loom.status("a", submissionId)

describe("a submission of which nobody knows whether its call happened", () => {
  it("holds no alarm and nobody behind it, and is told with what a word names", async () => {
    const { calls, first, loom, obligations, second } = await parked()
    expect(await stateOf(loom, first.submissionId)).toMatchObject({ state: "unknown" })
    expect(await stateOf(loom, second.submissionId)).toMatchObject({ state: "settled" })
    expect(calls()).toBe(2)
    expect(loom.storage.alarmAt()).toBeNull()
    expect(loom.lane("a")).toMatchObject({ work: null, enrolled: null })
    const { submissionId } = first
    expect(obligations).toMatchObject([
      {
        submissionId,
        blocker: "unknown",
        name: "pay",
        recordId: expect.any(String),
        nonterminal: 1,
      },
    ])
  })

  it("goes on with the word that answers what is told, and its call is not made again", async () => {
    const { calls, first, loom, obligations } = await parked()
    const recordId = obligations[0]?.recordId
    if (recordId === undefined) throw new Error("no record to name")
    const { submissionId } = first
    const resolution = { _tag: "CompletedWithResult", result: "paid after all" } as const
    const reply = await go(loom.client.resolveUnknown({ ...a, submissionId, recordId, resolution }))
    expect(reply).toMatchObject({ undecided: 0 })
    expect(loom.storage.alarmAt()).not.toBeNull()
    await loom.quiet()
    expect(await stateOf(loom, submissionId)).toMatchObject({
      state: "settled",
      settlement: { outcome: "completed", output: "paid after all" },
    })
    expect(calls()).toBe(2)
    expect(await go(loom.client.obligations({ ownerId }))).toEqual({ obligations: [] })
  })

  it("is not retried by a retry", async () => {
    const { calls, first, loom } = await parked()
    const { submissionId } = first
    const error = await go(Effect.flip(loom.client.retry({ ...a, submissionId })))
    expect(error).toMatchObject({ _tag: "NotAwaiting" })
    await loom.quiet()
    expect(calls()).toBe(2)
  })
})

describe("a paused thread", () => {
  it("accepts, holds no alarm, and runs in order once it is resumed", async () => {
    const loom = makeLoom({
      agents: [
        Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler((input) =>
          Effect.succeed(input),
        ),
      ],
    })
    expect(await go(loom.client.pauseThread(a))).toMatchObject({
      paused: true,
      pause: { author: "ann", reason: "the bank says so" },
    })
    const receipts = [await go(loom.submit("a")), await go(loom.submit("a"))]
    await loom.quiet()
    for (const { submissionId } of receipts) {
      expect(await stateOf(loom, submissionId)).toMatchObject({ state: "ready", attempts: 0 })
    }
    const { obligations } = await go(loom.client.obligations({ ownerId }))
    expect(obligations).toMatchObject([{ threadId: "a", blocker: "paused", nonterminal: 2 }])
    loom.crash()
    loom.crashThread("a")
    await go(loom.client.resumeThread(a))
    await loom.quiet()
    expect(await loom.kinds("a")).toEqual(["InputApplied", "Settled", "InputApplied", "Settled"])
  })
})
