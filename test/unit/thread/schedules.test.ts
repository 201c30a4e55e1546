import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { millisMax } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags, type World, type WorldOptions } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"

const Echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler((input) =>
  Effect.succeed(input),
)
const Asks = Agent.make("asks", { input: Schema.Json, output: Schema.Json }).handler((_, run) =>
  Effect.as(run.approval("ok", { summary: "?" }), "asked"),
)

const hour = 3_600_000
const start = Date.parse("2027-01-01T00:30:00Z")

interface Said {
  readonly name?: string
  readonly cron?: string
  readonly timeZone?: string
  readonly agent?: string
  readonly input?: unknown
  readonly title?: string
  readonly principal?: string
  readonly generation?: string
}

const makeClock = (options: Partial<WorldOptions> = {}) => {
  const world = makeWorld({ agents: [Echo, Asks], ...options })
  world.time.now = start
  const words = (said: Said) =>
    ({
      ...world.address,
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
      ...said,
    }) as never
  const set = (said: Said = {}) =>
    go(
      world.asOwner.schedule(
        words({ name: "hourly", cron: "0 * * * *", agent: "echo", input: { a: 1 }, ...said }),
      ),
    )
  const remove = (name = "hourly") => go(world.asOwner.unschedule(words({ name })))
  const list = (page: { after?: string; limit?: number } = {}) =>
    go(world.asReader.schedules({ ...world.address, ...page } as never))
  const only = async () => (await list()).schedules[0]
  /** Moves the clock to when the thread wants something, and lets it. */
  const turn = async () => {
    const { report } = await go(world.inspect())
    world.time.now = Math.max(world.time.now, report.upkeepAt ?? 0)
    return tags(world.process())
  }
  return { world, set, remove, list, only, turn }
}

const applied = async (world: World) =>
  (await go(world.history())).records.filter(({ kind }) => kind === "InputApplied")

describe("a schedule", () => {
  it("gives its thread its input at each occurrence, once", async () => {
    const { only, set, turn, world } = makeClock()
    const schedule = await taken(set())
    expect(schedule).toMatchObject({ nextAt: start + hour / 2, collapsed: 0, createdAt: start })
    expect(await tags(world.process())).toEqual([])
    expect(await turn()).toEqual(["Settled"])
    expect(await turn()).toEqual(["Settled"])
    expect(await tags(world.process())).toEqual([])
    expect(await applied(world)).toHaveLength(2)
    const told = await only()
    expect(told).toMatchObject({
      lastAt: start + hour * 1.5,
      nextAt: start + hour * 2.5,
      collapsed: 0,
    })
    const status = await go(world.status(told?.lastSubmissionId as never))
    expect(status.settlement).toMatchObject({ outcome: "completed", output: { a: 1 } })
  })

  it("is what the owner is told to come for, and nothing else is owed", async () => {
    const { remove, set, world } = makeClock()
    const { report } = await set()
    expect(report).toMatchObject({ upkeepAt: start + hour / 2, nonterminal: 0 })
    expect(report.dueAt).toBeUndefined()
    const after = (await remove()).report
    expect(after.upkeepAt).toBeUndefined()
    expect(after.revision).toBeGreaterThan(report.revision)
    world.time.now += 10 * hour
    expect(await tags(world.process())).toEqual([])
  })

  it("gives one input for all that is overdue, and counts the others", async () => {
    const { only, set, world } = makeClock()
    await set()
    world.time.now = start + 5 * hour
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await applied(world)).toHaveLength(1)
    expect(await only()).toMatchObject({
      lastAt: start + 4.5 * hour,
      nextAt: start + 5.5 * hour,
      collapsed: 4,
    })
  })

  it("set again with the same content changes nothing", async () => {
    const { set, world } = makeClock()
    const first = await set({ input: { a: 1, b: 2 } })
    world.time.now += 1_000
    const again = await set({ input: { b: 2, a: 1 } })
    expect(again.result).toEqual(first.result)
    expect(again.report).toEqual(first.report)
  })

  it.each<[string, Said]>([
    ["input", { input: 2 }],
    ["cron", { cron: "15 * * * *" }],
    ["zone", { timeZone: "Asia/Kolkata" }],
    ["agent", { agent: "asks" }],
    ["title", { title: "Hourly" }],
    ["caller", { principal: "bob" }],
  ])("set again with another %s replaces it, and counts from then", async (_, change) => {
    const { list, set, turn, world } = makeClock()
    await set()
    await turn()
    world.time.now += 10
    const replaced = await taken(set(change))
    expect(replaced).toMatchObject({ createdAt: world.time.now, collapsed: 0 })
    expect(replaced.nextAt).toBeGreaterThan(world.time.now)
    expect(replaced.lastAt).toBeUndefined()
    expect((await list()).schedules).toEqual([replaced])
  })

  it("gives its title and its caller to what it submits", async () => {
    const { set, turn, world } = makeClock()
    await set({ title: "Hourly", principal: "bob" })
    await turn()
    expect((await go(world.inspect())).report.title).toBe("Hourly")
    expect((await applied(world))[0]?.payload).toMatchObject({ principal: "bob", agent: "echo" })
  })

  it("comes though the head waits, and its input stands behind it", async () => {
    const { set, turn, world } = makeClock()
    await accepted(world.admit("asks", null))
    await tags(world.process())
    await set()
    await turn()
    expect((await go(world.inspect())).report).toMatchObject({
      nonterminal: 2,
      upkeepAt: start + hour * 1.5,
      head: { sequence: 1, state: "suspended" },
    })
  })

  it("has no next occurrence where none comes any more, and asks for nothing", async () => {
    const { only, set, world } = makeClock()
    const { report, result } = await set({ cron: "0 0 30 2 *" })
    expect(result._tag).toBe("Success")
    expect(report.upkeepAt).toBeUndefined()
    expect((await only())?.nextAt).toBeUndefined()
    world.time.now = millisMax - 1_000_000
    expect(await tags(world.process())).toEqual([])
  })

  it("is removed, also by the first call that an object gets", async () => {
    const { list, remove, set, world } = makeClock()
    await taken(set())
    world.crash()
    expect(await taken(remove())).toEqual({ removed: true })
    expect((await list()).schedules).toEqual([])
  })

  it("is gone with its thread", async () => {
    const { set, world } = makeClock()
    await set()
    await taken(operate(world).forget())
    expect(world.storage.sql.all("SELECT * FROM schedules")).toEqual([])
  })
})

