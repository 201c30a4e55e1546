/** A thread that answers no visit: after so many in a row it has a fault, and a visit ends it. */
import { Effect, Option } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { isOutage, type Moment } from "../../../owner-object/Answer.ts"
import { limits, now } from "./lanes.ts"
import { logged } from "./logged.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const silent = ThreadId.make("silent")

const faultOf = async (world: World) =>
  Option.getOrUndefined(await go(world.client.recoveryStatus({ ownerId, threadId: silent })))

const isFaulted = (world: World) =>
  String(world.lane("silent")?.["marks"]).includes('"faultVisit":true')

const faultedLanes = async (world: World) =>
  (await go(world.client.maintenanceStatus({ ownerId }))).faultedLanes

/** A thread with work whose turn fails, and that answers no visit from then on. */
const outage = async (
  visiting: "fail" | "hang" | "defect",
  options: WorldOptions["limits"] = {},
): Promise<World> => {
  const world = makeOwnerWorld({ limits: { visitMillis: 5, deployNoiseMillis: 10, ...options } })
  const thread = world.thread("silent")
  thread.turn = "fail"
  thread.visiting = visiting
  await go(world.submit("silent"))
  return world
}

const moment: Moment = { now, random: 0, limits, codeVersion: "v1", agentsDigest: "agents" }

describe("visits in a row without an answer", () => {
  it.each([
    [7, 0, false, false],
    [8, 0, false, true],
    [8, 119_999, true, false],
    [8, 120_000, true, true],
    [7, 120_000, true, false],
  ])("%i within %i ms, out of reach: %s, are a fault: %s", (visits, millis, transport, fault) => {
    expect(isOutage({ visits, sinceAt: now - millis }, moment, transport)).toBe(fault)
  })
})

