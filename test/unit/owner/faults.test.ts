/** A thread that cannot be recovered: a fault of its own, shown, retried, and gone when it heals. */
import { Effect, Option } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { RecoveryFault } from "../../../contracts/Recovery.ts"
import { failureOf, nextFault } from "../../../owner-object/RecoveryFaults.ts"
import { limits, now, threadId } from "./lanes.ts"
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

describe("an owner whose tables are of the first version", () => {
  it("answers from them, and has the new ones with its next mutation", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.transaction(() => {
      world.storage.sql.run("DROP TABLE recovery_faults")
      world.storage.sql.run("ALTER TABLE maintenance DROP COLUMN faulted")
      world.storage.sql.run("ALTER TABLE maintenance DROP COLUMN entry")
      world.storage.sql.run("UPDATE schema_version SET version = 1")
    })
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
