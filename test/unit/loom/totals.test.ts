/** What an owner has counted: of submissions each once, whatever is lost or comes twice. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { type LoomOptions, makeLoom } from "./Loom.ts"

const go = Effect.runPromise

const ends = Agent.make("ends", { input: Schema.String, output: Schema.Null }).handler((how, run) =>
  how === "fail"
    ? Effect.die(new Error("it fails"))
    : how === "wait"
      ? Effect.as(run.approval("ok", { summary: "Go on?" }), null)
      : Effect.succeed(null),
)

const make = (options: Partial<LoomOptions> = {}) => {
  const loom = makeLoom({ ...options, agents: [ends] })
  const status = () => go(loom.client.maintenanceStatus({ ownerId }))
  const totals = async () => (await status()).totals
  return { loom, status, totals }
}

describe("the totals of an owner", () => {
  it("tell what was accepted, how it ended, and what that took", async () => {
    const { loom, status, totals } = make()
    for (const [thread, how] of [
      ["a", "ok"],
      ["a", "fail"],
      ["b", "ok"],
      ["b", "wait"],
    ] as const)
      await loom.give(thread, "ends", how)
    await loom.give("b", "ends", "wait") // Again under its key.
    await loom.quiet()
    const waiting = await loom.give("b", "ends", "wait")
    await go(
      loom.client.abort({
        ownerId,
        threadId: ThreadId.make("b"),
        submissionId: waiting.submissionId,
        author: "ann",
        reason: "enough",
      }),
    )
    await loom.quiet()
    const counted = await totals()
    expect(counted).toMatchObject({
      accepted: 4,
      completed: 2,
      failed: 1,
      aborted: 1,
      attempts: 4,
      faults: 0,
    })
    expect(counted?.passes).toBeGreaterThan(0)
    expect(counted?.passCalls).toBeGreaterThan(1)
    expect(counted?.rowsRead).toBeGreaterThan(0)
    expect(counted?.rowsWritten).toBeGreaterThan(0)
    expect((await status()).queueAgeMillis).toBe(0)
    loom.crash()
    expect(await totals()).toMatchObject({ accepted: 4, completed: 2, failed: 1, aborted: 1 })
  })

  it("count once what was answered and not heard, and what is reported again", async () => {
    let lost = 0
    const { loom, totals } = make({
      hooks: {
        reply: (message): Fate => {
          const isLost = message._tag === "Request" && message.tag === "admit" && lost++ < 2
          return isLost ? "drop" : "deliver"
        },
      },
    })
    for (const key of ["one", "two", "three"])
      await loom.give("a", "ends", "ok", key).catch(() => undefined)
    await loom.quiet()
    await go(loom.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await loom.quiet()
    expect(await totals()).toMatchObject({ accepted: 3, completed: 3 })
  })
})
