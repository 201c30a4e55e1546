/** Threads forgotten through their owner, real ones, with nothing but the alarm to drive the rest. */
import { Effect, Exit, Fiber, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { type LoomOptions, makeLoom } from "./Loom.ts"

const go = Effect.runPromise

const make = (options: Omit<LoomOptions, "agents"> = {}) => {
  const started: Array<number> = []
  // The first of a thread named "busy" never ends; all others do at once.
  const agent = Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler(
    (input, run) =>
      Effect.suspend(() => {
        started.push(run.info.sequence)
        return run.info.threadId === "busy" ? Effect.never : Effect.succeed(input)
      }),
  )
  const limits = { abortGraceMillis: 30, ...options.limits }
  const loom = makeLoom({ ...options, agents: [agent], limits })
  const forget = (threadId: string, abort: boolean) =>
    loom.client.forgetThread({
      ownerId,
      threadId: ThreadId.make(threadId),
      author: "ann",
      reason: "asked to",
      abort,
    })
  const answered = async (threadId: string, abort: boolean) => {
    const asking = Effect.runFork(forget(threadId, abort))
    await loom.alarmsUntil("the caller is answered", () => asking.pollUnsafe() !== undefined)
    return go(Fiber.await(asking))
  }
  return { loom, started, forget, answered }
}

type Loom = ReturnType<typeof make>["loom"]

const expectGone = async (loom: Loom, threadId: string) => {
  await loom.quiet()
  expect(loom.lane(threadId)).toBeUndefined()
  await expect(loom.history(threadId)).rejects.toMatchObject({ _tag: "ThreadForgotten" })
  expect(await go(loom.client.maintenanceStatus({ ownerId }))).toMatchObject({
    lanes: 0,
    nonterminal: 0,
    runningLanes: 0,
    dueLanes: 0,
  })
}

const forgotten = { _tag: "Forgotten", forgottenAt: expect.any(Number) }

describe("a thread that is forgotten", () => {
  it("answers nothing else from then on, also after its objects and its owner died", async () => {
    const { answered, loom } = make()
    await go(loom.submit("a"))
    await loom.quiet()
    expect(await answered("a", false)).toEqual(Exit.succeed(forgotten))
    await expectGone(loom, "a")
    loom.crashThread("a")
    loom.crash()
    expect(await go(Effect.flip(loom.submit("a")))).toMatchObject({ _tag: "ThreadForgotten" })
    await expectGone(loom, "a")
    await go(loom.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await expectGone(loom, "a")
  })

  it("refuses while it owes work, and that work settles", async () => {
    const { answered, loom } = make()
    loom.storage.alarm.delete()
    const { submissionId } = await go(loom.submit("a"))
    await go(loom.client.pauseThread({ ...words, threadId: ThreadId.make("a") }))
    const exit = await answered("a", false)
    expect(exit).toMatchObject({
      cause: { reasons: [{ error: { _tag: "WorkOwed", nonterminal: 1 } }] },
    })
    await go(loom.client.resumeThread({ ...words, threadId: ThreadId.make("a") }))
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
  })

  it.each([false, true])(
    "has its run aborted first, within its grace (reports are lost: %s)",
    async (losesReports) => {
      const limits = { forgetWaitMillis: 5, forgetRetryMillis: 10 }
      const { answered, loom, started } = make({ losesReports, limits })
      await go(loom.submit("busy"))
      await go(loom.submit("busy"))
      await loom.alarmsUntil("it runs", () => started.length === 1)
      // It may be over within the wait.
      const exit = await answered("busy", true)
      expect([Exit.succeed({ _tag: "Condemned" }), Exit.succeed(forgotten)]).toContainEqual(exit)
      await expectGone(loom, "busy")
      expect(started).toEqual([1])
    },
  )

  it("needs no recovery of a run that was lost with its object", async () => {
    const { answered, loom, started } = make()
    await go(loom.submit("busy"))
    await loom.alarmsUntil("it runs", () => started.length === 1)
    loom.crashThread("busy")
    await answered("busy", true)
    await expectGone(loom, "busy")
    expect(started).toEqual([1])
  })

  it("leaves its neighbours alone", async () => {
    const { answered, loom } = make()
    const others = ["b", "c", "d"]
    for (const name of others) await go(loom.submit(name))
    await answered("a", true)
    await loom.quiet()
    for (const name of others) expect((await loom.kinds(name)).at(-1)).toBe("Settled")
  })
})

const words = { ownerId, author: "ann", reason: "an audit" }
