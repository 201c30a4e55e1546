import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise

describe("an owner", () => {
  it("gives a receipt and has the input processed by the alarm alone", async () => {
    const world = makeOwnerWorld()
    const receipt = await run(world.submit("a"))
    expect(receipt).toMatchObject({ sequence: 1, duplicate: false })
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("gives the same receipt to the same key", async () => {
    const world = makeOwnerWorld()
    const first = await run(world.submit("a", "same"))
    const second = await run(world.submit("a", "same"))
    expect(second).toEqual({ ...first, duplicate: true })
  })

  it("writes nothing on reads of an untouched object", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    await run(world.client.maintenanceStatus({ ownerId }))
    await run(world.client.laneStatus({ ownerId, threadId: ThreadId.make("a") }))
    await run(world.client.listThreads({ ownerId }))
    expect(world.storage.dump()).toBe(before)
    expect(world.storage.alarmAt()).toBeNull()
  })

  it("refuses another owner's name and callers without the right role", async () => {
    const world = makeOwnerWorld()
    const other = await run(
      Effect.exit(world.client.maintenanceStatus({ ownerId: OwnerId.make("x") })),
    )
    expect(Exit.isFailure(other) && String(other.cause)).toContain("IdentityMismatch")
    const thread = world.connect(
      callerHeaders({ _tag: "Thread", ownerId, threadId: ThreadId.make("a") }),
    )
    const denied = await run(Effect.exit(thread.maintenanceStatus({ ownerId })))
    expect(Exit.isFailure(denied) && String(denied.cause)).toContain("OperationDenied")
    const nobody = world.connect({})
    const unknown = await run(Effect.exit(nobody.maintenanceStatus({ ownerId })))
    expect(Exit.isFailure(unknown) && String(unknown.cause)).toContain("OperationDenied")
  })

  it("deletes its alarm when everything is settled", async () => {
    const world = makeOwnerWorld()
    for (const thread of ["a", "b", "c"]) await run(world.submit(thread))
    await world.quiet()
    const status = await run(world.client.maintenanceStatus({ ownerId }))
    expect(status).toMatchObject({ nonterminal: 0, lanes: 3, dueLanes: 0, unfinishedPasses: 0 })
    expect(status.alarmAt).toBeUndefined()
    expect(status.processed).toBe(status.dirty)
  })

  it("removes the row of a thread whose only mutation was refused", async () => {
    const world = makeOwnerWorld()
    world.thread("a").refuses = true
    const exit = await run(Effect.exit(world.submit("a")))
    expect(Exit.isFailure(exit) && String(exit.cause)).toContain("AgentNotRegistered")
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({ lanes: 0 })
  })

  it("sends a mutation once more under a newer generation when a fence refuses it", async () => {
    const world = makeOwnerWorld()
    const year2100 = 4_102_444_800_000
    world.thread("a").fence = `${String(year2100).padStart(15, "0")}-0000000007` as never
    const receipt = await run(world.submit("a"))
    expect(receipt.sequence).toBe(1)
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })
})

describe("a pass", () => {
  it("lets no failing, hung or unchanged lane delay another", async () => {
    const world = makeOwnerWorld()
    world.thread("hung").turn = "hang"
    world.thread("failing").turn = "fail"
    world.thread("stuck").turn = "unchanged"
    world.thread("unbound").turn = "binding"
    const healthy = Array.from({ length: 40 }, (_, index) => `healthy-${index}`)
    for (const thread of ["hung", "failing", "stuck", "unbound", ...healthy]) {
      await run(world.submit(thread))
    }
    await world.alarmsUntil("the healthy ones settled", () =>
      healthy.every((thread) => world.thread(thread).settled.length === 1),
    )
    expect(world.thread("hung").settled).toEqual([])
  })

  it("settles each once a failing thread heals", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "fail"
    await run(world.submit("a"))
    await world.alarmsUntil("it failed three times", () => world.thread("a").turns >= 3)
    expect(world.lane("a")).toMatchObject({ suspect: 1 })
    world.thread("a").turn = "settle"
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
    expect(world.thread("a").suspects.at(-1)).toBe(true)
    expect(world.lane("a")).toMatchObject({ suspect: 0, must_visit: 0, work: null })
  })

  it("shows the agent that a lane waits for", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "binding"
    await run(world.submit("a"))
    await world.alarmsUntil("a turn was answered", () => world.thread("a").turns === 1)
    const lane = await run(world.client.laneStatus({ ownerId, threadId: ThreadId.make("a") }))
    expect(lane).toMatchObject({ work: "binding", binding: { attempts: 1, name: "agent" } })
  })

  it("recovers a lost head and then dispatches it", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    world.thread("a").lost = true
    await world.quiet()
    expect(world.thread("a").recoveries).toBe(1)
    expect(world.thread("a").settled).toEqual([1])
  })

  it("reads and writes the same few rows when caught up, with 10 and with 10,000 threads known", async () => {
    const costs = []
    for (const lanes of [10, 10_000]) {
      const world = makeOwnerWorld()
      for (let index = 0; index < 10; index++) await run(world.submit(`t-${index}`))
      await world.quiet()
      world.storage.transaction(() => {
        for (let index = 10; index < lanes; index++) {
          world.storage.sql.run(
            `INSERT INTO lanes (thread_id, report, enrolled, must_visit, suspect, marks, work, slow, next_at,
             outbox_at) SELECT ?, report, enrolled, must_visit, suspect, marks, work, slow,
             next_at, outbox_at FROM lanes WHERE thread_id = 't-0'`,
            `t-${index}`,
          )
        }
      })
      await run(world.client.maintenanceStatus({ ownerId }))
      world.storage.alarm.set(Date.now() - 1)
      const before = world.storage.counts()
      await world.deliver()
      const after = world.storage.counts()
      expect(world.storage.alarmAt()).toBeNull()
      costs.push({
        read: after.read - before.read,
        written: after.written - before.written,
        lanes: world.storage.sql.all("SELECT COUNT(*) AS n FROM lanes")[0]?.["n"],
      })
    }
    expect(costs.map(({ lanes }) => lanes)).toEqual([10, 10_000])
    expect(costs[1]).toMatchObject({ read: costs[0]?.read, written: costs[0]?.written })
    expect(costs[0]?.read).toBeLessThanOrEqual(6)
    expect(costs[0]?.written).toBeLessThanOrEqual(3)
  })
})

