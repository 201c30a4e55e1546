/** Rows of an owner whose texts do not decode: they cost one lane a visit, and stop nothing. */
import { Effect, Option, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { logged } from "./logged.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const bad = ThreadId.make("bad")

const damage = (world: World, column: "report" | "marks", text: string): void =>
  world.storage.sql.run(`UPDATE lanes SET ${column} = ? WHERE thread_id = 'bad'`, text)

const errors = (lines: ReadonlyArray<string>) => lines.filter((line) => line.includes("ERROR"))

const statusOf = (world: World) => go(world.client.maintenanceStatus({ ownerId }))

const isFaulted = (world: World) => String(world.lane("bad")?.["marks"]).includes("faultRetryAt")

/** An owner with two threads whose submissions wait for an agent, and one that is at rest. */
const waiting = async (): Promise<World> => {
  const world = makeOwnerWorld({ limits: { bindingWaitMillis: 60_000 } })
  for (const name of ["bad", "good"]) {
    world.thread(name).turn = "binding"
    await go(world.submit(name))
  }
  await go(world.submit("idle"))
  await world.alarmsUntil("all had their turn", () =>
    ["bad", "good", "idle"].every((name) => world.thread(name).turns > 0),
  )
  await world.until("the pass ended", () => !world.isDelivering())
  return world
}

const damages = [
  ["report", "{broken"],
  ["report", "null"],
  ["report", '{"revision":"many"}'],
  ["marks", "{broken"],
  ["marks", "[]"],
  ["marks", '{"backoffUntilAt":"soon"}'],
  ["marks", '{"condemned":null}'],
] as const

describe("a lane whose row is damaged", () => {
  it.each(damages)("(%s = %s) fails no question about its owner", async (column, text) => {
    const world = await waiting()
    damage(world, column, text)
    world.crash()
    const before = world.storage.dump()
    const { threads } = await go(world.client.listThreads({ ownerId }))
    expect(threads.map(({ threadId }) => threadId)).toEqual(["bad", "good", "idle"])
    const { obligations } = await go(world.client.obligations({ ownerId }))
    expect(obligations.map(({ threadId }) => threadId)).toContain("good")
    const lane = await go(world.client.laneStatus({ ownerId, threadId: bad }))
    expect(lane).toMatchObject({ known: true, mustVisit: true })
    expect(await statusOf(world)).toMatchObject({ lanes: 3, nonterminal: 2 })
    const frames = world.client.watch({ ownerId }).pipe(Stream.take(1), Stream.runCollect)
    expect(Array.from(await go(frames))).toMatchObject([{ _tag: "Opened" }])
    expect(world.storage.dump()).toBe(before)
  })

  it.each(damages)("(%s = %s) is healed by a fenced visit, told once", async (column, text) => {
    const lines = await logged(async () => {
      const world = await waiting()
      const thread = world.thread("bad")
      const visits = thread.visits
      damage(world, column, text)
      world.crash()
      await go(world.client.wake({ ownerId, threadId: bad }))
      thread.turn = "settle"
      world.thread("good").turn = "settle"
      await go(world.client.wake({ ownerId, threadId: ThreadId.make("good") }))
      await world.alarmsUntil("it was visited", () => thread.visits > visits)
      await world.until("the pass ended", () => !world.isDelivering())
      expect(thread.fence).toBeDefined()
      world.crash({ agentsDigest: "more agents" })
      world.storage.alarm.set(Date.now())
      await world.quiet()
      expect([thread.settled, world.thread("good").settled]).toEqual([[1], [1]])
      expect(await statusOf(world)).toMatchObject({ lanes: 3, nonterminal: 0, faultedLanes: 0 })
      expect(world.lane("bad")).toMatchObject({ enrolled: null, must_visit: 0, work: null })
    })
    const told = errors(lines).filter((line) => line.includes("was damaged"))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('"threadId":"bad"')
  })

  it("is met by the pass that gives it its turn, and no pass fails", async () => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld()
      for (const name of ["bad", "good"]) await go(world.submit(name))
      await world.until("both are finished", () =>
        ["bad", "good"].every((name) => world.lane(name)?.["enrolled"] === null),
      )
      damage(world, "report", "{broken")
      await world.quiet()
      expect([world.thread("bad").settled, world.thread("good").settled]).toEqual([[1], [1]])
      expect(await statusOf(world)).toMatchObject({ lanes: 2, nonterminal: 0, unfinishedPasses: 0 })
    })
    expect(errors(lines)).toEqual([expect.stringContaining("was damaged")])
  })

  it("is taken by reconcile and by new input like any other", async () => {
    const world = makeOwnerWorld()
    for (const name of ["bad", "good"]) await go(world.submit(name))
    await world.quiet()
    damage(world, "report", "{broken")
    await go(world.client.reconcile({ ownerId, threadIds: [bad, ThreadId.make("good")] }))
    await world.quiet()
    damage(world, "marks", "{broken")
    await go(world.submit("bad"))
    await world.quiet()
    expect(world.thread("bad").settled).toEqual([1, 2])
    expect(await statusOf(world)).toMatchObject({ lanes: 2, nonterminal: 0 })
  })

  it("is no longer counted once it was deleted and its thread reconciled", async () => {
    const world = makeOwnerWorld({ limits: { runningPerOwner: 1, watchMillis: 60_000 } })
    world.thread("bad").turn = "run"
    await go(world.submit("bad"))
    await world.alarmsUntil("it runs", () => world.thread("bad").turns > 0)
    await world.until("the pass ended", () => !world.isDelivering())
    expect(await statusOf(world)).toMatchObject({ lanes: 1, nonterminal: 1, runningLanes: 1 })
    world.storage.sql.run("DELETE FROM lanes")
    world.thread("bad").turn = "settle"
    world.thread("bad").endRun()
    await go(world.client.reconcile({ ownerId, threadIds: [bad] }))
    await go(world.submit("good"))
    await world.quiet()
    expect(world.thread("good").settled).toEqual([1])
    expect(world.thread("bad").settled).toEqual([1])
    expect(await statusOf(world)).toMatchObject({ lanes: 2, nonterminal: 0, runningLanes: 0 })
  })

  it("keeps its recorded fault, and the count of faulted lanes with it", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 60_000 } })
    const thread = world.thread("bad")
    thread.lost = true
    thread.recovery = "unreadable"
    await go(world.submit("bad"))
    await world.alarmsUntil("it is faulted", () => isFaulted(world))
    await world.until("the pass ended", () => !world.isDelivering())
    damage(world, "marks", "{broken")
    await go(world.client.wake({ ownerId, threadId: bad }))
    expect(world.lane("bad")).toMatchObject({ work: "recover" })
    expect(await statusOf(world)).toMatchObject({ nonterminal: 1, faultedLanes: 1 })
  })
})

