import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { type Generation, type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
const words = { author: "ann", reason: "sent twice" }
const unknownId = "018f0000-0000-7000-8000-000000000009" as SubmissionId
const year2100 = 4_102_444_800_000
const farFence = `${String(year2100).padStart(15, "0")}-0000000007` as Generation

const command = (threadId: string, submissionId: SubmissionId) => ({
  ownerId,
  threadId: ThreadId.make(threadId),
  submissionId,
  ...words,
})

/** An owner whose thread keeps what it is given. */
const withWork = async () => {
  const world = makeOwnerWorld()
  world.thread("a").turn = "unchanged"
  const { submissionId } = await go(world.submit("a"))
  return { world, submissionId, thread: world.thread("a") }
}

describe("an abort at the owner", () => {
  it("reaches the thread through the gate, with who called, and is answered as the thread says", async () => {
    const { world, submissionId, thread } = await withWork()
    const reply = await go(world.client.abort(command("a", submissionId)))
    expect(reply).toMatchObject({
      _tag: "Settled",
      settlement: { submissionId, outcome: "aborted", abort: { ...words, forced: false } },
    })
    expect(thread.aborts).toMatchObject([{ principal: "tester" }])
    await world.quiet()
    const status = await go(world.client.maintenanceStatus({ ownerId }))
    expect(status).toMatchObject({ nonterminal: 0, dueLanes: 0 })
    expect(world.lane("a")).toMatchObject({ enrolled: null, work: null })
  })

  it("is covered by an alarm before the thread is called", async () => {
    const { world, submissionId, thread } = await withWork()
    let covered: unknown
    world.setFailpoints({
      reach: (point) =>
        Effect.sync(() => {
          if (point !== "body:before") return
          covered = { lane: world.lane("a")?.["enrolled"], alarm: world.storage.alarmAt() }
        }),
    })
    await go(world.client.abort(command("a", submissionId)))
    expect(covered).toEqual({ lane: expect.any(String), alarm: expect.any(Number) })
    expect(thread.aborts).toHaveLength(1)
  })

  it("that a newer fence refuses is sent once more under a newer generation", async () => {
    const { world, submissionId, thread } = await withWork()
    thread.fence = farFence
    expect(await go(world.client.abort(command("a", submissionId)))).toMatchObject({
      _tag: "Settled",
    })
    expect(thread.aborts.map(({ generation }) => generation > farFence)).toEqual([false, true])
  })

  it("that its thread refuses fails typed, and leaves no lane that was made for it", async () => {
    const world = makeOwnerWorld()
    expect(await go(Effect.flip(world.client.abort(command("b", unknownId))))).toMatchObject({
      _tag: "SubmissionNotFound",
      submissionId: unknownId,
    })
    await world.quiet()
    expect(world.lane("b")).toBeUndefined()
  })

  it("whose owner dies behind the answer of its thread is made good by the alarm", async () => {
    const { world, submissionId, thread } = await withWork()
    world.setFailpoints({
      reach: (point) => (point === "body:after" ? Effect.never : Effect.void),
    })
    void go(world.client.abort(command("a", submissionId))).catch(() => undefined)
    await world.until("the thread has answered", () => thread.aborts.length === 1)
    world.setFailpoints({ reach: () => Effect.void })
    const visits = thread.visits
    world.crash()
    await go(world.client.maintenanceStatus({ ownerId }))
    await world.quiet()
    expect(thread.visits).toBeGreaterThan(visits)
    expect(await go(world.client.maintenanceStatus({ ownerId }))).toMatchObject({ nonterminal: 0 })
  })

  it("is a principal's alone, and for its own words as they are", async () => {
    const { world, submissionId, thread } = await withWork()
    const other = world.connect(
      callerHeaders({ _tag: "Thread", ownerId, threadId: ThreadId.make("a") }),
    )
    const call = command("a", submissionId)
    expect(await go(Effect.flip(other.abort(call)))).toMatchObject({ _tag: "OperationDenied" })
    for (const wrong of [{ author: "x".repeat(257) }, { reason: "a\0b" }])
      expect(await go(Effect.flip(world.client.abort({ ...call, ...wrong })))).toMatchObject({
        _tag: "InvalidInput",
      })
    expect(thread.aborts).toEqual([])
  })
})
