/** Forgetting a thread: condemned first, finished by the alarm, and no lane is left of it. */
import { Effect, Exit, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { type Generation, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { askedAgain } from "../../../owner-object/Forget.ts"
import { condemnedBy, limits, now } from "./lanes.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const words = { author: "ann", reason: "asked to" }
const address = (name: string) => ({ ownerId, threadId: ThreadId.make(name) })

const forget = (world: World, name: string, said: Record<string, unknown> = {}) =>
  world.client.forgetThread({ ...address(name), ...words, ...said })

/** Asks, and delivers alarms until there is an answer. */
const answered = async (world: World, name: string, said: Record<string, unknown> = {}) => {
  const asking = Effect.runFork(forget(world, name, said))
  await world.alarmsUntil("the caller is answered", () => asking.pollUnsafe() !== undefined)
  return go(Fiber.await(asking))
}

/** Any block takes the mutations in that have ended. */
const finished = (world: World) => go(world.client.wake(address("unknown")))

const year2100 = 4_102_444_800_000
const farFence = `${String(year2100).padStart(15, "0")}-0000000007` as Generation

const forgotten = Exit.succeed({ _tag: "Forgotten", forgottenAt: 7 })
const condemned = Exit.succeed({ _tag: "Condemned" })

const status = (world: World, name: string) => go(world.client.laneStatus(address(name)))
const counters = (world: World) => go(world.client.maintenanceStatus({ ownerId }))

const commands = (world: World, name: string) =>
  world.thread(name).commands.filter((command) => command.name === "forget")

/** A thread with one submission that is not served, known to its owner. */
const withWork = async (options: Parameters<typeof makeOwnerWorld>[0] = {}) => {
  const world = makeOwnerWorld(options)
  const thread = world.thread("a")
  thread.turn = "binding"
  await go(world.submit("a", "k"))
  await world.until("the mutation is finished", () => world.lane("a")?.["enrolled"] === null)
  return { world, thread }
}

/** A thread whose attempt goes on. */
const withRun = async (options: Parameters<typeof makeOwnerWorld>[0] = {}) => {
  const world = makeOwnerWorld(options)
  const thread = world.thread("a")
  thread.turn = "run"
  await go(world.submit("a"))
  await world.alarmsUntil("it runs", () => thread.turns > 0)
  await world.until("its owner knows", () => !world.isDelivering())
  return { world, thread }
}

describe("a thread that owes nothing", () => {
  it("is forgotten at once, on the word of who asked, and its lane is gone", async () => {
    const world = makeOwnerWorld()
    await go(world.submit("a"))
    await world.quiet()
    expect(await answered(world, "a")).toEqual(forgotten)
    const told = commands(world, "a").map(({ payload }) => payload)
    expect(told).toMatchObject([{ ...words, principal: "tester", abort: false }])
    expect(world.lane("a")).toBeUndefined()
    await world.quiet()
    expect(await counters(world)).toMatchObject({ lanes: 0, nonterminal: 0, faultedLanes: 0 })
  })

  it("is forgotten also where the owner has never heard of it", async () => {
    const world = makeOwnerWorld()
    expect(await answered(world, "a")).toEqual(forgotten)
    expect(world.thread("a").forgottenAt).toBeDefined()
    expect(world.lane("a")).toBeUndefined()
  })

  it("is told as forgotten to whoever asks again", async () => {
    const world = makeOwnerWorld()
    await answered(world, "a")
    expect(await answered(world, "a")).toEqual(forgotten)
    expect(world.lane("a")).toBeUndefined()
  })

  it("that cannot be recovered takes its fault with it", async () => {
    const { world, thread } = await withWork()
    thread.turn = "unreadable"
    await world.alarmsUntil("it is faulted", () =>
      String(world.lane("a")?.["marks"]).includes("faultRetryAt"),
    )
    expect(await counters(world)).toMatchObject({ faultedLanes: 1 })
    expect(await answered(world, "a", { abort: true })).toEqual(forgotten)
    expect(await counters(world)).toMatchObject({ lanes: 0, faultedLanes: 0, nonterminal: 0 })
    expect(world.storage.sql.all("SELECT * FROM recovery_faults")).toEqual([])
  })
})

describe("a thread that owes work", () => {
  it("refuses, is as it was, and goes on", async () => {
    const { world, thread } = await withWork({ limits: { bindingWaitMillis: 5 } })
    const exit = await answered(world, "a")
    expect(exit).toMatchObject({
      cause: { reasons: [{ error: { _tag: "WorkOwed", nonterminal: 1 } }] },
    })
    expect(await status(world, "a")).not.toHaveProperty("condemned")
    thread.turn = "settle"
    await world.quiet()
    expect(thread.settled).toEqual([1])
    expect(await go(world.submit("a"))).toMatchObject({ sequence: 2 })
  })

  it("that its owner has lost refuses all the same, and is known from then on", async () => {
    const { world, thread } = await withWork({ limits: { bindingWaitMillis: 5 } })
    world.storage.sql.run("DELETE FROM lanes")
    const exit = await answered(world, "a")
    expect(exit).toMatchObject({ cause: { reasons: [{ error: { _tag: "WorkOwed" } }] } })
    thread.turn = "settle"
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })

  it("that refused is fenced against what was sent for it", async () => {
    const { world, thread } = await withWork()
    await answered(world, "a")
    const [sent] = commands(world, "a")
    await world.alarmsUntil("it was visited", () => thread.visits > 0)
    expect((thread.fence ?? "") > (sent?.payload.generation ?? "")).toBe(true)
  })

  it("is aborted first where the caller says so, and forgotten", async () => {
    const { world, thread } = await withWork()
    expect(await answered(world, "a", { abort: true })).toEqual(forgotten)
    expect(thread.queued).toBe(0)
    expect(world.lane("a")).toBeUndefined()
  })

  it("stays condemned while what is aborted has its grace, each call under a newer generation", async () => {
    const { world, thread } = await withRun()
    expect(await go(forget(world, "a", { abort: true }))).toEqual({ _tag: "Condemned" })
    await world.alarmsUntil("it was asked four times", () => commands(world, "a").length === 4)
    thread.endRun()
    await world.quiet()
    expect(thread.forgottenAt).toBeDefined()
    expect(world.lane("a")).toBeUndefined()
    const generations = commands(world, "a").map(({ payload }) => payload.generation)
    expect(generations).toEqual([...new Set(generations)].toSorted())
  })

  it("is asked again after 1, 2, 4 … 60 s", () => {
    let mark = condemnedBy()
    const waits = Array.from({ length: 8 }, () => {
      mark = askedAgain(mark, mark, { now, limits })
      return (mark.retryAt - now) / 1_000
    })
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  it("is asked again as soon as it says that it owes nothing", async () => {
    const { world, thread } = await withRun({
      limits: { forgetRetryMillis: 60_000, forgetRetryMaxMillis: 60_000 },
    })
    expect(await answered(world, "a", { abort: true })).toEqual(condemned)
    expect(commands(world, "a")).toHaveLength(1)
    thread.endRun()
    const asThread = world.connect(callerHeaders({ _tag: "Thread", ...address("a") }))
    await go(asThread.report({ ...address("a"), report: thread.report() }))
    await world.quiet()
    expect(thread.forgottenAt).toBeDefined()
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a condemned thread", () => {
  it("takes no input and no command, and nothing of them is written", async () => {
    const { world, thread } = await withWork()
    thread.forgetting = "hang"
    await go(forget(world, "a", { abort: true }))
    const rows = () => world.storage.sql.all("SELECT * FROM lanes")
    const before = { rows: rows(), ...world.storage.counts() }
    const refused = await go(Effect.flip(world.submit("a")))
    const paused = await go(Effect.flip(world.client.pauseThread({ ...address("a"), ...words })))
    for (const error of [refused, paused]) {
      expect(error).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
        overloaded: false,
        reason: "the thread is being forgotten",
      })
    }
    expect(rows()).toEqual(before.rows)
    expect(world.storage.counts().written).toBe(before.written)
    expect(thread.queued).toBe(1)
  })

  it("is shown as such", async () => {
    const { world, thread } = await withWork()
    thread.forgetting = "hang"
    await go(forget(world, "a", { abort: true }))
    expect(await status(world, "a")).toMatchObject({
      work: "forget",
      condemned: { ...words, abort: true, sinceAt: expect.any(Number) },
    })
  })

  it("is called for nothing else, whatever it needs", async () => {
    const { world, thread } = await withWork({ limits: { bindingWaitMillis: 5 } })
    thread.forgetting = "hang"
    await go(forget(world, "a", { abort: true }))
    const { turns, visits, recoveries } = thread
    await world.alarmsUntil("it was asked three times", () => commands(world, "a").length === 3)
    expect([thread.turns, thread.visits, thread.recoveries]).toEqual([turns, visits, recoveries])
  })

  it("is joined by whoever asks again, and the word to abort wins", async () => {
    const { world, thread } = await withWork()
    thread.forgetting = "hang"
    const bob = { author: "bob", reason: "all of it", abort: true }
    const first = Effect.runFork(forget(world, "a"))
    await world.until("it is condemned", () => String(world.lane("a")?.["work"]) === "forget")
    const second = Effect.runFork(forget(world, "a", bob))
    const third = Effect.runFork(forget(world, "a"))
    const { condemned: mark } = await status(world, "a")
    expect(mark).toMatchObject(bob)
    thread.forgetting = "answer"
    await world.quiet()
    for (const fiber of [first, second, third]) {
      expect(await go(Fiber.await(fiber))).toEqual(forgotten)
    }
    expect(commands(world, "a").map(({ payload }) => payload["abort"])).toEqual([true])
  })

  it("is asked again at once when the word to abort comes while it is refusing", async () => {
    const { world, thread } = await withWork({
      limits: { forgetRetryMillis: 60_000, forgetRetryMaxMillis: 60_000 },
    })
    let joined: Fiber.Fiber<unknown, unknown> | undefined
    world.setFailpoints({
      reach: (point) =>
        Effect.suspend(() => {
          if (point !== "forget:before" || joined !== undefined) return Effect.void
          joined = Effect.runFork(forget(world, "a", { abort: true }))
          return Effect.void
        }),
    })
    expect(await answered(world, "a")).toEqual(forgotten)
    expect(commands(world, "a").map(({ payload }) => payload["abort"])).toEqual([false, true])
    expect(thread.queued).toBe(0)
  })

  it("that a newer fence refuses is called once more under a newer generation", async () => {
    const { world, thread } = await withWork()
    thread.fence = farFence
    expect(await answered(world, "a", { abort: true })).toEqual(forgotten)
    const generations = commands(world, "a").map(({ payload }) => payload.generation)
    expect(generations.map((generation) => generation > farFence)).toEqual([false, true])
  })

  it("waits for a mutation that is under way", async () => {
    const world = makeOwnerWorld()
    let land: () => void = () => undefined
    const landing = new Promise<void>((resolve) => (land = resolve))
    world.setFailpoints({
      reach: (point) => (point === "body:before" ? Effect.promise(() => landing) : Effect.void),
    })
    const submitting = Effect.runFork(world.submit("a"))
    await world.until("it is enrolled", () => world.lane("a") !== undefined)
    expect(await go(forget(world, "a", { abort: true }))).toEqual({ _tag: "Condemned" })
    await world.deliver()
    expect(commands(world, "a")).toEqual([])
    land()
    expect(Exit.isSuccess(await go(Fiber.await(submitting)))).toBe(true)
    await world.quiet()
    expect(world.thread("a")).toMatchObject({ queued: 0, settled: [], forgottenAt: 7 })
    expect(world.lane("a")).toBeUndefined()
  })

  it("is not waited for by more callers than there may be mutations under way", async () => {
    const { world, thread } = await withWork({
      limits: { mutationsPerOwner: 2, forgetWaitMillis: 60_000 },
    })
    thread.forgetting = "hang"
    const waiting = [1, 2].map(() => Effect.runFork(forget(world, "a", { abort: true })))
    await world.until("it is condemned", () => world.lane("a")?.["work"] === "forget")
    expect(await go(Effect.flip(forget(world, "a")))).toMatchObject({
      _tag: "Unavailable",
      overloaded: true,
    })
    thread.forgetting = "answer"
    await world.quiet()
    for (const fiber of waiting) expect(await go(Fiber.await(fiber))).toEqual(forgotten)
    expect(await answered(world, "a")).toEqual(forgotten)
  })

  it("is forgotten although its caller has left", async () => {
    const { world, thread } = await withWork({ limits: { forgetWaitMillis: 60_000 } })
    const asking = Effect.runFork(forget(world, "a", { abort: true }))
    await world.until("it is condemned", () => world.lane("a")?.["work"] === "forget")
    await go(Fiber.interrupt(asking))
    await world.quiet()
    expect(thread.forgottenAt).toBeDefined()
    expect(world.lane("a")).toBeUndefined()
  })

  it.each(["hang", "fail"] as const)(
    "whose object does not answer (%s) holds nobody up, and is forgotten once it does",
    async (forgetting) => {
      const { world, thread } = await withWork({ limits: { forgetMillis: 10 } })
      thread.forgetting = forgetting
      expect(await go(forget(world, "a", { abort: true }))).toEqual({ _tag: "Condemned" })
      for (const name of ["b", "c", "d"]) await go(world.submit(name))
      await world.alarmsUntil("the others settled", () =>
        ["b", "c", "d"].every((name) => world.thread(name).settled.length === 1),
      )
      await world.alarmsUntil("it was asked twice", () => commands(world, "a").length >= 2)
      expect(world.lane("a")).toMatchObject({ work: "forget", slow: 1 })
      thread.forgetting = "answer"
      await world.quiet()
      expect(thread.forgottenAt).toBeDefined()
      expect(world.lane("a")).toBeUndefined()
    },
  )
})

describe("a thread that was forgotten behind its owner's back", () => {
  const works = {
    visit: async (world: World) => {
      await go(world.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    },
    processHead: async (world: World) => {
      world.thread("a").turn = "settle"
    },
    recover: async (world: World) => {
      world.thread("a").turn = "unreadable"
      await world.alarmsUntil("it is faulted", () =>
        String(world.lane("a")?.["marks"]).includes("faultRetryAt"),
      )
    },
  }
  it.each(Object.entries(works))("leaves no lane once its %s is told so", async (_, needs) => {
    const { world, thread } = await withWork({
      limits: { bindingWaitMillis: 5, faultRetryMillis: 5 },
    })
    await needs(world)
    thread.forgottenAt = 7
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
    expect(await counters(world)).toMatchObject({ lanes: 0, nonterminal: 0, faultedLanes: 0 })
  })

  it("leaves no lane of a mutation that is told so, known or not", async () => {
    const { world, thread } = await withWork()
    world.storage.alarm.delete()
    thread.forgottenAt = 7
    for (const name of ["a", "new"]) {
      world.thread(name).forgottenAt = 7
      const error = await go(Effect.flip(world.submit(name)))
      expect(error).toMatchObject({ _tag: "ThreadForgotten", forgottenAt: 7 })
      await world.until("the mutation is finished", () => world.lane(name) === undefined)
    }
    expect(await counters(world)).toMatchObject({ lanes: 0, nonterminal: 0 })
  })

  it("leaves no lane when a late report brings it back", async () => {
    const { world, thread } = await withWork()
    const report = thread.report()
    await answered(world, "a", { abort: true })
    const asThread = world.connect(callerHeaders({ _tag: "Thread", ...address("a") }))
    await go(asThread.report({ ...address("a"), report }))
    expect(world.lane("a")).toBeDefined()
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
  })

  it("leaves no lane when a call that saw it alive ends last", async () => {
    let seen: () => void = () => undefined
    const held = new Promise<void>((resolve) => (seen = resolve))
    const world = makeOwnerWorld({
      limits: { visitMillis: 5_000 },
      hooks: {
        reply: async (message): Promise<Fate> => {
          if (message._tag === "Request" && message.tag === "inspect") await held
          return "deliver"
        },
      },
    })
    const thread = world.thread("a")
    await go(world.submit("a"))
    await world.alarmsUntil("it is at rest", () => world.storage.alarmAt() === null)
    await go(world.client.wake(address("a")))
    void world.alarmsUntil("it is at rest", () => world.lane("a") === undefined)
    await world.until("it is being visited", () => thread.visits > 0)
    thread.forgottenAt = 7
    await go(Effect.flip(world.submit("a")))
    await go(world.client.maintenanceStatus({ ownerId }))
    seen()
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
  })

  it("leaves no lane when a mutation that was under way gets no answer", async () => {
    const world = makeOwnerWorld({
      limits: { mutationMillis: 40 },
      hooks: {
        request: (message) =>
          message._tag === "Request" && message.tag === "admit"
            ? new Promise<never>(() => undefined)
            : "deliver",
      },
    })
    world.thread("a").forgottenAt = 7
    const submitting = Effect.runFork(Effect.exit(world.submit("a")))
    await world.until("it is enrolled", () => world.lane("a") !== undefined)
    await go(world.client.wake(address("a")))
    await world.alarmsUntil("it was visited", () => world.thread("a").visits > 0)
    await go(Fiber.await(submitting))
    await finished(world)
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
  })

  it("is not called in a circle while a mutation of it is under way", async () => {
    // A second visit would be one that did not wait for this, however long the pass takes.
    const slow = { laneBackoffMillis: 5_000, laneBackoffMaxMillis: 5_000 }
    const { world, thread } = await withWork({ limits: slow })
    let land: () => void = () => undefined
    const landing = new Promise<void>((resolve) => (land = resolve))
    world.setFailpoints({
      reach: (point) => (point === "body:before" ? Effect.promise(() => landing) : Effect.void),
    })
    const submitting = Effect.runFork(Effect.exit(world.submit("a")))
    await world.until("it is enrolled", () => world.lane("a")?.["enrolled"] !== null)
    thread.forgottenAt = 7
    await go(world.client.wake(address("a")))
    await world.alarmsUntil("it was visited", () => thread.visits > 0)
    await world.until("the pass ended", () => !world.isDelivering())
    expect(thread.visits).toBe(1)
    land()
    await go(Fiber.await(submitting))
    await world.until("its lane is gone", () => world.lane("a") === undefined)
  })
})
