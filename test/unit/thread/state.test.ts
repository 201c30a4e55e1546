import { Effect, Option, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, type World } from "./harness.ts"

const Numbers = Schema.Array(Schema.Number)

const Counter = (hang: { now: boolean }, seen: Array<unknown> = []) =>
  Agent.make("counter", { input: Schema.Number, output: Schema.Number, state: Numbers }).handler(
    (input, run) =>
      Effect.gen(function* () {
        seen.push(Option.getOrNull(yield* run.state.read("before")))
        const after = yield* run.state.update("add", (state) => [
          ...Option.getOrElse(state, () => []),
          input,
        ])
        seen.push(after)
        if (hang.now) yield* Effect.never
        return after.length
      }),
  )

const kinds = async (world: World) =>
  (await go(world.history())).records.map(({ kind, name }) => (name ? `${kind} ${name}` : kind))

describe("the thread's state", () => {
  it("is shared by the runs of a thread in their order, and told to readers", async () => {
    const world = makeWorld({ agents: [Counter({ now: false })] })
    for (const input of [1, 2, 3]) await accepted(world.admit("counter", input))
    await drain(world)
    expect(await go(world.asReader.readState(world.address))).toEqual({
      version: 3,
      value: [1, 2, 3],
    })
  })

  it("is changed once, and read as it was, however often the run is entered", async () => {
    const hang = { now: true }
    const seen: Array<unknown> = []
    const world = makeWorld({ agents: [Counter(hang, seen)] })
    await accepted(world.admit("counter", 5))
    await go(world.process({ attentionMillis: 10 }))
    world.crash()
    world.time.now = (await go(world.recover())).report.dueAt ?? 0
    await go(world.process({ attentionMillis: 10 }))
    hang.now = false
    world.crash()
    await drain(world)
    expect(seen).toEqual([null, [5], null, [5], null, [5]])
    expect(await go(world.asReader.readState(world.address))).toEqual({ version: 1, value: [5] })
    expect((await kinds(world)).filter((kind) => kind.startsWith("State"))).toEqual([
      "StateRead before",
      "StateChanged add",
    ])
  })

  it("stays as it was when the change throws", async () => {
    const agent = Agent.make("thrower", {
      input: Schema.Number,
      output: Schema.Number,
      state: Numbers,
    }).handler((_input, run) =>
      Effect.as(
        run.state.update("bad", () => {
          throw new Error("no")
        }),
        1,
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("thrower", 1))
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "Defect" } },
    })
    expect(await go(world.asReader.readState(world.address))).toEqual({ version: 0 })
    expect(await kinds(world)).toEqual(["InputApplied", "Settled"])
  })

  it("holds the run when this code cannot read it, and goes on with code that can", async () => {
    const world = makeWorld({ agents: [Counter({ now: false })] })
    await accepted(world.admit("counter", 1))
    await drain(world)
    await accepted(world.admit("counter", 2))
    const Changed = Agent.make("counter", {
      input: Schema.Number,
      output: Schema.Number,
      state: Schema.String,
    }).handler((_input, run) =>
      Effect.map(
        run.state.update("add", () => ""),
        () => 0,
      ),
    )
    world.crash({ agents: [Changed] })
    expect(await answers(world.process())).toMatchObject([
      { _tag: "BindingUnavailable", name: "add" },
    ])
    world.crash({ agents: [Counter({ now: false })] })
    await drain(world)
    expect(await go(world.asReader.readState(world.address))).toMatchObject({ value: [1, 2] })
  })

  it("settles ResultTooLarge when it would exceed a record", async () => {
    const world = makeWorld({
      agents: [Counter({ now: false })],
      limits: { recordBytes: 8 },
    })
    for (const input of [1_111, 2_222]) await accepted(world.admit("counter", input))
    await drain(world)
    const { records } = await go(world.history())
    expect(
      records.filter(({ kind }) => kind === "Settled").map(({ payload }) => payload),
    ).toMatchObject([{ outcome: "completed" }, { failure: { tag: "ResultTooLarge" } }])
    expect(await go(world.asReader.readState(world.address))).toMatchObject({ value: [1_111] })
  })
})

describe("drawn values", () => {
  it("are drawn once and given again", async () => {
    const hang = { now: true }
    const seen: Array<readonly [number, number]> = []
    const agent = Agent.make("drawer", { input: Schema.Number, output: Schema.Number }).handler(
      (_input, run) =>
        Effect.gen(function* () {
          seen.push([yield* run.now("now"), yield* run.random("random")])
          if (hang.now) yield* Effect.never
          return 1
        }),
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("drawer", 1))
    await go(world.process({ attentionMillis: 10 }))
    hang.now = false
    world.crash()
    await drain(world)
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0]?.[1]).toBeGreaterThanOrEqual(0)
    expect(await kinds(world)).toContain("ValueDrawn random")
  })
})

describe("progress", () => {
  it("is recorded once, and does not count as a result", async () => {
    const agent = Agent.make("busy", { input: Schema.Number, output: Schema.Number }).handler(
      (_input, run) => Effect.andThen(run.progress("alive", { at: 1 }), Effect.interrupt),
    )
    const world = makeWorld({ agents: [agent], limits: { attemptsExhausted: 3 } })
    const { submissionId } = await accepted(world.admit("busy", 1))
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "AttemptsExhausted" } },
      attempts: 3,
    })
    expect((await kinds(world)).filter((kind) => kind === "Progress alive")).toHaveLength(1)
  })

  it("with a name of 129 characters, or none, is a defect", async () => {
    for (const name of ["", "x".repeat(129), "a\0"]) {
      const agent = Agent.make("busy", { input: Schema.Number, output: Schema.Number }).handler(
        (_input, run) => Effect.as(run.progress(name, 1), 1),
      )
      const world = makeWorld({ agents: [agent] })
      const { submissionId } = await accepted(world.admit("busy", 1))
      expect(await tags(world.process())).toEqual(["Settled"])
      expect(await go(world.status(submissionId))).toMatchObject({
        settlement: { failure: { tag: "Defect" } },
      })
    }
  })
})
