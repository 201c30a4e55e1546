/** A thread that cannot be recovered: a fault of its own, shown, retried, and gone when it heals. */
import { Effect, Option } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { RecoveryFault } from "../../../contracts/Recovery.ts"
import { bindingLogDue } from "../../../owner-object/Answer.ts"
import { failureOf, nextFault } from "../../../owner-object/RecoveryFaults.ts"
import { limits, now, submissionId, threadId } from "./lanes.ts"
import { logged } from "./logged.ts"
import { olderTables } from "./olderTables.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const statusOf = async (world: World, name: string): Promise<RecoveryFault | undefined> =>
  Option.getOrUndefined(
    await run(world.client.recoveryStatus({ ownerId, threadId: ThreadId.make(name) })),
  )

const faults = (reason: "failure" | "timeout", times: number) => {
  const failure = { ...failureOf("recover", undefined), reason }
  let known: RecoveryFault | undefined
  const waits: Array<number> = []
  for (let index = 0; index < times; index++) {
    known = nextFault({ threadId, known, failure, now: now + index, limits })
    waits.push((known.retryAt - known.lastFailedAt) / 1_000)
  }
  return { waits, last: known }
}

describe("a fault", () => {
  it("is retried after 5, 10, 20, 40, then 60 s, and keeps its beginning", () => {
    const { waits, last } = faults("failure", 7)
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60])
    expect(last).toMatchObject({ firstFailedAt: now, lastFailedAt: now + 6, attempts: 7 })
  })

  it("of a recovery that times out is retried after up to 15 min", () => {
    expect(faults("timeout", 9).waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900])
  })

  it("counts up to 2^31 - 1 and no further", () => {
    const { last } = faults("failure", 1)
    if (last === undefined) throw new Error("no fault")
    const known = { ...last, attempts: 2 ** 31 - 1 }
    const next = nextFault({ threadId, known, failure: last.failure, now, limits })
    expect(next.attempts).toBe(2 ** 31 - 1)
  })

  it("tells nothing of the application, whatever was thrown", () => {
    const hostile: ReadonlyArray<unknown> = [
      undefined,
      null,
      "secret",
      { _tag: "secret" },
      new Error("secret"),
      { _tag: 7 },
    ]
    for (const error of hostile) {
      const failure = failureOf("recover", error)
      expect(JSON.stringify(failure)).not.toContain("secret")
      expect(failure).toMatchObject({ tag: "InternalDefect", reason: "defect" })
    }
  })
})

describe("a thread that cannot be recovered", () => {
  it.each([
    ["fail", "Unavailable", "failure", "call"],
    ["unreadable", "ThreadUnreadable", "failure", "history"],
    ["hang", "NoAnswer", "timeout", "call"],
  ] as const)(
    "(%s) has a fault, and holds nobody else up",
    async (recovery, tag, reason, phase) => {
      const world = makeOwnerWorld({ limits: { recoverMillis: 20 } })
      const broken = world.thread("broken")
      broken.lost = true
      broken.recovery = recovery
      await run(world.submit("broken"))
      const healthy = Array.from({ length: 20 }, (_, index) => `healthy-${index}`)
      for (const name of healthy) await run(world.submit(name))
      await world.alarmsUntil("the healthy ones settled and the other was tried", () =>
        healthy.every((name) => world.thread(name).settled.length === 1 && broken.recoveries === 1),
      )
      await world.alarmsUntil(
        "the fault is recorded",
        () => world.lane("broken")?.["work"] === "recover",
      )
      expect(await statusOf(world, "broken")).toMatchObject({
        attempts: 1,
        failure: { tag, reason, phase, operation: "recover" },
      })
      expect(await statusOf(world, "healthy-1")).toBeUndefined()
      expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
        faultedLanes: 1,
      })
      const lane = await run(
        world.client.laneStatus({ ownerId, threadId: ThreadId.make("broken") }),
      )
      expect(lane).toMatchObject({ work: "recover", fault: { attempts: 1 } })
    },
  )

  it("accepts input meanwhile, which does not bring its retry forward", async () => {
    const world = makeOwnerWorld()
    const broken = world.thread("broken")
    broken.lost = true
    broken.recovery = "fail"
    await run(world.submit("broken"))
    await world.alarmsUntil("the fault is recorded", () =>
      String(world.lane("broken")?.["marks"]).includes("fault"),
    )
    const before = await statusOf(world, "broken")
    expect(await run(world.submit("broken"))).toMatchObject({ sequence: 2 })
    expect(await statusOf(world, "broken")).toEqual(before)
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + 2_000)
  })

  it("heals when its cause goes away, and its fault is gone", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 5, faultRetryMaxMillis: 5 } })
    const broken = world.thread("broken")
    broken.lost = true
    broken.recovery = "fail"
    await run(world.submit("broken"))
    await world.alarmsUntil("it failed three times", () => broken.recoveries >= 3)
    broken.recovery = "repair"
    await world.quiet()
    expect(broken.settled).toEqual([1])
    expect(await statusOf(world, "broken")).toBeUndefined()
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      faultedLanes: 0,
    })
  })

  it("is told to whoever asks with at most two rows read and no call", async () => {
    const world = makeOwnerWorld()
    const broken = world.thread("broken")
    broken.lost = true
    broken.recovery = "fail"
    await run(world.submit("broken"))
    await world.alarmsUntil("the fault is recorded", () =>
      String(world.lane("broken")?.["marks"]).includes("fault"),
    )
    const calls = broken.turns + broken.visits + broken.recoveries
    const before = world.storage.counts()
    await statusOf(world, "broken")
    const after = world.storage.counts()
    expect(after.read - before.read).toBeLessThanOrEqual(2)
    expect(after.written).toBe(before.written)
    expect(broken.turns + broken.visits + broken.recoveries).toBe(calls)
  })

  it("keeps the fault of a turn until a turn succeeds, although recoveries succeed between", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 4, faultRetryMaxMillis: 8 } })
    world.thread("broken").turn = "unreadable"
    await run(world.submit("broken"))
    await world.alarmsUntil("three turns failed", () => world.thread("broken").turns >= 3)
    const fault = await statusOf(world, "broken")
    expect(fault?.attempts).toBeGreaterThanOrEqual(2)
    await world.alarmsUntil("two more did", () => world.thread("broken").turns >= 5)
    const later = await statusOf(world, "broken")
    expect(later?.firstFailedAt).toBe(fault?.firstFailedAt)
    expect(later?.attempts).toBeGreaterThan(fault?.attempts ?? 0)
    world.thread("broken").turn = "settle"
    await world.quiet()
    expect(world.thread("broken").settled).toEqual([1])
    expect(await statusOf(world, "broken")).toBeUndefined()
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      faultedLanes: 0,
    })
  })

  it("is one whose turn finds unreadable records, too", async () => {
    const world = makeOwnerWorld()
    world.thread("broken").turn = "unreadable"
    await run(world.submit("broken"))
    await world.alarmsUntil("the fault is recorded", () =>
      String(world.lane("broken")?.["marks"]).includes("fault"),
    )
    expect(await statusOf(world, "broken")).toMatchObject({
      failure: { tag: "ThreadUnreadable", operation: "processHead", phase: "history" },
    })
  })
})

