/** The directory behind `listThreads`: what it finds, when it is written, and that nobody needs it. */
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { type ThreadId } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { ThreadQuery } from "../../../owner-object/Directory.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"
import { consoleLines } from "../consoleLines.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const idsOf = (threads: ReadonlyArray<{ readonly threadId: string }>) =>
  threads.map(({ threadId }) => threadId)

const list = async (world: World, query: ThreadQuery = {}) =>
  run(world.client.listThreads({ ownerId, ...query } as never))

/** All pages, and how many there were. */
const all = async (world: World, query: ThreadQuery) => {
  const seen: Array<string> = []
  let after = query.after
  let pages = 0
  do {
    const page = await list(world, { ...query, ...(after === undefined ? {} : { after }) })
    seen.push(...idsOf(page.threads))
    after = page.next
    pages += 1
  } while (after !== undefined && pages < 100)
  return { seen, pages }
}

const rowsOf = (world: World) =>
  world.storage.sql.all("SELECT thread_id, state, title FROM directory ORDER BY thread_id")

/** A thread says something about itself. */
const tell = (world: World, threadId: string, fields: Partial<LaneReport>) => {
  const thread = world.thread(threadId)
  const before = thread.report()
  thread.replaces = { ...before, revision: before.revision + 100, ...fields }
  return run(
    Effect.andThen(world.client.wake({ ownerId, threadId: threadId as ThreadId }), Effect.void),
  )
}

/** A few threads that stand differently. */
const mixed = async () => {
  const world = makeOwnerWorld({ limits: { projectionMillis: 1 } })
  for (const name of ["idle", "parked", "waits"]) {
    world.thread(name).turn = name === "parked" ? "park" : name === "waits" ? "suspend" : "settle"
    await run(world.submit(name))
  }
  await world.quiet()
  await run(
    world.client.pauseThread({
      ownerId,
      threadId: "idle" as ThreadId,
      author: "ann",
      reason: "audit",
    }),
  )
  await world.quiet()
  return world
}

describe("a list of threads", () => {
  it("has those that stand as is asked for, and says how each stands", async () => {
    const world = await mixed()
    await run(world.submit("rests"))
    await world.quiet()
    const stands = Object.fromEntries(
      (await list(world)).threads.map(({ state, threadId }) => [threadId, state]),
    )
    expect(stands).toEqual({
      idle: "paused",
      parked: "unknown",
      rests: "idle",
      waits: "suspended",
    })
    for (const [threadId, state] of Object.entries(stands)) {
      expect(idsOf((await list(world, { state: state as "idle" })).threads)).toEqual([threadId])
    }
    expect((await list(world, { state: "faulted" })).threads).toEqual([])
  })

  it("shows a pause at once, whatever waits to be written", async () => {
    const world = makeOwnerWorld({ limits: { projectionMillis: 3_600_000 } })
    await run(world.submit("a"))
    await world.alarmsUntil("it settled", () => world.thread("a").settled.length === 1)
    await run(
      world.client.pauseThread({
        ownerId,
        threadId: "a" as ThreadId,
        author: "ann",
        reason: "audit",
      }),
    )
    await world.until("its finish is committed", () =>
      String(world.lane("a")?.["report"]).includes('"paused":true'),
    )
    expect(idsOf((await list(world, { state: "paused" })).threads)).toEqual(["a"])
  })

  it("finds a text in title or id, whatever its letters' size", async () => {
    const world = makeOwnerWorld()
    for (const name of ["order-1", "order-2", "bill"]) await run(world.submit(name))
    await world.quiet()
    await tell(world, "bill", { title: "Rechnung für ÄPFEL, 100 %" })
    await world.quiet()
    expect(idsOf((await list(world, { text: "ORDER" })).threads)).toEqual(["order-1", "order-2"])
    expect(idsOf((await list(world, { text: "äpfel" })).threads)).toEqual(["bill"])
    expect(idsOf((await list(world, { text: "100 %" })).threads)).toEqual(["bill"])
    expect((await list(world, { text: "%" })).threads).toHaveLength(1)
    expect((await list(world, { text: "_" })).threads).toEqual([])
  })

  it("makes its tables in a block of their own, so that a batch that fails takes nothing else with it", async () => {
    const world = makeOwnerWorld()
    const { sql } = world.storage
    const ran = vi.spyOn(sql, "run")
    const blocks: Array<ReadonlyArray<string>> = []
    const { transaction } = world.storage
    vi.spyOn(world.storage, "transaction").mockImplementation((block) => {
      const before = ran.mock.calls.length
      const answer = transaction(block)
      blocks.push(ran.mock.calls.slice(before).map(([text]) => text))
      return answer
    })
    await run(world.submit("a"))
    await world.quiet()
    const made = blocks.filter((texts) => texts.some((text) => text.includes("VIRTUAL TABLE")))
    expect(made).toHaveLength(1)
    expect(made[0]?.filter((text) => /INTO (directory|search)/.test(text))).toEqual([])
    expect(blocks.flat().some((text) => text.includes("INTO directory"))).toBe(true)
  })

  it("goes by the last activity, the newest first, and pages without telling one twice", async () => {
    const world = makeOwnerWorld()
    const names = ["a", "b", "c", "d", "e"]
    for (const name of names) await run(world.submit(name))
    await world.quiet()
    const now = Date.now()
    const hours = new Map(names.map((name, index) => [name, now - (index + 1) * 3_600_000]))
    for (const [name, at] of hours) {
      world.storage.sql.run("UPDATE lanes SET active_at = ? WHERE thread_id = ?", at, name)
    }
    await run(world.client.rebuildProjections({ ownerId }))
    await world.quiet()
    expect(await all(world, { order: "activity", limit: 2 })).toEqual({ seen: names, pages: 3 })
    const at = hours.get("c") ?? 0
    expect(idsOf((await list(world, { order: "activity", activeAfter: at })).threads)).toEqual([
      "a",
      "b",
    ])
    expect(idsOf((await list(world, { activeBefore: at })).threads)).toEqual(["d", "e"])
    const first = await list(world, { order: "activity", limit: 2 })
    // The one that comes next becomes the newest: it is passed, and nobody is told twice.
    await run(world.submit("c"))
    await world.quiet()
    const rest = await all(world, { order: "activity", limit: 2, after: first.next ?? "" })
    expect(rest.seen).toEqual(["d", "e"])
  })

  it("refuses a cursor that is none in its order", async () => {
    const world = makeOwnerWorld()
    const asked = list(world, { order: "activity", after: "a" })
    await expect(asked).rejects.toMatchObject({ _tag: "InvalidInput", path: "after" })
  })

  it("has short pages that go on, where few of many match", async () => {
    const world = makeOwnerWorld({ limits: { directoryRows: 3, obligationLanes: 3 } })
    const names = ["a", "b", "c", "d", "e", "f", "g"]
    for (const name of names) await run(world.submit(name))
    await world.quiet()
    const { pages, seen } = await all(world, { text: "g" })
    expect(seen).toEqual(["g"])
    expect(pages).toBe(3)
  })
})

