/** Races: the outcome that came first is the outcome of all, once, and the others are withdrawn. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, expectTypeOf, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, until, type World } from "./harness.ts"
import { refused, taken } from "./operators.ts"
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

const json = { input: Schema.Json, output: Schema.Json }

const start = async (world: World, agent: string) => {
  const { submissionId } = await accepted(world.admit(agent, 1))
  return { submissionId, ...outside(world) }
}

const Either = Agent.make("either", json).handler(
  Effect.fn(function* (_, run) {
    const first = yield* run.race("answer", {
      person: run.approval("ask", { summary: "?" }),
      hook: run.waitFor("hook", Schema.Number),
      late: Effect.as(run.sleep("late", "1 hour"), "too late" as const),
    })
    yield* run.approval("then", { summary: "Then?" })
    return first.branch === "person" ? { approved: first.value.approved } : { ...first }
  }),
)

describe("a race of waits", () => {
  it("is decided in the block of the answer; nothing that has lost is answered any more", async () => {
    const world = makeWorld({ agents: [Either] })
    const { decide, signal, submissionId } = await start(world, "either")
    expect(await dispatched(world)).toBe("Suspended")
    expect(openWaits(world)).toEqual(["ask", "hook", "late"])
    await taken(decide(submissionId, "ask", true))
    expect(openWaits(world)).toEqual([])
    expect(await recorded(world)).toEqual([
      "InputApplied",
      "ApprovalRequested ask",
      "SignalAwaited hook",
      "TimerSet late",
      "ApprovalDecided ask",
      "WaitWithdrawn answer",
      "WaitWithdrawn hook",
      "WaitWithdrawn late",
    ])
    expect(await refused(signal(submissionId, "hook", 5))).toMatchObject({ _tag: "NotAwaiting" })
    expect(await dispatched(world)).toBe("Suspended")
    expect((await go(world.inspect())).report).not.toHaveProperty("dueAt")
    await taken(decide(submissionId, "then", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({ approved: true })
  })

  it("reads each child that has lost once in the block of the answer, however many have", async () => {
    const readFor = async (children: number) => {
      const names = Array.from({ length: children }, (_, index) => `kid-${index}`)
      const live = Agent.make("brood", json).handler((_, run) => {
        const kid = (name: string) => Effect.orDie(run.child(name, Either.agent, null))
        const kids = Effect.forEach(names, kid, { concurrency: "unbounded" })
        const race = run.race("r", { kids, ask: run.approval("ask", { summary: "?" }) })
        return Effect.map(race, ({ branch }) => branch)
      })
      const world = makeWorld({ agents: [live] })
      const { decide, submissionId } = await start(world, "brood")
      await dispatched(world)
      await waiting(world, ["ask", ...names])
      const before = world.storage.counts().read
      await taken(decide(submissionId, "ask", true))
      expect(openWaits(world)).toEqual([])
      return (world.storage.counts().read - before) / children
    }
    expect(await readFor(64)).toBeLessThanOrEqual(await readFor(16))
  })

  it("is won by a branch that goes on after its wait, too, and its time gives the run none any more", async () => {
    const world = makeWorld({ agents: [Either] })
    const { decide, submissionId } = await start(world, "either")
    await dispatched(world)
    world.time.now += hour
    expect(await dispatched(world)).toBe("Suspended")
    expect(await refused(decide(submissionId, "ask", true))).toMatchObject({ _tag: "NotAwaiting" })
    expect(openWaits(world)).toEqual(["then"])
    await taken(decide(submissionId, "then", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({ branch: "late", value: "too late" })
  })

  it("has the one winner for several times that are due at once: the earliest", async () => {
    const live = Agent.make("times", json).handler(
      Effect.fn(function* (_, run) {
        const { branch } = yield* run.race("r", {
          second: run.sleep("b", "2 hours"),
          first: run.sleep("a", "1 hour"),
        })
        return branch
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await start(world, "times")
    await dispatched(world)
    world.time.now += 3 * hour
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("first")
    expect((await recorded(world)).filter((record) => record.startsWith("TimerFired"))).toEqual([
      "TimerFired a",
    ])
  })

  it("is won by a typed failure", async () => {
    const live = Agent.make("fails", json).handler(
      Effect.fn(function* (_, run) {
        return yield* Effect.match(
          run.race("r", {
            value: run.waitFor("v", Schema.Number, { timeout: "1 hour" }),
            asked: run.approval("ask", { summary: "?" }),
          }),
          { onSuccess: () => "value", onFailure: ({ _tag }) => _tag },
        )
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await start(world, "fails")
    await dispatched(world)
    world.time.now += hour
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("WaitTimedOut")
  })
})

/** Two branches that go on after their waits, and say who has run. */
const Paths = Agent.make("paths", json).handler(
  Effect.fn(function* (_, run) {
    const path = (name: string) =>
      Effect.andThen(
        run.waitFor(`${name}-wait`, Schema.Json),
        run.step(`${name}-step`, Schema.Json, Effect.succeed(name)),
      )
    const { branch } = yield* run.race("r", { a: path("a"), b: path("b") })
    yield* run.approval("then", { summary: "Then?" })
    return branch
  }),
)

