/**
 * Agents that hand the thread values whose own code throws, and other mistakes of authors: each settles
 * its own submission at once, in words that hold nothing of a payload, and the thread goes on.
 */
import { Effect, Schema, SchemaGetter } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, tags, until, type WorldOptions } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }
const any = { input: Schema.String, output: Schema.Any, error: Schema.Any, state: Schema.Any }

const Next = Agent.make("next", io).handler(Effect.succeed)

/** Runs it to its end, and shows that the thread is free for the next. */
const settle = async (agent: Agent.AgentLive<never>, options: WorldOptions = {}) => {
  const world = makeWorld({ agents: [agent, Next], ...options })
  const { submissionId } = await accepted(world.admit(agent.agent.name, ""))
  const next = await accepted(world.admit("next", "served"))
  await drain(world)
  expect(world.thread().isRunning()).toBe(false)
  expect(await go(world.status(next.submissionId))).toMatchObject({
    settlement: { output: "served" },
  })
  const { settlement } = await go(world.status(submissionId))
  const { records } = await go(world.history())
  const kinds = records
    .filter((record) => record.submissionId === submissionId)
    .map(({ kind }) => kind)
  return { settlement, kinds, failure: settlement?.failure, world }
}

const thrower = () => ({
  get secret(): never {
    throw new Error("4111-secret")
  },
})

const angry = (): object => {
  const refuse = () => {
    throw new Error("4111-secret")
  }
  return new Proxy(
    {},
    {
      get: refuse,
      has: refuse,
      getPrototypeOf: refuse,
      ownKeys: refuse,
      getOwnPropertyDescriptor: refuse,
    },
  )
}

const cyclic = (): object => {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

/** Values that no row can hold, by what they are. */
const unstorable: ReadonlyArray<readonly [string, () => unknown]> = [
  ["an object with a getter that throws", thrower],
  ["a proxy that throws", angry],
  ["a function", () => () => 1],
  ["NaN", () => Number.NaN],
  ["an object with a cycle", cyclic],
  ["text with NUL", () => "a\0"],
  ["a symbol", () => Symbol("x")],
]

describe("a value that cannot be stored", () => {
  it.each(unstorable)("as a state is a defect that records nothing: %s", async (_what, value) => {
    const { settlement, kinds } = await settle(
      Agent.make("agent", any).handler((_input, run) => run.state.update("s", value)),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(settlement?.failure?.message).toMatch(/state that cannot be stored.*reference/)
    expect(settlement?.failure?.message).not.toContain("secret is")
    expect(kinds).toEqual(["InputApplied", "Settled"])
  })

  it.each(unstorable)("as a step's result is one too: %s", async (_what, value) => {
    const { settlement, kinds } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        run.step("s", Schema.Any, Effect.sync(value)),
      ),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(kinds).toEqual(["InputApplied", "Settled"])
  })

  it.each(unstorable)("as an output settles OutputInvalid: %s", async (_what, value) => {
    const { settlement } = await settle(Agent.make("agent", any).handler(() => Effect.sync(value)))
    expect(settlement).toMatchObject({ failure: { tag: "OutputInvalid" }, attempts: 1 })
    expect(settlement?.failure?.message).not.toContain("4111")
  })

  it.each(unstorable)("as progress or a chunk is a defect: %s", async (_what, value) => {
    for (const use of ["progress", "emit"] as const) {
      const { settlement } = await settle(
        Agent.make("agent", any).handler((_input, run) =>
          use === "emit" ? run.emit(value() as never) : run.progress("p", value() as never),
        ),
      )
      expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    }
  })

  it.each(unstorable)("as a failure settles failed without it: %s", async (_what, value) => {
    const { settlement } = await settle(
      Agent.make("agent", any).handler(() => Effect.suspend(() => Effect.fail(value()))),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Error" }, attempts: 1 })
    expect(settlement?.failure).not.toHaveProperty("error")
  })

  it.each(unstorable)("as a step's failure is told by its tag: %s", async (_what, value) => {
    const { settlement } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        run
          .step(
            "s",
            Schema.Any,
            Effect.suspend(() => Effect.fail(value())),
            { error: Schema.Any },
          )
          .pipe(Effect.catch((error) => Effect.succeed((error as { _tag: string })._tag))),
      ),
    )
    expect(settlement).toMatchObject({ output: "StepFailed" })
  })

  it.each(unstorable)("as what is thrown settles Defect: %s", async (_what, value) => {
    for (const inStep of [true, false]) {
      const { settlement } = await settle(
        Agent.make("agent", any).handler((_input, run) =>
          inStep
            ? run.step(
                "s",
                Schema.Any,
                Effect.suspend(() => Effect.die(value())),
              )
            : Effect.sync(() => {
                throw value()
              }),
        ),
      )
      expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    }
  })
})