describe("a thread that answers no visit", () => {
  it.each([
    ["hang", { tag: "NoAnswer", reason: "timeout", phase: "call" }],
    ["defect", { tag: "InternalDefect", reason: "defect" }],
    ["fail", { tag: "Unavailable", reason: "failure", phase: "call" }],
  ] as const)("(%s) has a fault, told once, and holds nobody up", async (visiting, failure) => {
    const lines = await logged(async () => {
      const world = await outage(visiting, { faultRetryMillis: 2, faultRetryMaxMillis: 2 })
      const thread = world.thread("silent")
      await go(world.submit("other"))
      await world.alarmsUntil("it has a fault", () => isFaulted(world))
      expect(thread.visits).toBeGreaterThanOrEqual(8)
      expect(await faultOf(world)).toMatchObject({ failure: { operation: "inspect", ...failure } })
      expect(await faultedLanes(world)).toBe(1)
      const { obligations } = await go(world.client.obligations({ ownerId }))
      expect(obligations).toMatchObject([{ threadId: "silent", blocker: "fault" }])
      const { visits } = thread
      await world.alarmsUntil("it was tried again", () => thread.visits >= visits + 3)
      expect(world.thread("other").settled).toEqual([1])
      expect([thread.turns, thread.recoveries]).toEqual([1, 0])
    })
    const errors = lines.filter((line) => line.includes("ERROR") && line.includes("recoveryStatus"))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain('"threadId":"silent"')
  })

  it("is visited again after 5 s, and has no other alarm", async () => {
    const world = await outage("hang")
    await world.alarmsUntil("it has a fault", () => isFaulted(world))
    await world.until("the pass ended", () => !world.isDelivering())
    const fault = await faultOf(world)
    expect((fault?.retryAt ?? 0) - (fault?.lastFailedAt ?? 0)).toBe(5_000)
    expect(world.storage.alarmAt()).toBe(fault?.retryAt)
    expect(world.lane("silent")).toMatchObject({ work: "visit" })
  })

  it("has none any more once one is answered, and its work goes on", async () => {
    const world = await outage("hang", { faultRetryMillis: 2, faultRetryMaxMillis: 2 })
    await world.alarmsUntil("it has a fault", () => isFaulted(world))
    const thread = world.thread("silent")
    thread.turn = "settle"
    thread.visiting = "answer"
    await world.quiet()
    expect(thread.settled).toEqual([1])
    expect(await faultOf(world)).toBeUndefined()
    expect(await faultedLanes(world)).toBe(0)
    expect(String(world.lane("silent")?.["marks"])).toBe("{}")
  })

  it("is tried at once by the word to retry", async () => {
    const world = await outage("hang", { faultRetryMillis: 60_000 })
    await world.alarmsUntil("it has a fault", () => isFaulted(world))
    const thread = world.thread("silent")
    thread.turn = "settle"
    thread.visiting = "answer"
    const { submissionId } = await go(world.submit("silent"))
    const words = { author: "ann", reason: "it is back" }
    await go(world.client.retry({ ownerId, threadId: silent, submissionId, ...words }))
    await world.quiet()
    expect(thread.settled).toEqual([1, 2])
  })

  it("for minutes after a deploy has no fault", async () => {
    const world = await outage("fail", { deployNoiseMillis: 60_000 })
    const thread = world.thread("silent")
    await world.alarmsUntil("twenty visits failed", () => thread.visits >= 20)
    expect(await faultOf(world)).toBeUndefined()
    thread.turn = "settle"
    thread.visiting = "answer"
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })

  it("is counted anew from each answer on", async () => {
    const world = await outage("hang")
    const thread = world.thread("silent")
    thread.onTurn = () => void (thread.visiting = "hang")
    await world.alarmsUntil("six visits failed", () => thread.visits >= 6)
    thread.visiting = "answer"
    await world.alarmsUntil("one was answered, and its turn failed", () => thread.turns >= 2)
    const { visits } = thread
    await world.alarmsUntil("five more failed", () => thread.visits >= visits + 5)
    expect(await faultOf(world)).toBeUndefined()
  })

  it("keeps the fault of its turns, whatever its visits answer", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 4, faultRetryMaxMillis: 4 } })
    const thread = world.thread("silent")
    thread.turn = "unreadable"
    await go(world.submit("silent"))
    await world.alarmsUntil("it has a fault", () =>
      String(world.lane("silent")?.["marks"]).includes("faultRetryAt"),
    )
    await go(world.client.wake({ ownerId, threadId: silent }))
    const { turns, visits } = thread
    await world.alarmsUntil(
      "it was visited, and its turn failed again",
      () => thread.visits > visits && thread.turns > turns,
    )
    const fault = await faultOf(world)
    expect(fault?.failure).toMatchObject({ operation: "processHead", tag: "ThreadUnreadable" })
    expect(fault?.firstFailedAt).toBeLessThan(fault?.lastFailedAt ?? 0)
  })
})

describe("a thread that answers a fenced visit without storing its fence", () => {
  it("stays enrolled, is a fault like one that answers none, and heals", async () => {
    const forgets = { now: true }
    const world = makeOwnerWorld({
      limits: { deployNoiseMillis: 10, faultRetryMillis: 2, faultRetryMaxMillis: 2 },
      hooks: {
        reply: (message, exit) => {
          const isVisit = message._tag === "Request" && message.tag === "inspect"
          if (isVisit && forgets.now && exit._tag === "Success")
            delete (exit.value as { report: { fence?: string } }).report.fence
          return "deliver"
        },
      },
    })
    world.thread("silent").turn = "fail"
    await go(world.submit("silent"))
    await go(world.client.reconcile({ ownerId, threadIds: [silent] }))
    await world.alarmsUntil("it has a fault", () => isFaulted(world))
    expect(await faultOf(world)).toMatchObject({
      failure: { operation: "inspect", tag: "ThreadUnreadable", phase: "history" },
    })
    expect(world.lane("silent")?.["enrolled"]).not.toBeNull()
    forgets.now = false
    world.thread("silent").turn = "settle"
    await world.alarmsUntil("it is healed", () => world.thread("silent").settled.length === 1)
    expect(await faultOf(world)).toBeUndefined()
    expect(world.lane("silent")?.["enrolled"]).toBeNull()
  })
})