describe("a race of branches with several operations", () => {
  it("is won by the outcome that was recorded first, whatever the order of the branches", async () => {
    for (const [first, second] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const world = makeWorld({ agents: [Paths] })
      const { decide, signal, submissionId } = await start(world, "paths")
      await dispatched(world)
      await taken(signal(submissionId, `${first}-wait`, 1))
      await dispatched(world)
      expect(await recorded(world)).toContain("WaitWithdrawn r")
      expect(await refused(signal(submissionId, `${second}-wait`, 1))).toMatchObject({
        _tag: "NotAwaiting",
      })
      await taken(decide(submissionId, "then", true))
      await drain(world)
      expect(await outputOf(world, submissionId)).toBe(first)
    }
  })

  it("that crashes before it is decided is won by the lowest last record on re-entry", async () => {
    const hold = Deferred.makeUnsafe<void>()
    const ends = (value: string, after: Effect.Effect<unknown> = Effect.void) =>
      Effect.as(after, value)
    const steps = Agent.make("steps", json).handler(
      Effect.fn(function* (_, run) {
        const slow = Effect.andThen(
          run.step("slow-1", Schema.Json, ends("1")),
          run.step("slow-2", Schema.Json, ends("2", Deferred.await(hold))),
        )
        const quick = Effect.andThen(
          run.step("quick-1", Schema.Json, ends("1")),
          Effect.tap(run.step("quick-2", Schema.Json, ends("2")), () =>
            Effect.sync(() => Deferred.doneUnsafe(hold, Effect.void)),
          ),
        )
        const { branch } = yield* run.race("r", { slow, quick })
        return branch
      }),
    )
    // Its object dies in the block that would record the winner.
    const world = makeWorld({ agents: [steps], stopAt: "wait:before" })
    const { submissionId } = await start(world, "steps")
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    const before = await recorded(world)
    expect(before.indexOf("StepCompleted slow-2")).toBeGreaterThan(
      before.indexOf("StepCompleted quick-2"),
    )
    world.crash()
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("quick")
  })

  it("interrupts the steps that lose, unrecorded, and does not wait for what they waited for", async () => {
    let interrupted = false
    const live = Agent.make("work", json).handler(
      Effect.fn(function* (_, run) {
        const works = run.step(
          "never",
          Schema.Json,
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (interrupted = true))),
        )
        const { branch } = yield* run.race("r", {
          works,
          asked: run.approval("ask", { summary: "?" }),
        })
        return branch
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, submissionId } = await start(world, "work")
    const turn = dispatched(world)
    await waiting(world, ["ask"])
    await taken(decide(submissionId, "ask", true))
    expect(await turn).toBe("Settled")
    expect(interrupted).toBe(true)
    expect(await outputOf(world, submissionId)).toBe("asked")
    expect(await recorded(world)).not.toContain("StepCompleted never")
  })

  it("asks for nothing in a branch that has lost and is not interrupted yet", async () => {
    let isDecided = () => false
    const decided = async () => {
      while (!isDecided()) await new Promise((resolve) => setImmediate(resolve))
      return 1
    }
    const live = Agent.make("late", json).handler(
      Effect.fn(function* (_, run) {
        const works = Effect.andThen(
          run.step("work", Schema.Json, Effect.promise(decided)),
          run.approval("more", { summary: "?" }),
        )
        const { branch } = yield* run.race("r", {
          works,
          asked: run.approval("ask", { summary: "?" }),
        })
        return branch
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, submissionId } = await start(world, "late")
    const turn = dispatched(world)
    await waiting(world, ["ask"])
    isDecided = () => openWaits(world).length === 0
    await taken(decide(submissionId, "ask", true))
    await turn
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("asked")
    expect(await recorded(world)).not.toContain("ApprovalRequested more")
  })

  it("is not suspended between the end of a branch and its decision", async () => {
    const live = Agent.make("beside", json).handler(
      Effect.fn(function* (_, run) {
        const raced = Effect.map(
          run.race("r", {
            step: run.step("s", Schema.Json, Effect.succeed(1)),
            asked: run.approval("ask", { summary: "?" }),
          }),
          ({ branch }) => branch,
        )
        const other = run.approval("other", { summary: "?" })
        const [branch] = yield* Effect.all([raced, other], { concurrency: 2 })
        return branch
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, submissionId } = await start(world, "beside")
    expect(await dispatched(world)).toBe("Suspended")
    expect(openWaits(world)).toEqual(["other"])
    expect(await recorded(world)).toContain("WaitWithdrawn r")
    await taken(decide(submissionId, "other", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("step")
  })

  it("withdraws what races inside the branches that lose wait for", async () => {
    const live = Agent.make("nested", json).handler(
      Effect.fn(function* (_, run) {
        const inner = run.race("inner", {
          x: run.approval("x", { summary: "?" }),
          y: Effect.andThen(run.waitFor("y", Schema.Json), run.approval("z", { summary: "?" })),
        })
        const outer = yield* run.race("outer", { inner, stop: run.waitFor("stop", Schema.Json) })
        yield* run.sleep("nap", "1 hour")
        return outer.branch === "inner" ? outer.value.branch : "stop"
      }),
    )
    const stopped = makeWorld({ agents: [live] })
    const one = await start(stopped, "nested")
    await dispatched(stopped)
    await taken(one.signal(one.submissionId, "stop", null))
    expect(openWaits(stopped)).toEqual([])
    await drain(stopped)
    expect(await outputOf(stopped, one.submissionId)).toBe("stop")

    const decided = makeWorld({ agents: [live] })
    const two = await start(decided, "nested")
    await dispatched(decided)
    await taken(two.decide(two.submissionId, "x", true))
    expect(openWaits(decided)).toEqual(["stop"])
    await dispatched(decided)
    expect(openWaits(decided)).toEqual(["nap"])
    await drain(decided)
    expect(await outputOf(decided, two.submissionId)).toBe("x")
  })

  it("keeps the names that its losing branches have used", async () => {
    const live = Agent.make("names", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.race("r", {
          quick: run.step("quick", Schema.Json, Effect.succeed(1)),
          slow: run.step("taken", Schema.Json, Effect.never),
        })
        yield* run.approval("then", { summary: "?" })
        return yield* run.step("taken", Schema.Json, Effect.succeed(2))
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, submissionId } = await start(world, "names")
    await dispatched(world)
    await taken(decide(submissionId, "then", true))
    await drain(world)
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      failure: { tag: "DuplicateName" },
    })
  })

  it("ends with the defect of a branch, and settles its run as failed", async () => {
    const live = Agent.make("dies", json).handler(
      Effect.fn(function* (_, run) {
        const { branch } = yield* run.race("r", {
          dies: Effect.die(new Error("boom")),
          asked: run.approval("ask", { summary: "?" }),
        })
        return branch
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await start(world, "dies")
    await drain(world)
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      failure: { tag: "Defect" },
    })
    expect(rowOf(world)?.state).toBe("settled")
    expect(openWaits(world)).toEqual([])
  })

  it("without a branch has no outcome: the run fails at once, by name, and is not tried again", async () => {
    let entered = 0
    const live = Agent.make("none", { ...json, retry: { times: 3 } }).handler(
      Effect.fn(function* (_, run) {
        entered += 1
        const branches: Record<string, Effect.Effect<number>> = {}
        return yield* Effect.map(run.race("r", branches), ({ value }) => value)
      }),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await start(world, "none")
    await drain(world)
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      failure: { tag: "EmptyRace", message: 'the race "r" has no branch' },
    })
    expect(entered).toBe(1)
  })

  it("with a branch that is no effect is its author's mistake", async () => {
    for (const branches of [{ a: 1 }, undefined]) {
      const live = Agent.make("wrong", json).handler(
        Effect.fn(function* (_, run) {
          yield* run.race("r", branches as never)
          return 1
        }),
      )
      const world = makeWorld({ agents: [live] })
      const { submissionId } = await start(world, "wrong")
      await drain(world)
      expect((await go(world.status(submissionId))).settlement).toMatchObject({
        failure: { tag: "Defect", message: expect.stringContaining("race r:") },
      })
    }
  })
})

describe("the type of a race", () => {
  it("is that of its branches, each with its own value and failures", () => {
    Agent.make("types", json).handler((_, run) => {
      const raced = run.race("r", {
        n: Effect.succeed(1),
        s: Effect.fail("no" as const),
        a: run.approval("a", { summary: "?" }),
      })
      expectTypeOf(raced).toEqualTypeOf<
        Effect.Effect<
          | { readonly branch: "n"; readonly value: number }
          | { readonly branch: "s"; readonly value: never }
          | { readonly branch: "a"; readonly value: Agent.ApprovalDecision },
          "no"
        >
      >()
      return Effect.succeed(1)
    })
  })

  it("has at least one branch", () => {
    Agent.make("types", json).handler((_, run) => {
      // @ts-expect-error it would never end
      const none = run.race("r", {})
      expectTypeOf(none).not.toBeAny()
      const dynamic: Record<string, Effect.Effect<number>> = {}
      expectTypeOf(run.race("r", dynamic)).toEqualTypeOf<
        Effect.Effect<{ readonly branch: string; readonly value: number }>
      >()
      return Effect.succeed(1)
    })
  })
})

/** The code of one agent before and after a change; `version` stands where it changed. */
const evolving = {
  before: Agent.make("evolving", json).handler(
    Effect.fn(function* (_, run) {
      yield* run.step("load", Schema.Json, Effect.succeed(1))
      yield* run.step("old", Schema.Json, Effect.succeed("old"))
      yield* run.approval("ok", { summary: "?" })
      return "old"
    }),
  ),
  after: (current: number, minimum?: number) =>
    Agent.make("evolving", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.step("load", Schema.Json, Effect.succeed(1))
        const version = yield* run.version("way", current, minimum === undefined ? {} : { minimum })
        if (version === 0) yield* run.step("old", Schema.Json, Effect.succeed("old"))
        yield* run.approval("ok", { summary: "?" })
        return version
      }),
    ),
}

describe("a version", () => {
  it("is the current one for a run that comes to it first, and stays so", async () => {
    const world = makeWorld({ agents: [evolving.after(1)] })
    const { decide, submissionId } = await start(world, "evolving")
    await dispatched(world)
    world.crash({ agents: [evolving.after(2)] })
    await taken(decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(1)
  })

  it("is 0 for a run that had gone on before there was one", async () => {
    const world = makeWorld({ agents: [evolving.before] })
    const { decide, submissionId } = await start(world, "evolving")
    await dispatched(world)
    world.crash({ agents: [evolving.after(1)] })
    await taken(decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(0)
  })

  it.each(["was answered", "had its value early"])(
    "is 0 for a run that had come to a wait without a timeout, which %s",
    async (how) => {
      const make = (versioned: boolean) =>
        Agent.make("waits", json).handler(
          Effect.fn(function* (_, run) {
            const version = versioned ? yield* run.version("way", 1) : 0
            if (version > 0) yield* run.step("new", Schema.Json, Effect.succeed(1))
            yield* run.waitFor("hook", Schema.Json)
            if (!versioned) yield* run.approval("then", { summary: "?" })
            return version
          }, Effect.orDie),
        )
      const world = makeWorld({ agents: [make(false)] })
      const { decide, signal, submissionId } = await start(world, "waits")
      if (how === "had its value early") await taken(signal(submissionId, "hook", 1))
      await dispatched(world)
      if (how === "was answered") await taken(signal(submissionId, "hook", 1))
      world.crash({ agents: [make(true)] })
      if (how === "had its value early") await taken(decide(submissionId, "then", true))
      await drain(world)
      expect(await outputOf(world, submissionId)).toBe(0)
    },
  )

  it("is the current one for a run that had begun, and had not come so far", async () => {
    const world = makeWorld({ agents: [evolving.before], stopAt: "step:after" })
    const { decide, submissionId } = await start(world, "evolving")
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    world.crash({ agents: [evolving.after(1)] })
    await taken(outside(world).signal(submissionId, "later", 1))
    await drain(world)
    await taken(decide(submissionId, "ok", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(1)
  })

  it("that the code has no more, or not yet, holds the run until a deploy brings it", async () => {
    const world = makeWorld({ agents: [evolving.before] })
    const { decide, submissionId } = await start(world, "evolving")
    await dispatched(world)
    await taken(decide(submissionId, "ok", true))
    world.crash({ agents: [evolving.after(2, 1)] })
    expect(await dispatched(world)).toBe("BindingUnavailable")
    world.crash({ agents: [evolving.after(2)] })
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(0)
  })

  it("is kept in a run whose object died, and after a callback was given away", async () => {
    const live = Agent.make("token", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.callback("hook")
        const version = yield* run.version("way", 3)
        yield* run.waitFor("hook", Schema.Json)
        return version
      }),
    )
    const world = makeWorld({ agents: [live], stopAt: "wait:after" })
    const { signal, submissionId } = await start(world, "token")
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    world.crash()
    await taken(signal(submissionId, "hook", 1))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(3)
    await until(
      "it has settled",
      () => rowOf(world),
      (row) => row?.state === "settled",
    )
  })
})
