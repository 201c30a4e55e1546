/** Sleeps and times: drawn once, whatever becomes of the attempt; what waits beside them. */
import { Deferred, Effect, Fiber, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { waitForQuiet } from "../../../thread-actors/Quiet.ts"
import { accepted, drain, go, makeWorld, until } from "./harness.ts"
import { taken } from "./operators.ts"
import {
  dispatched,
  hour,
  openWaits,
  outputOf,
  outside,
  recorded,
  rowOf,
  waiting,
} from "./waits.ts"

const json = { input: Schema.Number, output: Schema.Json }

const Sleeper = Agent.make("sleeper", json).handler(
  Effect.fn(function* (_, run) {
    yield* run.sleep("nap", "1 hour")
    return yield* run.step("after", Schema.Json, Effect.succeed("awake"))
  }),
)

describe("a sleep", () => {
  it("is counted from when the run first came to it, over crashes and attempts", async () => {
    const world = makeWorld({ agents: [Sleeper], stopAt: "wait:after" })
    const { submissionId } = await accepted(world.admit("sleeper", 1))
    const dueAt = world.time.now + hour
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    world.crash()
    world.time.now += 60_000
    await go(world.recover())
    world.time.now += 60_000
    expect(await dispatched(world)).toBe("Suspended")
    expect((await go(world.inspect())).report.dueAt).toBe(dueAt)
    world.time.now = dueAt - 1
    expect(await dispatched(world)).toBe("")
    expect(rowOf(world)?.state).toBe("suspended")
    world.time.now = dueAt
    expect(await dispatched(world)).toBe("Settled")
    expect(await outputOf(world, submissionId)).toBe("awake")
    const records = await recorded(world)
    expect(records.filter((record) => record.endsWith(" nap"))).toEqual([
      "TimerSet nap",
      "TimerFired nap",
    ])
  })

  it("whose time comes while another branch works goes on in memory", async () => {
    const gate = Deferred.makeUnsafe<void>()
    const live = Agent.make("both", json).handler(
      Effect.fn(function* (_, run) {
        const slept = Effect.andThen(
          run.sleep("nap", "20 millis"),
          run.step("after", Schema.Json, Effect.succeed("awake")),
        )
        const works = run.step("work", Schema.Json, Effect.as(Deferred.await(gate), "done"))
        return yield* Effect.all([slept, works], { concurrency: 2 })
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("both", 1))
    const turn = dispatched(world)
    await waiting(world, ["nap"])
    world.time.now += 1_000
    await until(
      "it has gone on",
      () => recorded(world),
      (seen) => seen.includes("StepCompleted after"),
    )
    Deferred.doneUnsafe(gate, Effect.void)
    expect(await turn).toBe("Settled")
    expect(await outputOf(world, submissionId)).toEqual(["awake", "done"])
    expect(rowOf(world)?.attempts).toBe(1)
  })

  it("until a time that has passed goes on in the same attempt or the next, and is on record", async () => {
    const live = Agent.make("past", json).handler(
      Effect.fn(function* (at, run) {
        yield* run.until("then", at)
        return "there"
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("past", 5))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("there")
    expect(await recorded(world)).toEqual([
      "InputApplied",
      "TimerSet then",
      "TimerFired then",
      "Settled",
    ])
  })

  it("of many, the earliest is the only time that a suspended run gives", async () => {
    const live = Agent.make("many", json).handler(
      Effect.fn(function* (count, run) {
        const naps = Array.from({ length: count }, (_, index) =>
          run.sleep(`nap-${index}`, `${count - index} hours`),
        )
        yield* Effect.all(naps, { concurrency: "unbounded" })
        return count
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("many", 5))
    await dispatched(world)
    const start = world.time.now
    for (let index = 1; index <= 5; index++) {
      expect((await go(world.inspect())).report.dueAt).toBe(start + index * hour)
      world.time.now = start + index * hour
      await dispatched(world)
    }
    expect(await outputOf(world, submissionId)).toBe(5)
  })

  it("that new code does not come to any more brings the run back once, not for ever", async () => {
    const world = makeWorld({ agents: [Sleeper] })
    const { submissionId } = await accepted(world.admit("sleeper", 1))
    await dispatched(world)
    const Asks = Agent.make("sleeper", json).handler(
      Effect.fn(function* (_, run) {
        return (yield* run.approval("ok", { summary: "?" })).approved
      }),
    )
    world.crash({ agents: [Asks] })
    world.time.now += hour
    await drain(world)
    expect(rowOf(world)).toMatchObject({ state: "suspended", attempts: 2 })
    expect(openWaits(world)).toEqual(["ok"])
    await taken(outside(world).decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(true)
  })
})

describe("a time that is overdue", () => {
  it("of a wait that new code does not come to keeps no run from being suspended", async () => {
    const before = Agent.make("changed", json).handler(
      Effect.fn(function* (_, run) {
        const asked = run.approval("a", { summary: "?" })
        yield* Effect.all([run.sleep("nap", "1 hour"), asked], { concurrency: 2 })
        return 1
      }),
    )
    const after = Agent.make("changed", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.approval("a", { summary: "?" })
        yield* run.approval("b", { summary: "?" })
        return 2
      }),
    )
    const world = makeWorld({ agents: [before] })
    const { submissionId } = await accepted(world.admit("changed", 1))
    await dispatched(world)
    await taken(outside(world).decide(submissionId, "a", true))
    world.crash({ agents: [after] })
    world.time.now += 2 * hour
    expect(await dispatched(world)).toBe("Suspended")
    expect(openWaits(world)).toEqual(["b"])
  })
})

describe("the rest of an attempt", () => {
  it("has not come while code of its agent has turns to come", async () => {
    const live = { bodies: 0, bodyEnds: new Set(), turns: { count: 1 } }
    let turns = 0
    const macrotask = (task: () => void) => {
      if (++turns === 5) live.turns.count = 0
      setImmediate(task)
    }
    await go(waitForQuiet({ live, thread: { host: { macrotask } } } as never))
    expect(turns).toBeGreaterThanOrEqual(5)
  })
})

describe("a run that waits", () => {
  it("beside a retry is suspended, and goes on at the retry's time", async () => {
    let tries = 0
    const live = Agent.make("retries", json).handler(
      Effect.fn(function* (_, run) {
        const flaky = run.step(
          "flaky",
          Schema.Json,
          Effect.suspend(() => (++tries < 2 ? Effect.fail("no") : Effect.succeed("yes"))),
          { retry: { times: 3, delay: "1 minute" } },
        )
        const asked = run.approval("ok", { summary: "?" })
        return yield* Effect.all([flaky, Effect.map(asked, ({ approved }) => approved)], {
          concurrency: 2,
        })
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("retries", 1))
    expect(await dispatched(world)).toBe("Suspended")
    const { report } = await go(world.inspect())
    expect(report.dueAt).toBeGreaterThan(world.time.now)
    world.time.now = report.dueAt ?? 0
    expect(await dispatched(world)).toBe("Suspended")
    expect(tries).toBe(2)
    expect((await go(world.inspect())).report).not.toHaveProperty("dueAt")
    await taken(outside(world).decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual(["yes", true])
  })

  it("beside a step that is tried again in a moment is not suspended before that", async () => {
    let tries = 0
    const live = Agent.make("moment", json).handler(
      Effect.fn(function* (_, run) {
        const flaky = run.step(
          "flaky",
          Schema.Json,
          Effect.suspend(() => (++tries < 3 ? Effect.fail("no") : Effect.succeed("yes"))),
          { retry: { times: 3, delay: "5 millis", factor: 1 } },
        )
        const asked = run.approval("ok", { summary: "?" })
        yield* Effect.all([flaky, asked], { concurrency: 2 })
        return null
      }),
    )
    const world = makeWorld({ agents: [live] })
    await accepted(world.admit("moment", 1))
    expect(await dispatched(world)).toBe("Suspended")
    expect(await recorded(world)).toContain("StepCompleted flaky")
  })

  it("is not suspended while code of it still goes on between two operations", async () => {
    const live = Agent.make("yields", json).handler(
      Effect.fn(function* (count, run) {
        const busy = Effect.gen(function* () {
          for (let index = 0; index < count; index++) yield* Effect.yieldNow
          const fiber = yield* Effect.forkChild(
            Effect.andThen(Effect.yieldNow, run.step("forked", Schema.Json, Effect.succeed(1))),
          )
          return yield* Fiber.join(fiber)
        })
        const asked = run.approval("ok", { summary: "?" })
        return yield* Effect.all([busy, Effect.map(asked, ({ approved }) => approved)], {
          concurrency: 2,
        })
      }),
    )
    const world = makeWorld({ agents: [live] })
    await accepted(world.admit("yields", 10_000))
    expect(await dispatched(world)).toBe("Suspended")
    expect(await recorded(world)).toContain("StepCompleted forked")
    expect(rowOf(world)?.attempts).toBe(1)
  })

  it("writes nothing new, however often it is entered", async () => {
    const live = Agent.make("often", json).handler(
      Effect.fn(function* (_, run) {
        const asked = run.approval("ok", { summary: "?" })
        const others = run.waitFor("other", Schema.Json)
        yield* Effect.all([asked, others, run.sleep("nap", "1 hour")], { concurrency: 3 })
        return null
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("often", 1))
    await dispatched(world)
    const before = await recorded(world)
    for (let index = 0; index < 1_000; index++) {
      world.storage.sql.run(
        "UPDATE submissions SET state = 'ready', suspension = NULL WHERE sequence = 1",
      )
      world.thread()
      await go(world.process())
    }
    expect(await recorded(world)).toEqual(before)
    expect(openWaits(world)).toEqual(["nap", "ok", "other"])
    expect(rowOf(world)).toMatchObject({
      state: "suspended",
      attempts: 1_001,
      ended: 0,
      vanished: 0,
    })
    await go(world.abort(submissionId))
    expect(openWaits(world)).toEqual([])
  })

  it("yields at its time beside a wait, and goes on where it was", async () => {
    const live = Agent.make("long", json).handler(
      Effect.fn(function* (_, run) {
        const works = Effect.gen(function* () {
          yield* run.step(
            "one",
            Schema.Json,
            Effect.sync(() => (world.time.now += 11 * 60_000)),
          )
          return yield* run.step("two", Schema.Json, Effect.succeed("two"))
        })
        const asked = run.approval("ok", { summary: "?" })
        return yield* Effect.all([Effect.map(asked, ({ approved }) => approved), works], {
          concurrency: 2,
        })
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("long", 1))
    expect(await dispatched(world)).toMatch(/^Yielded/)
    await drain(world)
    expect(rowOf(world)?.state).toBe("suspended")
    await taken(outside(world).decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual([true, "two"])
  })

  it("whose attempt is lost with its object asks nothing twice and misses no decision", async () => {
    const live = Agent.make("lost", json).handler(
      Effect.fn(function* (_, run) {
        return (yield* run.approval("ok", { summary: "?" })).approved
      }),
    )
    const world = makeWorld({ agents: [live], stopAt: "suspend:before" })
    const { submissionId } = await accepted(world.admit("lost", 1))
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    world.crash()
    expect(await taken(outside(world).decide(submissionId, "ok", true))).toMatchObject({
      state: "running",
    })
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(true)
    const records = await recorded(world)
    expect(records.filter((record) => record.startsWith("ApprovalRequested"))).toHaveLength(1)
  })
})