const broken = async (world: World, recovery: "fail" | "unreadable" | "hang" = "unreadable") => {
  const thread = world.thread("broken")
  thread.lost = true
  thread.recovery = recovery
  await run(world.submit("broken", "secret-key"))
  return thread
}

const faulted = (world: World) => String(world.lane("broken")?.["marks"]).includes("faultRetryAt")

describe("an outage of one thread", () => {
  it("is one Error line, that tells nothing of the application, however often it is tried", async () => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld({ limits: { faultRetryMillis: 2, faultRetryMaxMillis: 2 } })
      const thread = await broken(world)
      await world.alarmsUntil("it failed four times", () => thread.recoveries >= 4)
      thread.recovery = "repair"
      await world.quiet()
      expect(thread.settled).toEqual([1])
    })
    const errors = lines.filter((line) => line.includes("ERROR"))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain("cannot be recovered")
    expect(errors[0]).toContain('"threadId":"broken"')
    expect(lines.join()).not.toContain("secret-key")
  })

  it("gives known keys their first receipt, and settles all its inputs in order once it heals", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 2, faultRetryMaxMillis: 2 } })
    const thread = await broken(world)
    await world.alarmsUntil("it is faulted", () => faulted(world))
    await run(world.submit("broken", "second"))
    const again = await run(world.submit("broken", "secret-key"))
    expect(again).toMatchObject({ sequence: 1, duplicate: true })
    await run(world.submit("broken", "third"))
    expect(thread.turns).toBe(0)
    thread.recovery = "repair"
    await world.quiet()
    expect(thread.settled).toEqual([1, 2, 3])
  })

  it("is not looked at before its retry, whatever the owner does for others", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 60_000 } })
    const thread = await broken(world)
    await world.alarmsUntil("it is faulted", () => faulted(world))
    for (let index = 0; index < 10; index++) await run(world.submit(`other-${index}`))
    await world.alarmsUntil(
      "the others settled",
      () => world.thread("other-9").settled.length === 1,
    )
    await world.until("the pass ended", () => !world.isDelivering())
    expect([thread.recoveries, thread.turns, thread.visits]).toEqual([1, 0, 0])
  })

  it("has the alarm at its retry when nothing else is owed, the earliest of two", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 60_000 } })
    await broken(world)
    await world.alarmsUntil("it is faulted", () => faulted(world))
    const other = world.thread("other")
    other.turn = "unreadable"
    await run(world.submit("other"))
    await world.alarmsUntil("the other is, too", () =>
      String(world.lane("other")?.["marks"]).includes("faultRetryAt"),
    )
    await world.until("the pass ended", () => !world.isDelivering())
    const retries = await Promise.all(["broken", "other"].map((name) => statusOf(world, name)))
    const times = retries.map((fault) => fault?.retryAt ?? 0)
    expect(world.storage.alarmAt()).toBe(Math.min(...times))
  })

  it("does not keep fresh input of another thread waiting while its recovery hangs", async () => {
    const world = makeOwnerWorld({ limits: { recoverMillis: 60_000 } })
    const thread = await broken(world, "hang")
    void world.alarmsUntil("never", () => thread.recovery === "repair").catch(() => undefined)
    await world.until("its recovery hangs", () => thread.recoveries === 1)
    await run(world.submit("fresh"))
    await world.until("the fresh one settled", () => world.thread("fresh").settled.length === 1)
    expect(faulted(world)).toBe(false)
    thread.recovery = "repair"
  })
})

