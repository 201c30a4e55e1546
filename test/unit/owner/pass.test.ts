/** How passes end, what operators ask of an owner, and the limits of what it holds. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const lastPass = async (world: World) =>
  (await run(world.client.maintenanceStatus({ ownerId }))).lastPass

const lane = (world: World, threadId: string) =>
  run(world.client.laneStatus({ ownerId, threadId: ThreadId.make(threadId) }))

const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

describe("the passes that an owner remembers", () => {
  it("are the last ones, the newest first, and none of an earlier life", async () => {
    const world = makeOwnerWorld({ limits: { passesKept: 2 } })
    const passes = async () =>
      (await run(world.client.maintenanceStatus({ ownerId }))).passes?.map(({ endedAt }) => endedAt)
    expect(await passes()).toBeUndefined()
    const ends: Array<number | undefined> = []
    for (const name of ["a", "b", "c"]) {
      await run(world.submit(name))
      await world.quiet()
      ends.unshift((await lastPass(world))?.endedAt)
    }
    expect(await passes()).toEqual(ends.slice(0, 2))
    world.crash()
    expect(await passes()).toBeUndefined()
    expect((await lastPass(world))?.endedAt).toBe(ends[0])
  })
})

describe("the end of a pass", () => {
  it("is quiescence when nothing is left to do", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    expect(await lastPass(world)).toMatchObject({
      phase: "actionable",
      endedBy: "quiescent",
      alarm: "cleared",
      settled: 1,
      nonterminal: 0,
    })
  })

  it("is its yield time; it lets go of a hung call, whose lane is looked at before it is believed", async () => {
    const world = makeOwnerWorld({
      limits: { passYieldMillis: 30, letGoMillis: 5, dispatchGraceMillis: 60_000 },
    })
    world.thread("hung").turn = "hang"
    await run(world.submit("hung"))
    await world.alarmsUntil("a pass yielded", () => world.storage.counts().alarmWrites > 3)
    expect(await lastPass(world)).toMatchObject({ endedBy: "yield", alarm: "rearmed" })
    world.thread("hung").turn = "settle"
    const turns = world.thread("hung").turns
    await world.quiet()
    expect(world.thread("hung").settled).toEqual([1])
    expect(world.thread("hung").suspects[turns]).toBe(true)
    expect(world.thread("hung").visits).toBeGreaterThan(0)
  })

  it("is its budget of calls, and the next one goes on", async () => {
    const world = makeOwnerWorld({ limits: { passCalls: 3 } })
    for (let index = 0; index < 20; index++) await run(world.submit(`t-${index}`))
    await world.alarmsUntil("the first pass ended", () => world.thread("t-2").settled.length > 0)
    expect(await lastPass(world)).toMatchObject({ endedBy: "calls", actorCalls: 3 })
    await world.quiet()
    for (let index = 0; index < 20; index++) {
      expect(world.thread(`t-${index}`).settled).toEqual([1])
    }
  })

  it("is its ceiling when something in it hangs", async () => {
    const world = makeOwnerWorld({ limits: { passCeilingMillis: 30 } })
    await run(world.submit("a"))
    let hung = false
    world.setFailpoints({
      reach: (point) =>
        Effect.suspend(() => {
          if (hung || point !== "select:before") return Effect.void
          hung = true
          return Effect.never
        }),
    })
    await world.alarmsUntil("it hung", () => hung)
    expect(await lastPass(world)).toMatchObject({ endedBy: "ceiling", alarm: "rearmed" })
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })
})

describe("an operator", () => {
  it("has a pass run, and hears how it ended", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "fail"
    await run(world.submit("a"))
    const asked = run(world.client.runMaintenance({ ownerId }))
    await world.alarmsUntil("a pass ended", () => world.thread("a").turns > 0)
    expect(await asked).toMatchObject({ _tag: "Finished", pass: { phase: "actionable" } })
  })

  it("hears of a pass that failed", async () => {
    let failing = false
    const world = makeOwnerWorld({
      limits: { alarmFallbackMillis: 5 },
      storageFault: (use) => {
        if (failing && use === "commit") throw new Error("disk I/O error")
      },
    })
    await run(world.submit("a"))
    const asked = run(world.client.runMaintenance({ ownerId }))
    await new Promise((resolve) => setImmediate(resolve))
    failing = true
    world.storage.alarm.delete()
    await world.runtime().alarm()
    failing = false
    expect(await asked).toMatchObject({ _tag: "Finished", pass: { endedBy: "failure" } })
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("gets an answer in time when no pass ends, and an alarm is armed", async () => {
    const world = makeOwnerWorld()
    const reply = await run(world.client.runMaintenance({ ownerId, timeoutMillis: 1 }))
    expect(reply).toEqual({ _tag: "Pending" })
    expect(world.storage.alarmAt()).not.toBeNull()
    await world.quiet()
  })

  it("pages through the threads by id", async () => {
    const world = makeOwnerWorld()
    const names = ["a", "b", "c", "d", "e"]
    for (const name of names) await run(world.submit(name))
    await world.quiet()
    const seen: Array<string> = []
    let after: string | undefined
    let pages = 0
    do {
      const page = await run(
        world.client.listThreads({
          ownerId,
          limit: 2,
          ...(after === undefined ? {} : { after }),
        }),
      )
      seen.push(...page.threads.map(({ threadId }) => threadId))
      after = page.next
      pages += 1
    } while (after !== undefined)
    expect(seen).toEqual(names)
    expect(pages).toBe(3)
  })

  it("ends a stall and a backoff by waking the lane", async () => {
    const world = makeOwnerWorld({
      limits: { laneBackoffMillis: 1, laneBackoffMaxMillis: 1, unchangedBeforeStall: 3 },
    })
    world.thread("a").turn = "unchanged"
    await run(world.submit("a"))
    await world.alarmsUntil("it stalled", () =>
      String(world.lane("a")?.["marks"]).includes("stall"),
    )
    expect((await lane(world, "a")).stalledUntilAt).toBeGreaterThan(Date.now() + 50_000)
    world.thread("a").turn = "settle"
    const woken = await run(world.client.wake({ ownerId, threadId: ThreadId.make("a") }))
    expect(woken).toMatchObject({ known: true, mustVisit: true, unchangedTurns: 0 })
    expect(woken.stalledUntilAt).toBeUndefined()
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("wakes nothing that the owner does not know", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    const woken = await run(world.client.wake({ ownerId, threadId: ThreadId.make("nobody") }))
    expect(woken).toMatchObject({ known: false })
    expect(world.storage.dump()).toBe(before)
  })

  it("is told no more of what is processed than was looked at", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.transaction(() => {
      for (let index = 0; index < 1_001; index++) {
        world.storage.sql.run(
          `INSERT INTO lanes (thread_id, report, enrolled, must_visit, suspect, marks, work, slow, next_at,
             outbox_at) SELECT ?, report, enrolled, must_visit, suspect, marks, 'dispatch',
           slow, 9e15, outbox_at FROM lanes WHERE thread_id = 'a'`,
          `t-${index}`,
        )
      }
    })
    expect((await run(world.client.maintenanceStatus({ ownerId }))).processed).toBeUndefined()
  })
})

describe("a stalled lane", () => {
  it("goes on with the next mutation", async () => {
    const world = makeOwnerWorld({
      limits: { laneBackoffMillis: 1, laneBackoffMaxMillis: 1, unchangedBeforeStall: 3 },
    })
    world.thread("a").turn = "unchanged"
    await run(world.submit("a"))
    await world.alarmsUntil("it stalled", () =>
      String(world.lane("a")?.["marks"]).includes("stall"),
    )
    world.thread("a").turn = "settle"
    await run(world.submit("a"))
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1, 2])
  })
})

describe("a lane that waits for its agent", () => {
  it("waits no longer once another deployment starts", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "binding"
    await run(world.submit("a"))
    await world.alarmsUntil("it waits", () => world.thread("a").turns === 1)
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + 3_000)
    world.thread("a").turn = "settle"
    world.crash({ agentsDigest: "others" })
    await run(world.submit("b"))
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("waits no longer, however many lanes wait, in the same pass", async () => {
    const world = makeOwnerWorld({ limits: { promotionBatch: 3, bindingWaitMillis: 60_000 } })
    const names = Array.from({ length: 14 }, (_, index) => `t-${index}`)
    for (const name of names) {
      world.thread(name).turn = "binding"
      await run(world.submit(name))
    }
    await world.alarmsUntil("all wait", () => names.every((name) => world.thread(name).turns > 0))
    await world.until("all are told", () =>
      names.every((name) => world.lane(name)?.["work"] === "binding"),
    )
    for (const name of names) world.thread(name).turn = "settle"
    world.crash({ agentsDigest: "others" })
    world.storage.alarm.set(Date.now() - 1)
    await world.quiet()
    for (const name of names) expect(world.thread(name).settled).toEqual([1])
  })

  it("waits no longer either where it is in backoff, with as many more as there are", async () => {
    const world = makeOwnerWorld({ limits: { promotionBatch: 3, bindingWaitMillis: 60_000 } })
    const names = Array.from({ length: 7 }, (_, index) => `t-${index}`)
    const all = (column: "work" | "slow", is: string | number) =>
      names.every((name) => world.lane(name)?.[column] === is)
    for (const name of names) {
      world.thread(name).turn = "binding"
      await run(world.submit(name))
    }
    await world.alarmsUntil("all wait", () => all("work", "binding"))
    for (const name of names) {
      world.thread(name).visiting = "fail"
      await run(world.client.wake({ ownerId, threadId: ThreadId.make(name) }))
    }
    await world.alarmsUntil("no visit succeeds", () =>
      names.every((name) => world.thread(name).visits > 0),
    )
    for (const name of names) world.thread(name).visiting = "answer"
    await world.alarmsUntil("all wait again", () => all("work", "binding"))
    expect(all("slow", 1)).toBe(true)
    for (const name of names) world.thread(name).turn = "settle"
    world.crash({ agentsDigest: "others" })
    world.storage.alarm.set(Date.now() - 1)
    await world.quiet()
    for (const name of names) expect(world.thread(name).settled).toEqual([1])
  })

  it("is left to its time by the deployment that set it, however often the owner starts", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "binding"
    await run(world.submit("a"))
    await world.alarmsUntil("it waits", () => world.thread("a").turns === 1)
    world.crash()
    await run(world.submit("b"))
    await world.alarmsUntil("the other settled", () => world.thread("b").settled.length === 1)
    expect(world.thread("a").turns).toBe(1)
  })
})

describe("a report", () => {
  it("that is older than what is stored is ignored, also when a fenced visit brings it", async () => {
    const visit = gate()
    const visited = gate()
    let dropped = false
    const world = makeOwnerWorld({
      limits: { visitMillis: 5_000 },
      hooks: {
        reply: async (message): Promise<Fate> => {
          if (message._tag !== "Request") return "deliver"
          if (message.tag === "admit" && !dropped) {
            dropped = true
            return "drop"
          }
          if (message.tag === "inspect") {
            visited.open()
            await visit.opened
          }
          return "deliver"
        },
      },
    })
    await run(Effect.exit(world.submit("a", "k")))
    const alarms = world.alarmsUntil("the input settled", () => world.thread("a").queued === 0)
    await visited.opened
    const newer = { ...world.thread("a").report(), revision: 50, title: "newer" }
    const asThread = world.connect({
      "heddle-role": "Thread",
      "heddle-owner": ownerId,
      "heddle-thread": "a",
    })
    world.thread("a").replaces = newer
    await run(asThread.report({ ownerId, threadId: ThreadId.make("a"), report: newer }))
    visit.open()
    await world.until("the visit is committed", () => world.lane("a")?.["enrolled"] === null)
    expect(JSON.parse(String(world.lane("a")?.["report"]))).toMatchObject({ revision: 50 })
    await alarms
  })
})

describe("a turn", () => {
  it("that settles work never stalls a lane whose reports are overtaken by admissions", async () => {
    let submissions = 0
    const world: World = makeOwnerWorld({
      hooks: {
        reply: async (message): Promise<Fate> => {
          if (message._tag === "Request" && message.tag === "processHead" && submissions < 12) {
            submissions += 1
            await run(world.submit("a"))
          }
          return "deliver"
        },
      },
    })
    await run(world.submit("a"))
    await world.alarmsUntil("twelve more came", () => submissions === 12)
    expect((await lane(world, "a")).unchangedTurns).toBe(0)
    await world.quiet()
    expect(world.thread("a").settled).toHaveLength(13)
  })
})

describe("a held lane", () => {
  it("is served under mutations without pause once a run has ended", async () => {
    const world = makeOwnerWorld({
      limits: { runningPerOwner: 1, watchMillis: 60_000 },
      hooks: {
        // Slow admissions overlap, so that one is always under way.
        request: async (message): Promise<Fate> => {
          if (message._tag === "Request" && message.tag === "admit") {
            await new Promise((resolve) => setTimeout(resolve, 15))
          }
          return "deliver"
        },
      },
    })
    world.thread("runs").turn = "run"
    await run(world.submit("runs"))
    await world.alarmsUntil("one runs", () => world.thread("runs").turns === 1)
    await run(world.submit("waits"))
    await world.alarmsUntil("the other is held", () => world.lane("waits")?.["work"] === "held")
    const served = () => world.thread("waits").settled.length > 0
    const clients = [1, 2, 3].map(async () => {
      while (!served()) {
        await run(Effect.exit(world.submit("waits")))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    world.thread("runs").turn = "settle"
    world.thread("runs").endRun()
    await run(world.client.wake({ ownerId, threadId: ThreadId.make("runs") }))
    await world.alarmsUntil("it is served meanwhile", served)
    await Promise.all(clients)
    await world.quiet()
  })

  it("that wants its turn later has it at its time, also in a pass that waits for something else", async () => {
    const aMinute = 60_000
    const world = makeOwnerWorld({
      limits: { runningPerOwner: 1, watchMillis: aMinute, claimMillis: aMinute },
    })
    world.thread("runs").turn = "run"
    await run(world.submit("runs"))
    await world.alarmsUntil("one runs", () => world.thread("runs").turns === 1)
    const waits = world.thread("waits")
    const { submissionId } = await run(world.submit("waits"))
    await world.alarmsUntil("the other is held", () => world.lane("waits")?.["work"] === "held")
    // Its submission is aborted, and a schedule is left, whose time is to come.
    const { dueAt: _d, head: _h, revision, ...report } = waits.report()
    const upkeepAt = Date.now() + 200
    waits.replaces = { ...report, revision: revision + 100, nonterminal: 0, waits: [], upkeepAt }
    const threadId = ThreadId.make("waits")
    await run(
      world.client.abort({ ownerId, threadId, submissionId, author: "ann", reason: "no more" }),
    )
    const { outbox } = world.thread("busy")
    outbox.way = "hang"
    world.thread("busy").sends({ _tag: "ChildAsk" } as never)
    await run(world.submit("busy"))
    await world.until("an alarm is due", () => (world.storage.alarmAt() ?? Infinity) <= Date.now())
    void world.deliver()
    await world.until("the claim hangs", () => outbox.claims === 1)
    world.thread("runs").turn = "settle"
    world.thread("runs").endRun()
    await run(world.client.wake({ ownerId, threadId: ThreadId.make("runs") }))
    await world.until("it has its turn", () => waits.turns > 0)
    expect(world.isDelivering()).toBe(true)
    expect(outbox.claims).toBe(1)
  })

  it("of an owner that died with its mutation under way is visited, though none may start", async () => {
    const landing = gate()
    let holds = false
    const sent = gate()
    const world = makeOwnerWorld({
      limits: { runningPerOwner: 1, watchMillis: 60_000 },
      hooks: {
        request: async (message): Promise<Fate> => {
          if (holds && message._tag === "Request" && message.tag === "admit") {
            sent.open()
            await landing.opened
          }
          return "deliver"
        },
      },
    })
    world.thread("runs").turn = "run"
    await run(world.submit("runs"))
    await world.alarmsUntil("one runs", () => world.thread("runs").turns === 1)
    await run(world.submit("waits"))
    await world.alarmsUntil("the other is held", () => world.lane("waits")?.["work"] === "held")
    holds = true
    Effect.runFork(world.submit("waits"))
    await sent.opened
    world.crash()
    await world.alarmsUntil("it was visited", () => world.lane("waits")?.["enrolled"] === null)
    expect(world.thread("waits").settled).toEqual([])
    landing.open()
    world.thread("runs").turn = "settle"
    world.thread("runs").endRun()
    await run(world.client.wake({ ownerId, threadId: ThreadId.make("runs") }))
    await world.quiet()
    expect(world.thread("waits").settled[0]).toBe(1)
  })
})

describe("a thread that tells what cannot be stored", () => {
  it("costs its own lane only", async () => {
    const world = makeOwnerWorld()
    const poison = world.thread("poison")
    const report = poison.report.bind(poison)
    poison.report = () => ({ ...report(), outboxAt: Number.MAX_SAFE_INTEGER })
    await run(Effect.exit(world.submit("poison")))
    for (let index = 0; index < 20; index++) await run(world.submit(`healthy-${index}`))
    await world.alarmsUntil("the healthy ones settled", () =>
      Array.from({ length: 20 }, (_, index) => world.thread(`healthy-${index}`)).every(
        (thread) => thread.settled.length === 1,
      ),
    )
    poison.report = report
    await world.quiet()
    expect(poison.settled).toEqual([1])
  })
})

describe("an owner's limits", () => {
  const blocked = (limits: Parameters<typeof makeOwnerWorld>[0] & {}) => {
    const landing = gate()
    let sent = 0
    const world = makeOwnerWorld({
      ...limits,
      hooks: {
        request: async (): Promise<Fate> => {
          sent += 1
          await landing.opened
          return "deliver"
        },
      },
    })
    return { world, landing, sent: () => sent }
  }

  it.each([
    ["mutations of one lane", { mutationsPerLane: 2 }],
    ["mutations of all lanes", { mutationsPerOwner: 2 }],
    ["bytes held", { mutationBytesPerOwner: 20 }],
  ])("refuse too many %s as overloaded, and take them afterwards", async (_what, limits) => {
    const { world, landing, sent } = blocked({ limits })
    const held = [Effect.runFork(world.submit("a", "1")), Effect.runFork(world.submit("a", "2"))]
    await world.until("both are under way", () => sent() === 2)
    const refused = await run(Effect.flip(world.submit("a", "3")))
    expect(refused).toMatchObject({ _tag: "Unavailable", overloaded: true, retryable: true })
    landing.open()
    await world.until("both are answered", () => held.every((fiber) => fiber.pollUnsafe()))
    expect(await run(world.submit("a", "3"))).toMatchObject({ sequence: 3 })
    await world.quiet()
  })

  it("refuse a submit near the end of the database, while everything else goes on", async () => {
    const world = makeOwnerWorld({ limits: { databaseBytes: 1 } })
    await run(world.submit("a"))
    await world.quiet()
    expect(await run(Effect.flip(world.submit("a")))).toMatchObject({
      _tag: "StorageFull",
      maximumBytes: 1,
    })
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({ lanes: 1 })
  })

  it("refuse text that cannot be stored as given before anything is written", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    const refused = await run(
      Effect.flip(
        world.client.submit({
          ownerId,
          threadId: ThreadId.make("a"),
          agent: "agent" as never,
          input: "a\0b",
          idempotencyKey: "k" as never,
        }),
      ),
    )
    expect(refused).toMatchObject({ _tag: "InvalidInput" })
    expect(world.storage.dump()).toBe(before)
  })
})

describe("an owner that the platform does not name", () => {
  it("serves the owner of its first contact and nobody else", async () => {
    const world = makeOwnerWorld({ name: undefined })
    await run(world.submit("a"))
    world.crash()
    const other = OwnerId.make("mallory")
    const refused = await run(Effect.flip(world.client.maintenanceStatus({ ownerId: other })))
    expect(refused).toMatchObject({ _tag: "IdentityMismatch" })
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })
})
