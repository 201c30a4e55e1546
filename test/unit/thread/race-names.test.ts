/** Names in branches that have lost a race stay used: by whichever attempt, and whatever they had recorded. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"
import { dispatched, openWaits, outputOf, outside, recorded, waiting } from "./waits.ts"

const json = { input: Schema.Json, output: Schema.Json }

const start = async (world: World, agent: string) => {
  const { submissionId } = await accepted(world.admit(agent, 1))
  return { submissionId, ...outside(world) }
}

const failureOf = async (world: World, { submissionId }: Awaited<ReturnType<typeof start>>) => {
  const { settlement } = await go(world.status(submissionId))
  return settlement?.outcome === "failed" ? settlement.failure : settlement
}

const duplicate = {
  tag: "DuplicateName",
  message: expect.stringContaining('the name "taken" is used twice'),
}

type Named = (run: Agent.Run<unknown>, value: number) => Effect.Effect<unknown, unknown>

const Looks = Agent.tool("looks", { execution: "readonly", result: Schema.Json })
const Pays = Agent.tool("pays", { execution: "ordinary", result: Schema.Json })

/** Each operation that records something, under the name `taken`. */
const operations: Record<string, Named> = {
  step: (run, value) => run.step("taken", Schema.Json, Effect.succeed(value)),
  "readonly tool": (run, value) => run.tool("taken", Looks, Effect.succeed(value)),
  "ordinary tool": (run, value) => run.tool("taken", Pays, Effect.succeed(value)),
  value: (run) => run.now("taken"),
  progress: (run, value) => run.progress("taken", value),
  version: (run) => run.version("taken", 1),
  inputs: (run) => run.takeInputs("taken"),
  race: (run, value) => run.race("taken", { only: Effect.succeed(value) }),
  callback: (run) => run.callback("taken"),
  "early signal": (run) => run.waitFor("taken", Schema.Json),
}

/** Something recorded in a branch that then waits; the same name again, once the race was won by a word. */
const raced = (operation: Named, between: (run: Agent.Run<unknown>) => Effect.Effect<unknown>) =>
  Agent.make("raced", json).handler(
    Effect.fn(function* (_, run) {
      const own = run as unknown as Agent.Run<unknown>
      const { branch } = yield* run.race("r", {
        lost: Effect.andThen(operation(own, 1), run.waitFor("never", Schema.Json)),
        asked: run.approval("ask", { summary: "?" }),
      })
      yield* between(own)
      yield* operation(own, 2)
      return branch
    }, Effect.orDie),
    { tools: [Looks, Pays] },
  )

const again = (run: Agent.Run<unknown>) => run.approval("then", { summary: "?" })