/** Encodes to text that it refuses, or throws, to read. */
const oneWay = (decode: () => string) =>
  Schema.String.pipe(
    Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform(decode),
      encode: SchemaGetter.transform((text: string) => `encoded ${text}`),
    }),
  )
const Refusing = oneWay(() => "no").check(Schema.makeFilter((text) => text !== "no"))
const Throwing = oneWay(() => {
  throw new Error("4111-secret")
})

describe("a value that its own schema does not read back", () => {
  it.each([Refusing, Throwing])("is the step's defect, and nothing is recorded", async (schema) => {
    const { settlement, kinds } = await settle(
      Agent.make("agent", any).handler((_input, run) => run.step("s", schema, Effect.succeed("x"))),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(settlement?.failure?.message).toMatch(/does not read it back/)
    expect(kinds).toEqual(["InputApplied", "Settled"])
  })

  it.each([Refusing, Throwing])("is the change's defect, and no state is kept", async (schema) => {
    const { settlement, kinds, world } = await settle(
      Agent.make("agent", { ...any, state: schema }).handler((_input, run) =>
        run.state.update("s", () => "x"),
      ),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(kinds).toEqual(["InputApplied", "Settled"])
    expect(await go(world.asReader.readState(world.address))).toEqual({ version: 0 })
  })

  it("is left out of a step's failure, which is an outcome all the same", async () => {
    const { settlement, kinds } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        run
          .step("s", Schema.Any, Effect.fail("x"), { error: Refusing })
          .pipe(Effect.catch((error) => Effect.succeed((error as { _tag: string })._tag))),
      ),
    )
    expect(settlement).toMatchObject({ output: "StepFailed" })
    expect(kinds).toEqual(["InputApplied", "StepFailed", "Settled"])
  })
})

describe("a schema that breaks", () => {
  it("by throwing settles the run, without what it threw", async () => {
    const input = await settle(
      Agent.make("agent", { ...any, input: Throwing }).handler(Effect.succeed),
    )
    expect(input.failure).toEqual({ tag: "InputInvalid", message: "the value cannot be read" })
  })

  it("by being none is the step's defect", async () => {
    const { settlement, failure } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        run.step("s", "no schema" as never, Effect.succeed("x")),
      ),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(failure?.message).toMatch(/the schema cannot be used/)
  })

  it("by quoting the value in its filter is told by what was expected", async () => {
    const quoting = Schema.String.check(
      Schema.makeFilter((value) => `value ${value} is bad`, { expected: "a masked number" }),
    )
    const { failure } = await settle(
      Agent.make("agent", { ...io, output: quoting }).handler(() => Effect.succeed("4111-secret")),
    )
    expect(failure?.tag).toBe("OutputInvalid")
    expect(failure?.message).toMatch(/^Expected/)
    expect(failure?.message).not.toContain("4111")
  })
})

const wrongHandlers: ReadonlyArray<readonly [string, () => unknown]> = [
  ["an async function", async () => "x"],
  ["an async function that throws", () => Promise.reject(new Error("4111-secret"))],
  ["nothing", () => undefined],
  ["null", () => null],
  ["a number", () => 5],
  [
    "a generator",
    function* () {
      yield 1
    },
  ],
  ["a proxy that throws", angry],
  ["an object without a prototype", () => Object.create(null)],
]

