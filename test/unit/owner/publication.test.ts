/** How an owner gives a sink the records of its threads: in order, at least once, and beside all else. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { makeSink } from "./FakePublication.ts"
import { olderTables } from "./olderTables.ts"
import { logged } from "./logged.ts"
import { messageTo } from "./FakeOutbox.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const run = Effect.runPromise

const at = (threadId: string) => ({ ownerId, threadId: ThreadId.make(threadId) })

/** An owner with a sink, whose threads publish. */
const publishing = (options: WorldOptions = {}) => {
  const taken = makeSink()
  const world = makeOwnerWorld({ sink: taken.sink, ...options })
  const thread = (threadId: string) => {
    const found = world.thread(threadId)
    found.publication.isOn = true
    return found
  }
  return { taken, world, thread }
}

type World = ReturnType<typeof makeOwnerWorld>

/** Submits so many to a thread, one behind the other. */
const submitAll = async (world: World, threadId: string, count: number) => {
  for (let index = 0; index < count; index++) await run(world.submit(threadId))
}

const lane = (world: World, threadId: string) => run(world.client.laneStatus(at(threadId)))

const firstTimes = (sequences: ReadonlyArray<number>) =>
  sequences.filter((sequence, index) => sequences.indexOf(sequence) === index)

const until = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const refuse = (threadId: string) => (batch: { readonly threadId: string }) =>
  batch.threadId === threadId ? Promise.reject(new Error("down")) : Promise.resolve()