describe("the directory", () => {
  const lines = consoleLines()

  it("is not written by work that begins and ends while nobody looks", async () => {
    const world = makeOwnerWorld({ limits: { projectionMillis: 3_600_000 } })
    await run(world.submit("a"))
    await world.quiet()
    const minute = () => Math.floor(Date.now() / 60_000)
    const began = minute()
    const changes = () => Number(world.storage.sql.all("SELECT total_changes() AS n")[0]?.["n"])
    const before = changes()
    await run(world.submit("a"))
    await world.quiet()
    const once = changes() - before
    world.storage.sql.run("CREATE TEMP TABLE seen (n)")
    world.storage.sql.run(
      "CREATE TEMP TRIGGER written AFTER UPDATE ON directory BEGIN INSERT INTO seen VALUES (1); END",
    )
    for (let index = 0; index < 20; index++) {
      await run(world.submit("a"))
      await world.quiet()
    }
    const rows = world.storage.sql.all("SELECT count(*) AS n FROM seen")[0]?.["n"]
    expect(rows).toBeLessThanOrEqual(minute() - began)
    expect(once).toBeGreaterThan(0)
  })

  it("is found again by a life that did not know what had changed", async () => {
    const world = makeOwnerWorld({ limits: { projectionMillis: 3_600_000 } })
    await run(world.submit("a"))
    await world.quiet()
    await run(
      world.client.pauseThread({
        ownerId,
        threadId: "a" as ThreadId,
        author: "ann",
        reason: "audit",
      }),
    )
    await world.until("its finish is committed", () =>
      String(world.lane("a")?.["report"]).includes('"paused":true'),
    )
    expect(rowsOf(world)).toMatchObject([{ state: "idle" }])
    world.crash()
    await run(world.client.maintenanceStatus({ ownerId }))
    await world.alarmsUntil("it is shown", () => rowsOf(world)[0]?.["state"] === "paused")
    await world.quiet()
  })

  it("is swept in batches by a life that did not know what had changed", async () => {
    const world = makeOwnerWorld({ limits: { projectionLanes: 2 } })
    for (const name of ["a", "b", "c", "d", "e"]) await run(world.submit(name))
    await world.quiet()
    await run(world.client.rebuildProjections({ ownerId }))
    await world.quiet()
    expect(rowsOf(world)).toHaveLength(5)
  })

  it("is not needed to tell threads by their state while it is built", async () => {
    const world = makeOwnerWorld({ limits: { projectionMillis: 3_600_000 } })
    for (const name of ["a", "b"]) await run(world.submit(name))
    await world.quiet()
    await run(
      world.client.pauseThread({
        ownerId,
        threadId: "b" as ThreadId,
        author: "ann",
        reason: "audit",
      }),
    )
    await world.until("its finish is committed", () =>
      String(world.lane("b")?.["report"]).includes('"paused":true'),
    )
    world.storage.sql.run("DROP TABLE directory")
    expect(idsOf((await list(world, { state: "paused" })).threads)).toEqual(["b"])
  })

  it("is no reason for anything else to fail, and comes back when it is deleted", async () => {
    const world = makeOwnerWorld({ limits: { projectionRetryMillis: 1 } })
    for (const name of ["a", "b"]) await run(world.submit(name))
    await world.quiet()
    for (const table of ["directory", "search_entries", "search_text"]) {
      world.storage.sql.run(`DROP TABLE ${table}`)
    }
    expect(idsOf((await list(world, { state: "idle" })).threads)).toEqual(["a", "b"])
    await run(world.submit("c"))
    await world.quiet()
    expect(world.thread("c").settled).toEqual([1])
    expect(lines.filter((line) => line.includes("storage failed"))).toEqual([])
    await run(
      world.client.forgetThread({
        ownerId,
        threadId: "b" as ThreadId,
        author: "ann",
        reason: "asked",
        abort: false,
      }),
    )
    await world.quiet()
    expect(rowsOf(world).map((row) => row["thread_id"])).toEqual(["a", "c"])
    expect(idsOf((await list(world, { state: "idle" })).threads)).toEqual(["a", "c"])
  })

  it("is built anew where a read finds it failing, in an owner at rest and in the life that follows, and said once", async () => {
    for (const crashes of [false, true]) {
      const world = makeOwnerWorld({ limits: { projectionRetryMillis: 1 } })
      await run(world.submit("a"))
      await world.quiet()
      lines.length = 0
      world.storage.sql.run("DROP TABLE directory")
      const read = () => list(world, { order: "activity" })
      expect(await read()).toEqual({ threads: [], behind: true })
      expect(await read()).toEqual({ threads: [], behind: true })
      expect(world.storage.alarmAt()).not.toBeNull()
      expect(lines.filter((line) => line.includes("is built anew"))).toHaveLength(1)
      if (crashes) world.crash()
      await world.quiet()
      expect(idsOf((await read()).threads)).toEqual(["a"])
    }
  })

  it("is built anew by the life that follows where it failed as a thread was taken out of it", async () => {
    const world = makeOwnerWorld({ limits: { projectionRetryMillis: 1 } })
    for (const name of ["a", "b"]) await run(world.submit(name))
    await world.quiet()
    world.storage.sql.run("DROP TABLE directory")
    // Its thread was forgotten, as a mutation of it is told.
    world.thread("a").forgetAs(true)
    await run(Effect.exit(world.submit("a")))
    await world.until("its lane is gone", () => world.lane("a") === undefined)
    world.crash()
    await world.quiet()
    expect(rowsOf(world).map((row) => row["thread_id"])).toEqual(["b"])
  })

  it("has no thread any more whose lane is gone", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    await tell(world, "a", { title: "secret plans" })
    await world.quiet()
    world.thread("a").replaces = undefined
    expect((await run(world.client.search({ ownerId, query: "secret" }))).hits).toHaveLength(1)
    const gone = run(
      world.client.forgetThread({
        ownerId,
        threadId: "a" as ThreadId,
        author: "ann",
        reason: "asked",
        abort: true,
      }),
    )
    await world.alarmsUntil("its lane is gone", () => world.lane("a") === undefined)
    // In the block that deletes the lane: no pass has come after it.
    expect(rowsOf(world)).toEqual([])
    expect(world.storage.sql.all("SELECT * FROM search_text")).toEqual([])
    await gone
  })

  it("is not written by a pass that finds nothing due", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.alarm.set(Date.now() - 1)
    const before = world.storage.counts()
    await world.deliver()
    expect(world.storage.counts().written - before.written).toBeLessThanOrEqual(1)
  })

  it("stays built anew over an upgrade of its tables", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.sql.run(
      `UPDATE maintenance SET projections = '{"version":0,"built":7,"behind":false}'`,
    )
    world.crash()
    await run(world.client.maintenanceStatus({ ownerId }))
    await world.quiet()
    expect(rowsOf(world)).toHaveLength(1)
  })
})
