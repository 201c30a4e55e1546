/** Which lanes take a place of those that `runningPerOwner` and the limits of agents give. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { AgentId, ThreadId } from "../../../contracts/Identifiers.ts"
import { olderTables } from "./olderTables.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>
const limited = AgentId.make("limited")

/** A thread that ran, is condemned with the word to abort, and whose object answers nothing any more. */
const condemnedRun = async (options: WorldOptions) => {
  const world = makeOwnerWorld({
    ...options,
    limits: { watchMillis: 5, visitMillis: 5, deployNoiseMillis: 5, ...options.limits },
  })
  const thread = world.thread("gone")
  thread.turn = "run"
  await go(world.submit("gone", "gone", 1, limited))
  await world.alarmsUntil("it runs", () => thread.turns > 0)
  await world.until("its owner knows", () => !world.isDelivering())
  thread.turn = "fail"
  thread.visiting = "fail"
  thread.recovery = "fail"
  thread.forgetting = "fail"
  const threadId = ThreadId.make("gone")
  const reply = await go(
    world.client.forgetThread({ ownerId, threadId, author: "ann", reason: "r", abort: true }),
  )
  expect(reply).toEqual({ _tag: "Condemned" })
  const tries = () => thread.commands.filter(({ name }) => name === "forget").length
  await world.alarmsUntil("it was tried often", () => tries() >= 30)
  return world
}

describe("a condemned thread that answers nothing", () => {
  it("takes no place of runningPerOwner from the others", async () => {
    const world = await condemnedRun({ limits: { runningPerOwner: 1 } })
    await go(world.submit("other", "other", 1, limited))
    await world.alarmsUntil("it settled", () => world.thread("other").settled.length === 1)
  })

  it("takes no place of its agent from the others", async () => {
    const world = await condemnedRun({ maxRunning: new Map([[limited, 1]]) })
    await go(world.submit("other", "other", 1, limited))
    await world.alarmsUntil("it settled", () => world.thread("other").settled.length === 1)
  })
})

/** A turn that starts an attempt, which goes on, and whose answer is lost. */
const startsAndIsLost = (world: World, name: string) => {
  const thread = world.thread(name)
  thread.turn = "fail"
  thread.onTurn = () => {
    if (thread.running) return
    thread.running = true
    thread.revision += 1
  }
}

const noneBeside = async (world: World) => {
  world.thread("other").turn = "run"
  await go(world.submit("other", "other", 1, limited))
  const end = Date.now() + 300
  await world.alarmsUntil(
    "a while passed",
    () => Date.now() > end || world.thread("other").turns > 0,
  )
  expect([world.thread("x").running, world.thread("other").running]).toEqual([true, false])
}

const trial = async (options: WorldOptions) => {
  const world = makeOwnerWorld({ limits: { faultRetryMillis: 5, ...options.limits }, ...options })
  const thread = world.thread("x")
  thread.turn = "unreadable"
  await go(world.submit("x", "x", 1, limited))
  await world.alarmsUntil("it has a fault", () =>
    String(world.lane("x")?.["marks"]).includes("faultRetryAt"),
  )
  startsAndIsLost(world, "x")
  await world.alarmsUntil("its owner has heard that it runs", () => {
    const lane = world.lane("x")
    return String(lane?.["report"]).includes('"running"') && lane?.["must_visit"] === 0
  })
  expect(world.lane("x")?.["marks"]).toContain("faultTrial")
  return world
}

describe("a faulted lane whose trial runs, as its owner was told", () => {
  it("takes a place of its agent", async () => {
    await noneBeside(await trial({ maxRunning: new Map([[limited, 1]]) }))
  })

  it("takes a place of its owner", async () => {
    await noneBeside(await trial({ limits: { faultRetryMillis: 5, runningPerOwner: 1 } }))
  })
})

describe("a turn that nobody answered", () => {
  const lost = async (options: WorldOptions) => {
    const world = makeOwnerWorld(options)
    startsAndIsLost(world, "x")
    world.thread("x").visiting = "fail"
    await go(world.submit("x", "x", 1, limited))
    await world.alarmsUntil(
      "it was lost",
      () => world.thread("x").running && world.lane("x")?.["suspect"] === 1,
    )
    return world
  }
  it("takes a place of its agent until its thread was visited", async () => {
    await noneBeside(await lost({ maxRunning: new Map([[limited, 1]]) }))
  })
  it("takes a place of its owner until its thread was visited", async () => {
    await noneBeside(await lost({ limits: { runningPerOwner: 1 } }))
  })
})