describe("an author's mistake", () => {
  it.each(wrongHandlers)(
    "is told: a handler that returns no effect, but %s",
    async (_what, handle) => {
      const { settlement } = await settle(Agent.make("agent", any).handler(handle as never))
      expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
      expect(settlement?.failure?.message).toMatch(/^the handler must return an Effect \(reference/)
    },
  )

  it.each(wrongHandlers)("is told: a step whose body is no effect, but %s", async (_what, body) => {
    const { settlement, kinds } = await settle(
      Agent.make("agent", any).handler((_input, run) => run.step("s", Schema.Any, body() as never)),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
    expect(settlement?.failure?.message).toMatch(/step s: the body must be an Effect/)
    expect(kinds).toEqual(["InputApplied", "Settled"])
  })

  it("deep inside the handler ends the attempt: a value that is no effect, nor anything", async () => {
    const { settlement } = await settle(
      Agent.make("agent", any).handler(() => Effect.flatMap(Effect.void, () => angry() as never)),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
  })

  it("is tried again as the agent declares, and then settles", async () => {
    const { settlement } = await settle(
      Agent.make("agent", { ...any, retry: { times: 2, delay: 1 } }).handler((() => 5) as never),
    )
    expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 3 })
  })

  it("in a finalizer that its ceiling interrupts does not keep the attempt either", async () => {
    const world = makeWorld({
      agents: [
        Agent.make("agent", any).handler(() =>
          Effect.andThen(
            Effect.addFinalizer(() => Effect.flatMap(Effect.void, () => angry() as never)),
            Effect.never,
          ),
        ),
      ],
      limits: { attemptCeilingMillis: 2, attemptsExhausted: 1 },
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "AttemptsExhausted" } },
    })
  })

  it("in a finalizer does not keep the attempt", async () => {
    const { settlement } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        Effect.andThen(
          Effect.addFinalizer(() => Effect.flatMap(Effect.void, () => angry() as never)),
          run.progress("p", "x".repeat(100)),
        ),
      ),
      { limits: { recordBytes: 20 } },
    )
    expect(settlement).toMatchObject({ failure: { tag: "ResultTooLarge" } })
  })
})

describe("a change of the state", () => {
  it.each(["progress", "state", "step"] as const)(
    "that uses its own run (%s) is a defect, and neither is recorded",
    async (use) => {
      const { settlement, kinds, failure } = await settle(
        Agent.make("agent", any).handler((_input, run) =>
          run.state.update("s", () => {
            const inner =
              use === "progress"
                ? run.progress("p", 1)
                : use === "state"
                  ? run.state.update("t", () => 1)
                  : run.step("t", Schema.Any, Effect.succeed(1))
            Effect.runFork(Effect.asVoid(inner as Effect.Effect<unknown>))
            return 1
          }),
        ),
      )
      expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
      expect(failure?.message).toMatch(/must not use its run/)
      expect(kinds).toEqual(["InputApplied", "Settled"])
    },
  )

  it("that meets another branch's is computed again on what that one left", async () => {
    const seen: Array<unknown> = []
    const agent = Agent.make("agent", any).handler((_input, run) => {
      const add = (name: string) =>
        run.state.update(name, (state) => {
          const before = state._tag === "Some" ? state.value : 0
          seen.push(before)
          return before + 1
        })
      return Effect.map(
        Effect.all([add("one"), add("two")], { concurrency: "unbounded" }),
        (both) => Math.max(...both),
      )
    })
    // Both have computed when the first block is let through.
    const world = makeWorld({ agents: [agent], holdAt: "state:before" })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const reply = go(world.process())
    await until(
      "both changes are computed",
      () => seen,
      ({ length }) => length === 2,
    )
    world.release()
    await reply
    expect(await go(world.status(submissionId))).toMatchObject({ settlement: { output: 2 } })
    expect(seen).toEqual([0, 0, 1])
  })

  it("that records nothing is no progress, and the run rests between its attempts", async () => {
    const { settlement, world } = await settle(
      Agent.make("agent", any).handler((_input, run) =>
        Effect.catchCause(run.state.update("s", thrower), () => Effect.interrupt),
      ),
      { limits: { attemptsExhausted: 7 } },
    )
    expect(settlement).toMatchObject({ failure: { tag: "AttemptsExhausted" }, attempts: 7 })
    // 100, 200, 400, 800, 1600, 3200
    expect(world.time.now).toBeGreaterThanOrEqual(1_800_000_000_000 + 6_300)
  })
})

describe("a failure of agent code", () => {
  it.each(["AttemptsLost", "Defect", "Superseded"])(
    "cannot be taken for the system's own (%s)",
    async (_tag) => {
      const { failure } = await settle(
        Agent.make("agent", any).handler(() => Effect.fail({ _tag, message: "mine" })),
      )
      expect(failure).toMatchObject({ tag: `Agent.${_tag}`, message: "mine", error: { _tag } })
    },
  )

  it("whose key holds a control character is told without it", async () => {
    const { failure } = await settle(
      Agent.make("agent", any).handler(() => Effect.succeed({ "a\0b\u001b": 1 })),
    )
    expect(failure?.message).toBe("a key contains NUL at a\ufffdb\ufffd")
  })
})