describe("a recovery that is cut short", () => {
  it.each([
    ["before", 1],
    ["after", 2],
  ] as const)(
    "%s its fault is recorded has failed %i times with the next failure",
    async (side, attempts) => {
      const world = makeOwnerWorld({
        limits: { faultRetryMillis: 200, faultRetryMaxMillis: 60_000 },
      })
      let dead = false
      world.setFailpoints({
        reach: (point) =>
          Effect.suspend(() => {
            if (dead || point !== `fault:${side}`) return Effect.void
            dead = true
            world.crash()
            return Effect.never
          }),
      })
      const thread = await broken(world)
      const alarms = (async () => {
        while (thread.recoveries < 2) {
          void world.deliver().catch(() => undefined)
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      await alarms
      await world.until("the second failure is recorded", () => faulted(world))
      await world.until("with its number", () => {
        const [row] = world.storage.sql.all("SELECT attempts FROM recovery_faults")
        return row?.["attempts"] === attempts
      })
      const fault = await statusOf(world, "broken")
      expect(fault?.attempts).toBe(attempts)
      expect((fault?.retryAt ?? 0) - (fault?.lastFailedAt ?? 0)).toBe(200 * attempts)
    },
  )

  it("by the end of its pass is no fault; its lane is looked at before it is believed", async () => {
    const world = makeOwnerWorld({
      limits: { passYieldMillis: 20, letGoMillis: 2, recoverMillis: 60_000 },
    })
    const thread = await broken(world, "hang")
    await world.alarmsUntil("its pass was given up", () => {
      const [row] = world.storage.sql.all("SELECT last_pass FROM maintenance")
      return String(row?.["last_pass"]).includes("yield")
    })
    expect(await statusOf(world, "broken")).toBeUndefined()
    thread.recovery = "repair"
    await world.quiet()
    expect(thread.visits).toBeGreaterThan(0)
    expect(thread.settled).toEqual([1])
  })

  it("with its owner goes to the back: the next wave begins with who has not had its turn", async () => {
    const world = makeOwnerWorld({ limits: { recoverySlots: 1 } })
    const order: Array<string> = []
    const names = ["a", "b", "c"]
    let dead = false
    for (const name of names) {
      const thread = world.thread(name)
      thread.lost = true
      thread.onRecover = () => {
        order.push(name)
        if (name !== "b" || dead) return
        dead = true
        world.crash()
      }
    }
    for (const name of names) await run(world.submit(name))
    await world.quiet()
    expect(order.slice(0, 3)).toEqual(["a", "b", "c"])
    for (const name of names) expect(world.thread(name).settled).toEqual([1])
  })
})

describe("a missing agent", () => {
  it("is one Error line, and the next one after a quarter of an hour", async () => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld({ limits: { bindingWaitMillis: 2, bindingWaitMaxMillis: 2 } })
      const thread = world.thread("a")
      thread.turn = "binding"
      await run(world.submit("a"))
      await world.alarmsUntil("it was looked for five times", () => thread.turns >= 5)
      thread.turn = "settle"
      await world.quiet()
    })
    expect(lines.filter((line) => line.includes("ERROR"))).toHaveLength(1)
    const known = {
      submissionId,
      attempts: 3,
      notBefore: now,
      reportedAt: now,
      agentsDigest: "agents",
    }
    const quarter = 15 * 60_000
    expect(bindingLogDue(undefined, now, limits)).toBe(true)
    expect(bindingLogDue(known, now + quarter - 1, limits)).toBe(false)
    expect(bindingLogDue(known, now + quarter, limits)).toBe(true)
  })
})

describe("an owner whose tables are of the first version", () => {
  it("answers from them, and has the new ones with its next mutation", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.transaction(() => olderTables(world.storage.sql, 1))
    world.crash()
    expect(await statusOf(world, "a")).toBeUndefined()
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      lanes: 1,
      faultedLanes: 0,
    })
    await run(world.submit("a"))
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1, 2])
    expect(world.storage.sql.all("SELECT COUNT(*) AS n FROM recovery_faults")[0]?.["n"]).toBe(0)
  })
})
