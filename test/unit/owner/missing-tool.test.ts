/** A lost call of a tool that this deployment lacks: told, looked at again, and never taken for a defect. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { heldBy } from "../../../client/HeldBy.ts"
import { afterRecovery } from "../../../owner-object/Answer.ts"
import { needOf } from "../../../owner-object/Rotation.ts"
import { headOf, laneOf, limits, now, reportOf, submissionId } from "./lanes.ts"
import { logged } from "./logged.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const go = Effect.runPromise
const threadId = ThreadId.make("a")
const moment = { now, random: 0, limits, codeVersion: "v1", agentsDigest: "agents" }

const lacking = async (options: WorldOptions["limits"] = {}) => {
  const world = makeOwnerWorld({ limits: options })
  const thread = world.thread("a")
  thread.lost = true
  thread.lacks = "payment"
  const receipt = await go(world.submit("a"))
  return { world, thread, receipt }
}

const heal = (thread: Awaited<ReturnType<typeof lacking>>["thread"]) =>
  void (thread.lacks = undefined)

describe("a head that waits for a tool", () => {
  it("is recovered again after 5 to 60 s, and never stalls", () => {
    const waits = [{ submissionId, blocker: "binding" as const, name: "payment", sinceAt: now }]
    const report = reportOf({ nonterminal: 1, head: headOf("running"), recoverAt: 0, waits })
    let lane = laneOf({ report })
    const rests: Array<number> = []
    for (let index = 0; index < 10; index++) {
      lane = afterRecovery(report, lane, moment)
      const need = needOf(lane, undefined, now, limits)
      expect(need?.work).toBe("recover")
      rests.push(((need?.at ?? 0) - now) / 1_000)
    }
    expect(rests).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60])
    expect(lane.marks).not.toHaveProperty("stalls")
  })

  it("is one Error line with its name, and one more each quarter of an hour", async () => {
    const lines = await logged(async () => {
      const { thread, world } = await lacking({ bindingWaitMillis: 2, bindingWaitMaxMillis: 2 })
      await world.alarmsUntil("it was tried five times", () => thread.recoveries >= 5)
      heal(thread)
      await world.quiet()
      expect(thread.settled).toEqual([1])
      expect(String(world.lane("a")?.["marks"])).toBe("{}")
    })
    const errors = lines.filter((line) => line.includes("ERROR"))
    expect(errors).toEqual([expect.stringContaining('no tool "payment" in this deployment')])
    expect(errors[0]).toContain('"threadId":"a"')
    const again = await logged(async () => {
      const { thread, world } = await lacking({
        bindingWaitMillis: 2,
        bindingWaitMaxMillis: 2,
        bindingReportMillis: 0,
      })
      await world.alarmsUntil("it was tried three times", () => thread.recoveries >= 3)
      heal(thread)
      await world.quiet()
    })
    expect(again.filter((line) => line.includes("no tool")).length).toBeGreaterThan(1)
  })

  it("is told as owed, and by explain, and tried at once by retry", async () => {
    const { receipt, thread, world } = await lacking({ bindingWaitMillis: 60_000 })
    await world.alarmsUntil("it was tried", () => thread.recoveries === 1)
    await world.until("the pass ended", () => !world.isDelivering())
    const { obligations } = await go(world.client.obligations({ ownerId }))
    expect(obligations).toMatchObject([{ blocker: "binding", name: "payment", state: "running" }])
    const lane = await go(world.client.laneStatus({ ownerId, threadId }))
    expect(heldBy(lane)).toMatchObject([{ blocker: "binding", name: "payment" }])
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + 10_000)
    heal(thread)
    const { submissionId: id } = receipt
    const words = { author: "ann", reason: "deployed" }
    await go(world.client.retry({ ownerId, threadId, submissionId: id, ...words }))
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })
})