describe("an owner with a sink", () => {
  it("gives it the records of each run before the next one begins", async () => {
    const { taken, thread, world } = publishing()
    const a = thread("a")
    await submitAll(world, "a", 3)
    await world.quiet()
    expect(a.settled).toEqual([1, 2, 3])
    expect(taken.batches.map(({ id }) => id)).toEqual([
      "tenant/a/1-2",
      "tenant/a/3-4",
      "tenant/a/5-6",
    ])
    expect(taken.batches[0]).toMatchObject({
      ownerId,
      threadId: "a",
      first: 1,
      last: 2,
      records: a.publication.records.slice(0, 2),
    })
  })

  it("gives it a thread's records a batch at a time, in one turn", async () => {
    const { taken, thread, world } = publishing({ limits: { publishRecords: 4 } })
    const a = thread("a")
    a.publication.isOn = false
    a.headsPerTurn = 10
    await submitAll(world, "a", 5)
    await world.quiet()
    a.publication.isOn = true
    await run(world.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await world.quiet()
    expect(taken.batches.map(({ first, last }) => [first, last])).toEqual([
      [1, 4],
      [5, 8],
      [9, 10],
    ])
    expect(taken.sequencesOf("a")).toEqual(until(10))
  })

  it("gives a thread's batches no more calls than its pass has, and the rest in a later one", async () => {
    const { taken, thread, world } = publishing({ limits: { publishRecords: 1, passCalls: 8 } })
    const a = thread("a")
    a.publication.isOn = false
    a.headsPerTurn = 10
    await submitAll(world, "a", 6)
    await world.quiet()
    a.publication.isOn = true
    await run(world.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await world.deliver()
    await world.alarmsUntil("some were given", () => taken.batches.length > 0)
    expect(taken.batches.length).toBeLessThan(12)
    await world.quiet()
    expect(taken.sequencesOf("a")).toEqual(until(12))
  })

  it("gives it at most four threads' records at once, the longest due first", async () => {
    const { taken, thread, world } = publishing()
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const begun: Array<string> = []
    taken.setTake((batch) => {
      begun.push(batch.threadId)
      return gate
    })
    const names = ["a", "b", "c", "d", "e", "f"]
    for (const name of names) {
      thread(name)
      await run(world.submit(name))
    }
    const alarms = world.alarmsUntil("all were given", () => taken.batches.length === names.length)
    await world.until("four are under way", () => begun.length === 4)
    expect(names.flatMap((name) => world.thread(name).settled)).toHaveLength(6)
    expect(begun).toHaveLength(4)
    open()
    await alarms
    expect(new Set(begun)).toEqual(new Set(names))
  })
})

describe("a thread with as many mutations under way as it may have", () => {
  it("is told what the sink has all the same, and runs on", async () => {
    const { thread, world } = publishing({
      limits: { mutationsPerLane: 1, mutationMillis: 60_000, coverMillis: 60_000 },
    })
    const a = thread("a")
    await submitAll(world, "a", 2)
    a.receiving = "hang"
    Effect.runFork(world.submit("a"))
    await world.until("it is under way", () => a.admissions === 3)
    expect(await run(Effect.flip(world.submit("a")))).toMatchObject({ overloaded: true })
    await world.alarmsUntil("it has run on", () => a.settled.length === 2)
    expect(a.publication.published).toBeGreaterThan(0)
  })
})

describe("a sink that refuses", () => {
  it("holds up the thread whose records it refuses, and no other", async () => {
    const { taken, thread, world } = publishing()
    taken.setTake(refuse("a"))
    const [a, b] = [thread("a"), thread("b")]
    await submitAll(world, "a", 2)
    await submitAll(world, "b", 3)
    await world.alarmsUntil("the other is done", () => b.publication.published === 6)
    expect(b.settled).toEqual([1, 2, 3])
    expect(a.settled).toEqual([1])
    taken.setTake(() => Promise.resolve())
    await world.quiet()
    expect(a.settled).toEqual([1, 2])
    expect(firstTimes(taken.sequencesOf("a"))).toEqual(until(4))
    expect(taken.sequencesOf("b")).toEqual(until(6))
  })

  it("is tried again after 5 s, doubling to 60 s", async () => {
    const limits = { publishRetryMillis: 5_000, publishRetryMaxMillis: 60_000 }
    const { taken, thread, world } = publishing({ limits })
    let tries = 0
    taken.setTake(() => {
      tries += 1
      return Promise.reject(new Error("down"))
    })
    thread("a")
    await run(world.submit("a"))
    const waits: Array<number> = []
    for (let failures = 1; failures <= 6; failures++) {
      await world.alarmsUntil("it was tried", () => tries === failures && !world.isDelivering())
      const wait = ((await lane(world, "a")).publishAt ?? 0) - Date.now()
      waits.push(Math.round(wait / 1_000))
      // The time has come, as far as the row tells.
      const row = world.lane("a")
      const marks = JSON.parse(String(row?.["marks"]))
      marks.publication.untilAt = Date.now()
      world.storage.sql.run(
        "UPDATE lanes SET marks = ?, publish_at = ? WHERE thread_id = 'a'",
        JSON.stringify(marks),
        Date.now() * 1_000,
      )
      world.storage.alarm.set(Date.now())
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60])
  })

  it("is told of with how long the submission has waited, and so is what it holds", async () => {
    const { taken, thread, world } = publishing({
      limits: { publishRetryMillis: 60_000, publishRetryMaxMillis: 60_000 },
    })
    taken.setTake(refuse("a"))
    thread("a")
    await submitAll(world, "a", 2)
    await world.alarmsUntil("it rests", () => JSON.stringify(world.lane("a")).includes("untilAt"))
    const { obligations } = await run(world.client.obligations({ ownerId }))
    expect(obligations).toMatchObject([{ threadId: "a", blocker: "publication", state: "ready" }])
    await run(
      world.client.abort({
        ...at("a"),
        submissionId: obligations[0]?.submissionId as never,
        author: "ann",
        reason: "late",
      }),
    )
    const row = () => String(world.lane("a")?.["report"])
    await world.until("its end is taken in", () => row().includes(`"nonterminal":0`))
    expect((await run(world.client.obligations({ ownerId }))).obligations).toMatchObject([
      { threadId: "a", blocker: "publication", nonterminal: 0 },
    ])
  })

  it("is given a woken thread's records at once", async () => {
    const { taken, thread, world } = publishing({
      limits: { publishRetryMillis: 60_000, publishRetryMaxMillis: 60_000 },
    })
    taken.setTake(refuse("a"))
    const a = thread("a")
    await submitAll(world, "a", 2)
    await world.alarmsUntil("it rests", () => JSON.stringify(world.lane("a")).includes("untilAt"))
    taken.setTake(() => Promise.resolve())
    await run(world.client.wake(at("a")))
    await world.quiet()
    expect(a.settled).toEqual([1, 2])
  })

  it("or throws at once, or never answers, delays nothing else of its thread", async () => {
    for (const take of [
      () => {
        throw new Error("at once")
      },
      () => new Promise<never>(() => undefined),
    ]) {
      const { taken, thread, world } = publishing()
      taken.setTake(take)
      const a = thread("a")
      await submitAll(world, "a", 2)
      a.sends(messageTo(at("b"), "hello"))
      await world.alarmsUntil("the message was taken", () => world.thread("b").settled.length === 1)
      expect(a.settled).toEqual([1])
      taken.setTake(() => Promise.resolve())
      await world.quiet()
      expect(a.settled).toEqual([1, 2])
    }
  })

  it("has one line in the log for many refusals, without a word of its own", async () => {
    const { taken, thread, world } = publishing()
    let tries = 0
    taken.setTake(() => {
      tries += 1
      return tries > 4 ? Promise.resolve() : Promise.reject(new Error("secret of the sink"))
    })
    thread("a")
    const lines = await logged(async () => {
      await run(world.submit("a"))
      await world.quiet()
    })
    const told = lines.filter((line) => line.includes("the sink did not take"))
    expect(told).toHaveLength(1)
    expect(lines.join()).not.toContain("secret of the sink")
  })

  it("takes at most half of the slots with what it has refused before", async () => {
    const { taken, thread, world } = publishing({ limits: { publishMillis: 10_000 } })
    const hung: Array<string> = []
    let refusing = true
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    taken.setTake((batch) => {
      if (!batch.threadId.startsWith("bad")) return Promise.resolve()
      if (refusing) return Promise.reject(new Error("down"))
      hung.push(batch.threadId)
      return gate
    })
    for (const name of ["bad-1", "bad-2", "bad-3", "bad-4", "bad-5"]) {
      thread(name)
      await run(world.submit(name))
    }
    const slow = () =>
      world.storage.sql.all("SELECT 1 FROM lanes WHERE publish_slow = 1").length === 5
    await world.alarmsUntil("all were refused", slow)
    refusing = false
    const alarms = world.alarmsUntil("all were taken", () => taken.batches.length === 6)
    await world.until("two hang", () => hung.length === 2)
    const good = thread("good")
    await run(world.submit("good"))
    await world.until("a good one goes by", () => good.publication.published === 2)
    expect(hung).toHaveLength(2)
    open()
    await alarms
  })
})

describe("what is lost on the way", () => {
  it("of an acknowledgement makes a repetition, and no gap", async () => {
    let lost = 0
    const { taken, thread, world } = publishing({
      hooks: {
        reply: (message): Fate => {
          const isWord = message._tag === "Request" && message.tag === "acknowledgePublication"
          if (!isWord || lost > 2) return "deliver"
          lost += 1
          return "drop"
        },
      },
    })
    thread("a")
    await submitAll(world, "a", 3)
    await world.quiet()
    expect(firstTimes(taken.sequencesOf("a"))).toEqual(until(6))
  })

  it("with a claim that gives nothing, or a word that moves nothing, is no storm of calls", async () => {
    for (const way of ["empty", "idle", "hang"] as const) {
      const limits = { publishRetryMillis: 60_000, publishRetryMaxMillis: 60_000 }
      const { thread, world } = publishing({ limits })
      const a = thread("a")
      a.publication.way = way
      await run(world.submit("a"))
      const rests = () => JSON.stringify(world.lane("a")).includes("untilAt")
      await world.alarmsUntil("it rests", rests)
      expect(a.commands.filter(({ name }) => name === "claimPublication").length).toBeLessThan(2)
      expect(a.settled).toEqual([1])
    }
  })
})

describe("a thread that is to be forgotten", () => {
  it("is forgotten once the sink has all of it", async () => {
    const { taken, thread, world } = publishing({
      limits: { forgetRetryMillis: 60_000, forgetRetryMaxMillis: 60_000, forgetWaitMillis: 5_000 },
    })
    taken.setTake(refuse("a"))
    const a = thread("a")
    await run(world.submit("a"))
    await world.alarmsUntil("it was refused", () =>
      JSON.stringify(world.lane("a")).includes("untilAt"),
    )
    const forgotten = run(
      world.client.forgetThread({ ...at("a"), author: "ann", reason: "asked", abort: true }),
    )
    await world.alarmsUntil("it still owes", () => a.commands.some(({ name }) => name === "forget"))
    expect(a.forgottenAt).toBeUndefined()
    taken.setTake(() => Promise.resolve())
    await world.alarmsUntil("it is forgotten", () => a.forgottenAt !== undefined)
    await forgotten
    expect(taken.sequencesOf("a")).toEqual([1, 2])
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a deployment", () => {
  it("that publishes no longer lets the threads go on that waited", async () => {
    const { taken, thread, world } = publishing()
    taken.setTake(refuse("a"))
    const a = thread("a")
    await submitAll(world, "a", 2)
    await world.alarmsUntil("it was refused", () =>
      JSON.stringify(world.lane("a")).includes("untilAt"),
    )
    world.crash({ sink: undefined })
    a.publication.isOn = false
    a.revision += 1
    await world.quiet()
    expect(a.settled).toEqual([1, 2])
    expect(taken.batches).toEqual([])
  })

  it("of an owner that does not publish asks threads that do no more often than a sink", async () => {
    const limits = { publishRetryMillis: 60_000, publishRetryMaxMillis: 60_000 }
    const world = makeOwnerWorld({ limits })
    const a = world.thread("a")
    a.publication.isOn = true
    await run(world.submit("a"))
    await world.alarmsUntil("it rests", () => JSON.stringify(world.lane("a")).includes("untilAt"))
    const { visits } = a
    expect(visits).toBeLessThanOrEqual(2)
    expect((await lane(world, "a")).publishAt).toBeGreaterThan(Date.now() + 50_000)
  })

  it("that publishes nothing writes no row more for it", async () => {
    const written = async (options: WorldOptions) => {
      const world = makeOwnerWorld(options)
      await run(world.submit("a"))
      await world.quiet()
      return world.storage.sql.all("SELECT publish_at, publish_slow FROM lanes")
    }
    expect(await written({})).toEqual([{ publish_at: null, publish_slow: null }])
  })
})

describe("an older owner's tables", () => {
  it("are taken to this version by the next mutation, and publish then", async () => {
    const { taken, thread, world } = publishing()
    thread("a").publication.isOn = false
    await run(world.submit("a"))
    await world.quiet()
    world.storage.transaction(() => olderTables(world.storage.sql, 7))
    world.crash()
    expect((await lane(world, "a")).publishAt).toBeUndefined()
    thread("a")
    await run(world.submit("a"))
    await world.quiet()
    expect(taken.sequencesOf("a")).toEqual(until(4))
  })
})