describe("fairness", () => {
  it("serves nine lanes of one within the first ten turns of a lane of 1,000", async () => {
    const world = makeOwnerWorld({ limits: { dispatchSlots: 1 } })
    const order: Array<string> = []
    const note = (name: string) => {
      world.thread(name).onTurn = () => order.push(name)
    }
    note("big")
    for (let index = 0; index < 1_000; index++) await run(world.submit("big"))
    const small = Array.from({ length: 9 }, (_, index) => `small-${index}`)
    for (const name of small) {
      note(name)
      await run(world.submit(name))
    }
    await world.alarmsUntil("the small ones settled", () =>
      small.every((name) => world.thread(name).settled.length === 1),
    )
    const firstTurns = small.map((name) => order.indexOf(name))
    expect(Math.max(...firstTurns)).toBeLessThan(10)
  })

  it("does so also when the owner dies at the fifth turn", async () => {
    const world = makeOwnerWorld({ limits: { dispatchSlots: 1 } })
    const small = Array.from({ length: 9 }, (_, index) => `small-${index}`)
    const order: Array<string> = []
    for (const name of ["big", ...small]) {
      world.thread(name).onTurn = () => {
        order.push(name)
        if (order.length === 5) world.crash()
      }
    }
    for (let index = 0; index < 100; index++) await run(world.submit("big"))
    for (const name of small) await run(world.submit(name))
    await world.alarmsUntil("the small ones settled", () =>
      small.every((name) => world.thread(name).settled.length === 1),
    )
    // One turn more than without the death: the one that it cut off.
    expect(Math.max(...small.map((name) => order.indexOf(name)))).toBeLessThan(11)
  })

  it("serves an old lane although lanes with rising ids come for ever", async () => {
    const world = makeOwnerWorld({ limits: { dispatchSlots: 1 } })
    await run(world.submit("old"))
    for (let index = 0; index < 3; index++) await run(world.submit(`z-${index}`))
    let born = 3
    let turns = 0
    for (let index = 0; index < 50; index++) {
      world.thread(`z-${index}`).onTurn = () => {
        turns += 1
        if (born < 50) Effect.runFork(world.submit(`z-${born++}`))
      }
    }
    let servedAfter = -1
    world.thread("old").onTurn = () => (servedAfter = turns)
    await world.alarmsUntil("the old lane was served", () => servedAfter >= 0)
    expect(servedAfter).toBeLessThanOrEqual(4)
  })
})