describe("a name that a branch has recorded something under, which lost while the run was suspended", () => {
  for (const [kind, operation] of Object.entries(operations))
    it(`is refused: ${kind}`, async () => {
      const world = makeWorld({ agents: [raced(operation, () => Effect.void)] })
      const run = await start(world, "raced")
      if (kind === "early signal") await taken(run.signal(run.submissionId, "taken", 1))
      expect(await dispatched(world)).toBe("Suspended")
      await taken(run.decide(run.submissionId, "ask", true))
      await drain(world)
      expect(await failureOf(world, run)).toMatchObject(duplicate)
    })

  it("is refused in every later attempt, too", async () => {
    const step = operations["step"] as Named
    const world = makeWorld({ agents: [raced(step, again)] })
    const run = await start(world, "raced")
    await dispatched(world)
    await taken(run.decide(run.submissionId, "ask", true))
    expect(await dispatched(world)).toBe("Suspended")
    world.crash()
    await taken(run.decide(run.submissionId, "then", true))
    await drain(world)
    expect(await failureOf(world, run)).toMatchObject(duplicate)
    const { checks } = await operate(world).verify()
    expect(checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
  })

  it("is refused where the object had died, and the word came before the run was entered again", async () => {
    const world = makeWorld({
      agents: [raced(operations["step"] as Named, () => Effect.void)],
      stopAt: "step:after",
    })
    const run = await start(world, "raced")
    void go(world.process()).catch(() => undefined)
    await world.stopped()
    expect(openWaits(world)).toEqual(["ask"])
    world.crash()
    await taken(run.decide(run.submissionId, "ask", true))
    await drain(world)
    expect(await failureOf(world, run)).toMatchObject(duplicate)
  })

  it("is refused of an answered wait, and in a branch of another race", async () => {
    const live = Agent.make("answered", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.race("r", {
          lost: Effect.andThen(
            run.waitFor("taken", Schema.Json),
            run.waitFor("never", Schema.Json),
          ),
          asked: run.approval("ask", { summary: "?" }),
        })
        const second = yield* run.race("second", {
          other: run.waitFor("other", Schema.Json),
          again: run.waitFor("taken", Schema.Json),
        })
        return second.branch
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const run = await start(world, "answered")
    await dispatched(world)
    await taken(run.signal(run.submissionId, "taken", 1))
    expect(await dispatched(world)).toBe("Suspended")
    await taken(run.decide(run.submissionId, "ask", true))
    await drain(world)
    expect(await failureOf(world, run)).toMatchObject(duplicate)
  })

  it("is refused of a race inside the branch that lost", async () => {
    const live = Agent.make("inner", json).handler(
      Effect.fn(function* (_, run) {
        const inner = run.race("inner", {
          a: Effect.andThen(
            run.step("taken", Schema.Json, Effect.succeed(1)),
            run.waitFor("a", Schema.Json),
          ),
          b: run.waitFor("b", Schema.Json),
        })
        yield* run.race("outer", { inner, asked: run.approval("ask", { summary: "?" }) })
        return yield* run.step("taken", Schema.Json, Effect.succeed(2))
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const run = await start(world, "inner")
    await dispatched(world)
    await taken(run.decide(run.submissionId, "ask", true))
    await drain(world)
    expect(await failureOf(world, run)).toMatchObject(duplicate)
  })
})

describe("a name that a branch had taken, and recorded nothing under, when a word came to the run in memory", () => {
  const works = (between: (run: Agent.Run<unknown>) => Effect.Effect<unknown>) =>
    raced(
      (run, value) =>
        run.step("taken", Schema.Json, value === 1 ? Effect.never : Effect.succeed(value)),
      between,
    )

  for (const [where, between] of [
    ["in the same attempt", () => Effect.void],
    ["in a later one", again],
  ] as const)
    it(`is refused ${where}`, async () => {
      const world = makeWorld({ agents: [works(between)] })
      const run = await start(world, "raced")
      const turn = dispatched(world)
      await waiting(world, ["ask"])
      await taken(run.decide(run.submissionId, "ask", true))
      await turn
      if (between === again) {
        expect(openWaits(world)).toEqual(["then"])
        world.crash()
        await taken(run.decide(run.submissionId, "then", true))
      }
      await drain(world)
      expect(await failureOf(world, run)).toMatchObject(duplicate)
      expect(await recorded(world)).not.toContain("StepCompleted taken")
    })
})

describe("names beside those of branches that have lost", () => {
  it("are the winner's own in every attempt, and those of waits whose callback was asked for in a lost branch", async () => {
    const live = Agent.make("beside", json).handler(
      Effect.fn(function* (_, run) {
        const { branch } = yield* run.race("r", {
          lost: Effect.andThen(run.callback("hook"), run.waitFor("never", Schema.Json)),
          wins: Effect.andThen(
            run.step("own", Schema.Json, Effect.succeed(1)),
            run.approval("ask", { summary: "?" }),
          ),
        })
        yield* run.approval("then", { summary: "?" })
        yield* run.waitFor("hook", Schema.Json)
        return branch
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, signal, submissionId } = await start(world, "beside")
    await dispatched(world)
    await taken(decide(submissionId, "ask", true))
    expect(await dispatched(world)).toBe("Suspended")
    await taken(decide(submissionId, "then", true))
    expect(await dispatched(world)).toBe("Suspended")
    await taken(signal(submissionId, "hook", 1))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("wins")
  })

  it("say nothing of how far the run had come: a version behind the race is the current one", async () => {
    const live = Agent.make("versions", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.race("r", {
          lost: Effect.andThen(
            run.step("s", Schema.Json, Effect.succeed(1)),
            run.waitFor("never", Schema.Json),
          ),
          asked: run.approval("ask", { summary: "?" }),
        })
        return yield* run.version("way", 1)
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const { decide, submissionId } = await start(world, "versions")
    await dispatched(world)
    await taken(decide(submissionId, "ask", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(1)
  })
})

describe("the record of a race", () => {
  it("that a branch has lost which asked for a token is one that verifies", async () => {
    const live = Agent.make("asks", json).handler(
      Effect.fn(function* (_, run) {
        const { branch } = yield* run.race("r", {
          lost: Effect.andThen(run.callback("hook"), Effect.never),
          won: Effect.delay(run.now("then"), 1),
        })
        return branch
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const run = await start(world, "asks")
    await drain(world)
    expect(await outputOf(world, run.submissionId)).toBe("won")
    const { checks } = await operate(world).verify()
    expect(checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
  })
})