const reconciled = async (options: WorldOptions) => {
  const world = makeOwnerWorld(options)
  for (const name of ["a", "b"]) {
    world.thread(name).turn = "run"
    await go(world.submit(name, name, 1, limited))
  }
  await world.alarmsUntil("one is held", () => String(world.lane("b")?.["work"]).startsWith("held"))
  await world.until("the pass is over", () => !world.isDelivering())
  expect([world.thread("a").running, world.thread("b").running]).toEqual([true, false])
  await go(world.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
  const end = Date.now() + 200
  await world.alarmsUntil("a while passed", () => Date.now() > end)
  expect([world.thread("a").running, world.thread("b").running]).toEqual([true, false])
}

describe("a lane that is reconciled while its thread runs", () => {
  it("keeps its agent's place until it was visited", () =>
    reconciled({ maxRunning: new Map([[limited, 1]]) }))
  it("keeps its owner's place until it was visited", () =>
    reconciled({ limits: { runningPerOwner: 1 } }))
})

const isFaulted = (world: World) =>
  String(world.lane("silent")?.["marks"]).includes('"faultVisit":true')

const withSilent = async () => {
  const world = makeOwnerWorld({
    limits: { runningPerOwner: 1, watchMillis: 5, visitMillis: 5, faultRetryMillis: 60_000 },
  })
  const thread = world.thread("silent")
  thread.turn = "run"
  await go(world.submit("silent"))
  await world.alarmsUntil("it runs", () => thread.turns > 0)
  thread.turn = "fail"
  thread.visiting = "defect"
  await world.alarmsUntil("it has a fault", () => isFaulted(world))
  return world
}

describe("an owner that code of before has served again, after a deployment was rolled back", () => {
  it("gives a faulted lane's place back", async () => {
    const world = await withSilent()
    // What the version before leaves of a fault it records itself: it counts the lane as running on, and its tables as new.
    const columns = `id, owner_id, incarnation, in_flight, unfinished, lanes, nonterminal, running, running_of, faulted,
      last_served, last_recovered, last_pass, entry, projections, host_lanes, totals`
    world.storage.sql.run(
      `INSERT OR REPLACE INTO maintenance (${columns})
       SELECT ${columns.replace("running,", "1,")} FROM maintenance`,
    )
    world.crash()
    await go(world.submit("other"))
    await world.alarmsUntil("it settled", () => world.thread("other").settled.length === 1)
  })
})

describe("counters that are counted anew by a migration", () => {
  it("wake a lane that was held and may start by them", async () => {
    const world = await withSilent()
    world.storage.sql.run("UPDATE maintenance SET running = 1")
    world.crash()
    await go(world.submit("held"))
    await world.alarmsUntil("it is held", () => world.lane("held")?.["work"] === "held")
    await world.alarmsUntil(
      "all is quiet",
      () => (world.storage.alarmAt() ?? 0) > Date.now() + 10_000,
    )
    world.storage.transaction(() => olderTables(world.storage.sql, 9))
    world.crash()
    // The first block that writes: a hint that leaves nothing to do.
    const threadId = ThreadId.make("silent")
    const asThread = world.connect(callerHeaders({ _tag: "Thread", ownerId, threadId }))
    await go(asThread.report({ ownerId, threadId, report: world.thread("silent").report() }))
    expect(world.storage.sql.all("SELECT running, faulted FROM maintenance")).toEqual([
      { running: 0, faulted: 1 },
    ])
    await world.alarmsUntil("it settled", () => world.thread("held").settled.length === 1)
  })

  it("wake a lane that its agent's limit held and holds no more", async () => {
    const world = makeOwnerWorld({ maxRunning: new Map([[limited, 1]]) })
    await go(world.submit("other"))
    await world.alarmsUntil("it settled", () => world.thread("other").settled.length === 1)
    // What code of before may leave: it counts otherwise.
    world.storage.sql.run(`UPDATE maintenance SET running_of = '{"limited":1}'`)
    world.crash()
    await go(world.submit("held", "held", 1, limited))
    await world.alarmsUntil("it is held", () => world.lane("held")?.["work"] === "held:limited")
    await world.alarmsUntil("all is quiet", () => world.storage.alarmAt() === null)
    world.storage.sql.run("UPDATE maintenance SET counted_apart = NULL")
    world.crash()
    // The first block that writes: a hint that leaves nothing to do.
    const threadId = ThreadId.make("other")
    const asThread = world.connect(callerHeaders({ _tag: "Thread", ownerId, threadId }))
    await go(asThread.report({ ownerId, threadId, report: world.thread("other").report() }))
    expect(world.storage.sql.all("SELECT running_of FROM maintenance")).toEqual([
      { running_of: "{}" },
    ])
    await world.alarmsUntil("it settled", () => world.thread("held").settled.length === 1)
  })
})

describe("a thread that answers no visit while an attempt of it runs", () => {
  const othersSettle = async (world: World) => {
    await go(world.submit("other"))
    await world.alarmsUntil("it settled", () => world.thread("other").settled.length === 1)
    expect(await go(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      lanes: 2,
      runningLanes: 0,
      faultedLanes: 1,
    })
  }

  it("takes no place from the others", async () => {
    await othersSettle(await withSilent())
  })

  it("gives its place back in an owner whose tables are of a version that counted it", async () => {
    const world = await withSilent()
    world.storage.sql.run("UPDATE maintenance SET running = 1")
    world.storage.transaction(() => olderTables(world.storage.sql, 9))
    world.crash()
    await othersSettle(world)
  })
})