describe("an owner", () => {
  it("whose notes about itself do not decode works on without them", async () => {
    const world = await waiting()
    world.storage.sql.run(
      "UPDATE maintenance SET in_flight = '{', last_pass = '[1]', entry = 'x', incarnation = incarnation",
    )
    world.crash()
    expect(await statusOf(world)).not.toHaveProperty("lastPass")
    world.thread("bad").turn = "settle"
    await go(world.submit("bad"))
    await go(world.submit("new"))
    await world.alarmsUntil("the new one settled", () => world.thread("new").settled.length === 1)
    await world.until("the pass ended", () => !world.isDelivering())
    expect(await statusOf(world)).toMatchObject({ lanes: 4, lastPass: { endedBy: "quiescent" } })
  })

  it("tells a fault whose note of the failure does not decode, and retries it", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 20 } })
    const thread = world.thread("bad")
    thread.lost = true
    thread.recovery = "unreadable"
    await go(world.submit("bad"))
    await world.alarmsUntil("it is faulted", () => isFaulted(world))
    world.storage.sql.run("UPDATE recovery_faults SET failure = '{'")
    const fault = await go(world.client.recoveryStatus({ ownerId, threadId: bad }))
    expect(Option.getOrThrow(fault)).toMatchObject({ failure: { tag: "NoteUnreadable" } })
    const { obligations } = await go(world.client.obligations({ ownerId }))
    expect(obligations).toMatchObject([{ blocker: "fault", name: "NoteUnreadable" }])
    thread.recovery = "repair"
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })
})
