/** What waits for somebody outside costs nothing, and what is under way is never believed to be over. */
import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { RecordId, type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const a = { ownerId, threadId: ThreadId.make("a") }
const status = (world: World) => go(world.client.maintenanceStatus({ ownerId }))

const decide = (world: World) =>
  world.client.resolveUnknown({
    ...a,
    submissionId: "018f0000-0000-7000-8000-000000000009" as SubmissionId,
    recordId: RecordId.make("ab".repeat(16)),
    author: "ann",
    reason: "looked at it",
    resolution: { _tag: "SafeToRetry" },
  })

const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

describe.each(["suspend", "park"] as const)("a lane whose only work waits outside (%s)", (turn) => {
  const waiting = async () => {
    const world = makeOwnerWorld()
    const thread = world.thread("a")
    thread.turn = turn
    await go(world.submit("a"))
    await world.quiet()
    thread.turn = "settle"
    return { world, thread }
  }

  it("holds no alarm, no slot and no run", async () => {
    const { world, thread } = await waiting()
    expect(world.storage.alarmAt()).toBeNull()
    expect(world.lane("a")).toMatchObject({ work: null, next_at: null, enrolled: null })
    expect(await status(world)).toMatchObject({ nonterminal: 1, dueLanes: 0, runningLanes: 0 })
    expect(thread.turns).toBe(1)
  })

  it("is not served by an alarm that comes all the same, which ends at once and is cleared", async () => {
    const { world, thread } = await waiting()
    const before = world.storage.dump()
    for (let delivery = 0; delivery < 2; delivery++) {
      const asked = go(world.client.runMaintenance({ ownerId }))
      await world.quiet()
      expect(await asked).toMatchObject({ pass: { phase: "caught-up", alarm: "cleared" } })
    }
    expect([thread.turns, thread.visits, thread.recoveries]).toEqual([1, 0, 0])
    expect(world.storage.dump()).toBe(before)
  })

  it("is covered by an alarm before the decision reaches its thread, which is all that it needs", async () => {
    const { world, thread } = await waiting()
    let coverAt: number | null = null
    world.setFailpoints({
      reach: (point) =>
        Effect.sync(() => {
          if (point === "body:before") coverAt = world.storage.alarmAt()
        }),
    })
    await go(decide(world))
    expect(coverAt).not.toBeNull()
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })
})

describe("a mutation under way", () => {
  it("keeps what is processed behind it, whatever a pass does meanwhile", async () => {
    const landing = gate()
    let holds = false
    const world = makeOwnerWorld({
      hooks: {
        request: async (message): Promise<Fate> => {
          if (holds && message._tag === "Request" && message.tag === "admit") await landing.opened
          return "deliver"
        },
      },
    })
    await go(world.submit("a"))
    await world.quiet()
    const before = await status(world)
    expect(before.processed).toBe(before.dirty)
    holds = true
    const submitting = Effect.runFork(world.submit("a"))
    await world.until("it is enrolled", () => world.lane("a")?.["enrolled"] !== null)
    await go(world.client.wake(a))
    await world.alarmsUntil("a pass has looked", () => world.thread("a").visits > 0)
    const meanwhile = await status(world)
    expect(meanwhile.processed).toBe(world.lane("a")?.["enrolled"])
    landing.open()
    await go(Fiber.await(submitting))
    await world.quiet()
    const after = await status(world)
    expect(after.processed).toBe(after.dirty)
  })

  it("that fails counts no longer, leaves its lane to be looked at, and nothing runs", async () => {
    let lost = 0
    const world = makeOwnerWorld({
      limits: { mutationsPerOwner: 2, mutationsPerLane: 2 },
      hooks: {
        request: (message) => {
          if (message._tag !== "Request" || message.tag !== "admit" || lost >= 5) return "deliver"
          lost += 1
          return "drop"
        },
      },
    })
    for (let index = 0; index < 5; index++) {
      expect(await go(Effect.flip(world.submit("a", "k")))).toMatchObject({
        _tag: "Unavailable",
        overloaded: false,
      })
    }
    expect(world.lane("a")).toMatchObject({ enrolled: expect.any(String) })
    await world.quiet()
    expect(world.thread("a")).toMatchObject({ turns: 0, visits: 1 })
    expect(await go(world.submit("a", "k"))).toMatchObject({ sequence: 1, duplicate: false })
    await world.quiet()
  })
})

describe("a thread's own report", () => {
  it("arms for what is due, and is no mutation", async () => {
    const world = makeOwnerWorld()
    const thread = world.thread("a")
    thread.turn = "suspend"
    await go(world.submit("a"))
    await world.quiet()
    const { dirty } = await status(world)
    thread.waits = undefined
    thread.turn = "settle"
    const report = { ...thread.report(), revision: thread.report().revision + 1 }
    const asThread = world.connect(callerHeaders({ _tag: "Thread", ...a }))
    await go(asThread.report({ ...a, report }))
    expect(world.storage.alarmAt()).not.toBeNull()
    expect((await status(world)).dirty).toBe(dirty)
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })
})

describe("a start", () => {
  it("runs nothing and writes nothing, however much is due", async () => {
    const world = makeOwnerWorld()
    await go(world.submit("a"))
    const before = [world.storage.dump(), world.storage.alarmAt()]
    world.crash()
    await status(world)
    expect([world.storage.dump(), world.storage.alarmAt()]).toEqual(before)
    expect(world.thread("a").turns).toBe(0)
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })
})

describe("a wake", () => {
  it("while its lane is being visited has it visited again, and all is processed in the end", async () => {
    const visit = gate()
    let visits = 0
    const world = makeOwnerWorld({
      limits: { visitMillis: 5_000 },
      hooks: {
        reply: async (message): Promise<Fate> => {
          if (message._tag === "Request" && message.tag === "inspect" && visits++ === 0) {
            await visit.opened
          }
          return "deliver"
        },
      },
    })
    await go(world.submit("a"))
    await world.quiet()
    await go(world.client.wake(a))
    const alarms = world.alarmsUntil("it was visited twice", () => world.thread("a").visits === 2)
    await world.until("it is being visited", () => world.thread("a").visits === 1)
    await go(world.client.wake(a))
    visit.open()
    await alarms
    await world.quiet()
    const { dirty, processed } = await status(world)
    expect(processed).toBe(dirty)
  })
})

describe("messages that arrive twice", () => {
  it("change nothing: each input settles once, in order", async () => {
    const world = makeOwnerWorld({ hooks: { request: () => "duplicate" } })
    for (const name of ["a", "b"]) {
      for (const key of ["1", "2", "3"]) await go(world.submit(name, `${name}${key}`))
    }
    await go(world.client.pauseThread({ ...a, author: "ann", reason: "audit" }))
    await go(world.client.resumeThread({ ...a, author: "ann", reason: "audit" }))
    await world.quiet()
    for (const name of ["a", "b"]) expect(world.thread(name).settled).toEqual([1, 2, 3])
    const asking = Effect.runFork(
      world.client.forgetThread({ ...a, author: "ann", reason: "asked to" }),
    )
    await world.quiet()
    expect(await go(Fiber.join(asking))).toMatchObject({ _tag: "Forgotten" })
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a lane that takes its owner down at each turn", () => {
  it("costs the others a restart, not their turn", async () => {
    const world = makeOwnerWorld({ limits: { passRetryMillis: 1, passRetryMaxMillis: 4 } })
    const killer = world.thread("a-killer")
    killer.onTurn = () => world.crash()
    await go(world.submit("a-killer"))
    for (const name of ["b", "c", "d"]) await go(world.submit(name))
    const others = ["b", "c", "d"].map((name) => world.thread(name))
    await world.alarmsUntil("the others settled", () =>
      others.every((thread) => thread.settled.length === 1),
    )
    killer.onTurn = () => undefined
    await world.quiet()
    for (const thread of [killer, ...others]) expect(thread.settled).toEqual([1])
  })
})
