/** Aborts through the owner into real threads, with nothing but the alarm to drive the rest. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise

const make = (options: { readonly stubborn?: boolean } = {}) => {
  const started: Array<number> = []
  // The first of a thread never ends; the others do at once.
  const agent = Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler(
    (input, run) =>
      Effect.suspend(() => {
        started.push(run.info.sequence)
        if (run.info.sequence > 1) return Effect.succeed(input)
        return options.stubborn === true ? Effect.uninterruptible(Effect.never) : Effect.never
      }),
  )
  const loom = makeLoom({ agents: [agent], limits: { abortGraceMillis: 30 } })
  const abort = (threadId: string, submissionId: SubmissionId, author = "ann") =>
    loom.client.abort({
      ownerId,
      threadId: ThreadId.make(threadId),
      submissionId,
      author,
      reason: "enough",
    })
  return { loom, started, abort }
}

const outcomeOf = async (loom: ReturnType<typeof makeLoom>, submissionId: SubmissionId) =>
  (await loom.status("a", submissionId)).settlement

describe("an abort", () => {
  it.each([false, true])(
    "of a run frees its lane, and the next head runs (stubborn: %s)",
    async (stubborn) => {
      const { abort, loom, started } = make({ stubborn })
      const first = await go(loom.submit("a"))
      const second = await go(loom.submit("a"))
      await loom.alarmsUntil("it runs", () => started.length === 1)
      expect(await go(abort("a", first.submissionId))).toEqual({ _tag: "Aborting" })
      await loom.alarmsUntil("the next one ran", () => started.includes(2))
      await loom.quiet()
      expect(await outcomeOf(loom, first.submissionId)).toMatchObject({
        outcome: "aborted",
        abort: { author: "ann", reason: "enough", forced: stubborn },
      })
      expect(await outcomeOf(loom, second.submissionId)).toMatchObject({ outcome: "completed" })
      const status = await go(loom.client.maintenanceStatus({ ownerId }))
      expect(status).toMatchObject({ nonterminal: 0, runningLanes: 0 })
    },
  )

  it("of a run that was lost with its thread is carried out by the alarm", async () => {
    const { abort, loom, started } = make()
    const { submissionId } = await go(loom.submit("a"))
    await loom.alarmsUntil("it runs", () => started.length === 1)
    loom.crashThread("a")
    expect(await go(abort("a", submissionId))).toEqual({ _tag: "Aborting" })
    await loom.quiet()
    expect(await outcomeOf(loom, submissionId)).toMatchObject({ outcome: "aborted" })
    expect(await loom.kinds("a")).toEqual([
      "InputApplied",
      "AbortRequested",
      "AttemptInterrupted",
      "Settled",
    ])
    expect(started).toEqual([1])
  })

  it("of one in a queue leaves the run before it alone", async () => {
    const { abort, loom, started } = make()
    const first = await go(loom.submit("a"))
    const second = await go(loom.submit("a"))
    await loom.alarmsUntil("it runs", () => started.length === 1)
    expect(await go(abort("a", second.submissionId))).toMatchObject({ _tag: "Settled" })
    expect((await loom.status("a", first.submissionId)).state).toBe("running")
    const error = await go(Effect.flip(abort("a", second.submissionId, "bob")))
    expect(error).toMatchObject({ _tag: "SettlementConflict", outcome: "aborted" })
    await go(abort("a", first.submissionId))
    await loom.quiet()
    expect(started).toEqual([1])
  })
})