describe("an occurrence that cannot be accepted", () => {
  it("waits where the queue is full, and is tried again later each time; what comes due joins it", async () => {
    const { only, set, turn, world } = makeClock({ limits: { queuedPerThread: 1 } })
    const { submissionId } = await accepted(world.admit("asks", null))
    await tags(world.process())
    await set()
    const tries: Array<number> = []
    for (let round = 0; round < 8; round++) {
      await turn()
      tries.push(((await go(world.inspect())).report.upkeepAt ?? 0) - world.time.now)
    }
    expect(tries.map((wait) => wait / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    expect(await only()).toMatchObject({ waitsFor: "AdmissionLimitExceeded", collapsed: 0 })
    world.time.now += 2 * hour
    await go(world.abort(submissionId))
    await turn()
    expect(await applied(world)).toHaveLength(2)
    const told = await only()
    expect(told).toMatchObject({ lastAt: start + 2.5 * hour, collapsed: 2 })
    expect(told?.waitsFor).toBeUndefined()
  })

  it("waits where the database is full", async () => {
    const { only, set, turn, world } = makeClock()
    await set()
    world.crash({ limits: { databaseBytes: 1 } })
    expect(await turn()).toEqual([])
    expect(await only()).toMatchObject({ waitsFor: "StorageFull" })
    world.crash({ limits: {} })
    expect(await turn()).toEqual(["Settled"])
  })

  it("waits for the deployment that has its agent", async () => {
    const { only, set, turn, world } = makeClock()
    await set()
    world.crash({ agents: [Asks] })
    await turn()
    expect(await only()).toMatchObject({ waitsFor: "AgentNotRegistered" })
    world.crash({ agents: [Echo] })
    expect(await turn()).toEqual(["Settled"])
  })

  it("waits while its thread is paused; what comes due meanwhile is one input", async () => {
    const { only, set, turn, world } = makeClock()
    await set()
    await taken(operate(world).pause())
    world.time.now = start + 3 * hour
    world.crash()
    const before = world.storage.dump()
    await tags(world.process())
    expect(world.storage.dump()).toBe(before)
    await taken(operate(world).resume())
    expect(await turn()).toEqual(["Settled"])
    expect(await only()).toMatchObject({ collapsed: 2 })
  })

  it("gives way where its key was used for something else", async () => {
    const { only, set, turn, world } = makeClock()
    await set()
    await turn()
    const key = world.storage.sql.all<{ idempotencyKey: string }>(
      "SELECT idempotencyKey FROM submissions",
    )[0]?.idempotencyKey
    world.storage.sql.run("UPDATE schedules SET nextAt = lastAt, dueAt = lastAt, input = '2'")
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(await turn()).toEqual([])
    expect(await only()).toMatchObject({ collapsed: 1, nextAt: start + 1.5 * hour })
  })
})

describe("a schedule is refused", () => {
  it.each<[string, Said, string]>([
    ["an expression that means nothing", { cron: "61 * * * *" }, "InvalidInput"],
    ["a zone that there is not", { timeZone: "Mars/One" }, "InvalidInput"],
    ["an input that is no JSON of ours", { input: "\ud800" }, "InvalidInput"],
    ["an agent that is not known", { agent: "nobody" }, "AgentNotRegistered"],
    ["an input that is too large", { input: "x".repeat(300) }, "AdmissionLimitExceeded"],
  ])("for %s", async (_, said, tag) => {
    const { list, set } = makeClock({ limits: { inputBytes: 256 } })
    // A value that no wire carries is refused by the wire.
    const answer = await refused(set(said)).catch((error: { _tag: string }) => error)
    expect(answer).toMatchObject({ _tag: tag })
    expect((await list()).schedules).toEqual([])
  })

  it("beyond as many as a thread may have; those that stand can be replaced", async () => {
    const { set } = makeClock({ limits: { schedulesPerThread: 2 } })
    for (const name of ["a", "b"]) await taken(set({ name }))
    expect(await refused(set({ name: "c" }))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "schedulesPerThread",
      actual: 3,
      maximum: 2,
    })
    await taken(set({ name: "b", input: 2 }))
  })

  it("by a full database, and that call stays refused", async () => {
    const { set, world } = makeClock({ limits: { databaseBytes: 1 } })
    const generation = world.generation()
    expect(await refused(set({ generation }))).toMatchObject({ _tag: "StorageFull" })
    world.crash({ limits: {} })
    expect(await refused(set({ generation }))).toMatchObject({ _tag: "Unavailable" })
    await taken(set())
  })
})

describe("the list of schedules", () => {
  it("is paged by name", async () => {
    const { list, set } = makeClock()
    for (const name of ["c", "a", "b"]) await taken(set({ name }))
    const first = await list({ limit: 2 })
    expect(first).toMatchObject({ schedules: [{ name: "a" }, { name: "b" }], next: "b" })
    const second = await list({ limit: 2, after: "b" })
    expect(second.schedules.map(({ name }) => name)).toEqual(["c"])
    expect(second.next).toBeUndefined()
  })

  it("has no more on a page than a page of history, and at least one", async () => {
    const { list, set } = makeClock({ limits: { historyBytes: 100 } })
    for (const name of ["a", "b", "c"]) await taken(set({ name, input: "x".repeat(60) }))
    expect(await list()).toMatchObject({ schedules: [{ name: "a" }], next: "a" })
  })

  it("is empty on an untouched thread, where removing one makes no tables", async () => {
    const { list, remove, world } = makeClock()
    expect((await list()).schedules).toEqual([])
    expect(await taken(remove())).toEqual({ removed: false })
    expect(world.storage.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
  })

  it("tells a row that does not decode, which can be removed", async () => {
    const { list, remove, set, world } = makeClock()
    await set()
    world.storage.sql.run("UPDATE schedules SET collapsed = 'many'")
    await expect(list()).rejects.toMatchObject({ _tag: "ThreadUnreadable", what: "schedules" })
    expect(await taken(remove())).toEqual({ removed: true })
    expect((await list()).schedules).toEqual([])
  })
})
