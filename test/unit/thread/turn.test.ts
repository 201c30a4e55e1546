import { Context, Deferred, Effect, Layer, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, until } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }

/** An agent whose runs wait for their gate, by input. */
const makeGated = () => {
  const gates = new Map<string, Deferred.Deferred<void>>()
  const started: Array<string> = []
  const gate = (name: string) => {
    const known = gates.get(name) ?? Deferred.makeUnsafe<void>()
    gates.set(name, known)
    return known
  }
  return {
    started,
    open: (name: string) => Deferred.doneUnsafe(gate(name), Effect.void),
    agent: Agent.make("gated", io).handler((input) =>
      Effect.as(
        Effect.andThen(
          Effect.sync(() => started.push(input)),
          input.startsWith("fast") ? Effect.void : Deferred.await(gate(input)),
        ),
        input,
      ),
    ),
  }
}

describe("a turn", () => {
  it("answers Running after the attention time; the attempt goes on, and its end is pushed", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const reply = await go(world.process({ attentionMillis: 5 }))
    expect(reply.result).toEqual({ _tag: "Success", value: [{ _tag: "Running", submissionId }] })
    expect(reply.report).toMatchObject({ dueAt: 0, head: { state: "running", attempted: true } })
    expect(world.reports).toEqual([])
    gated.open("a")
    await until(
      "the report",
      () => world.reports,
      ({ length }) => length === 1,
    )
    expect(world.reports[0]).toMatchObject({ nonterminal: 0, tailSequence: 2 })
    expect(world.reports[0]?.head).toBeUndefined()
    expect(world.reports[0]?.revision).toBeGreaterThan(reply.report.revision)
  })

  it("pushes nothing when its call has seen the end", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent], holdAt: "none" })
    await accepted(world.admit("gated", "fast"))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(world.reached).not.toContain("report:before")
  })

  it("settles all the same when the report cannot reach the owner", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent], ownerFails: true })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    await go(world.process({ attentionMillis: 5 }))
    gated.open("a")
    await until(
      "the attempt has ended",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
  })

  it("joins the live attempt when it is a second one, and both see the same end", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    await go(world.process({ attentionMillis: 5 }))
    const both = Promise.all([answers(world.process()), answers(world.process())])
    await until(
      "the run has started",
      () => gated.started,
      ({ length }) => length === 1,
    )
    gated.open("a")
    const settled = { _tag: "Settled", submissionId, outcome: "completed" }
    expect(await both).toEqual([[settled], [settled]])
    expect(gated.started).toEqual(["a"])
  })

  it("leaves the rest of the thread at work while a handler hangs", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    const first = await accepted(world.admit("gated", "a"))
    await go(world.process({ attentionMillis: 5 }))
    await accepted(world.admit("gated", "fast b"))
    expect((await go(world.inspect())).report).toMatchObject({ nonterminal: 2 })
    expect(await go(world.status(first.submissionId))).toMatchObject({ state: "running" })
    expect((await go(world.history())).records).toHaveLength(1)
    gated.open("a")
    await drain(world)
    expect(gated.started).toEqual(["a", "fast b"])
  })

  it("does not claim the next head for a call that has left", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    await accepted(world.admit("gated", "a"))
    await accepted(world.admit("gated", "fast b"))
    await go(world.process({ attentionMillis: 5 }))
    gated.open("a")
    await until(
      "the report",
      () => world.reports,
      ({ length }) => length === 1,
    )
    expect(world.reports[0]).toMatchObject({ nonterminal: 1, dueAt: 0, head: { sequence: 2 } })
    expect(gated.started).toEqual(["a"])
  })

  it("ends its slice with its time or its number of heads", async () => {
    const world = makeWorld({
      agents: [
        Agent.make("slow", io).handler((input) =>
          Effect.sync(() => {
            world.time.now += 40
            return input
          }),
        ),
      ],
    })
    for (let index = 0; index < 6; index++) await accepted(world.admit("slow", ""))
    expect(await tags(world.process({ sliceMillis: 100 }))).toHaveLength(3)
    expect(await tags(world.process({ maxHeads: 1 }))).toHaveLength(1)
    expect(await tags(world.process({ sliceMillis: 1_000 }))).toHaveLength(2)
  })

  it("claims nothing at or after its yield time", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    await accepted(world.admit("gated", "fast"))
    expect(await answers(world.process({ yieldAt: world.time.now }))).toEqual([])
    expect(gated.started).toEqual([])
    expect(await tags(world.process({ yieldAt: world.time.now + 1 }))).toEqual(["Settled"])
  })

  it("takes the owner's clock as the least of its own", async () => {
    const world = makeWorld({ agents: [makeGated().agent] })
    const at = world.time.now + 5_000
    await accepted(world.admit("gated", "fast", { notBefore: at }))
    const turn = world.asOwner.processHead({
      ...world.address,
      now: at,
      yieldAt: at + 1_000,
      maxHeads: 1,
      sliceMillis: 100,
      attentionMillis: 1_000,
      suspect: false,
    })
    expect(await tags(turn)).toEqual(["Settled"])
    const { records } = await go(world.history())
    expect(records.every(({ recordedAt }) => recordedAt >= at)).toBe(true)
    world.crash()
    expect(await accepted(world.admit("gated", "fast"))).toMatchObject({ acceptedAt: at })
  })

  it("answers BindingUnavailable for an agent that is gone, and charges nothing", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    const { submissionId } = await accepted(world.admit("gated", "fast"))
    world.crash({ agents: [] })
    const before = world.storage.dump()
    expect(await answers(world.process())).toEqual([
      { _tag: "BindingUnavailable", submissionId, agent: "gated" },
    ])
    expect(world.storage.dump()).toBe(before)
    world.crash({ agents: [gated.agent] })
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("answers Paused for a paused thread, whose report keeps what is due", async () => {
    const world = makeWorld({ agents: [makeGated().agent] })
    await accepted(world.admit("gated", "fast"))
    world.storage.sql.run("UPDATE meta SET paused = 1")
    world.crash()
    const reply = await go(world.process())
    expect(reply.result).toEqual({ _tag: "Success", value: [{ _tag: "Paused" }] })
    expect(reply.report).toMatchObject({ paused: true, dueAt: 0 })
  })

  it("gives agents their services, and builds them afresh after a failure", async () => {
    class Prices extends Context.Service<Prices, { readonly of: number }>()("test/Prices") {}
    let builds = 0
    const services = Layer.effect(
      Prices,
      Effect.suspend(() => {
        builds += 1
        return builds === 1 ? Effect.die(new Error("no connection")) : Effect.succeed({ of: 7 })
      }),
    )
    const agent = Agent.make("priced", { ...io, output: Schema.Number }).handler(() =>
      Effect.map(Prices, ({ of }) => of),
    )
    const world = makeWorld({ agents: [agent as Agent.AgentLive<never>], services })
    const { submissionId } = await accepted(world.admit("priced", ""))
    expect(await go(Effect.flip(world.process()))).toMatchObject({
      _tag: "Unavailable",
      retryable: true,
    })
    expect(await go(world.status(submissionId))).toMatchObject({ state: "ready", attempts: 0 })
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await go(world.status(submissionId))).toMatchObject({ settlement: { output: 7 } })
    expect(builds).toBe(2)
  })
})

class Refused extends Schema.TaggedError<Refused>()("Refused", { limit: Schema.Number }) {}

describe("a handler that", () => {
  const settle = async (
    agent: Agent.AgentLive<never>,
    input: Agent.Json = "",
    limits: Parameters<typeof makeWorld>[0] = {},
  ) => {
    const world = makeWorld({ agents: [agent], ...limits })
    const { submissionId } = await accepted(world.admit(agent.agent.name, input))
    await drain(world)
    const { settlement } = await go(world.status(submissionId))
    return { settlement, world }
  }

  it("fails with its declared error settles failed, with its tag and the encoded error", async () => {
    const { settlement } = await settle(
      Agent.make("agent", { ...io, error: Refused }).handler(() =>
        Effect.fail(new Refused({ limit: 5 })),
      ),
    )
    expect(settlement).toMatchObject({
      outcome: "failed",
      failure: { tag: "Refused", error: { _tag: "Refused", limit: 5 } },
    })
    expect(settlement).not.toHaveProperty("output")
  })

  it("throws settles Defect with a reference, and nothing of what was thrown", async () => {
    const { settlement, world } = await settle(
      Agent.make("agent", io).handler(() => {
        throw new Error("secret of the database")
      }),
    )
    expect(settlement?.failure).toMatchObject({ tag: "Defect" })
    expect(settlement?.failure?.message).toMatch(/reference [0-9a-f-]{36}/)
    expect(world.storage.dump()).not.toContain("secret")
  })

  it("dies inside a step records nothing of it and settles Defect", async () => {
    const { settlement, world } = await settle(
      Agent.make("agent", io).handler((_input, run) =>
        run.step("bad", Schema.String, Effect.die("oops")),
      ),
    )
    expect(settlement?.failure).toMatchObject({ tag: "Defect" })
    expect((await go(world.history())).records).toHaveLength(2)
  })

  it("returns what breaks its output schema settles OutputInvalid", async () => {
    const { settlement } = await settle(
      Agent.make("agent", io).handler(() => Effect.succeed(5 as never)),
    )
    expect(settlement?.failure).toMatchObject({ tag: "OutputInvalid" })
  })

  it("returns text that cannot be stored settles OutputInvalid", async () => {
    const { settlement } = await settle(
      Agent.make("agent", io).handler(() => Effect.succeed("a\0")),
    )
    expect(settlement?.failure).toMatchObject({ tag: "OutputInvalid" })
  })

  it("returns more than the limit settles ResultTooLarge", async () => {
    const { settlement } = await settle(
      Agent.make("agent", io).handler(() => Effect.succeed("x".repeat(100))),
      "",
      { limits: { outputBytes: 50 } },
    )
    expect(settlement?.failure).toMatchObject({ tag: "ResultTooLarge" })
  })

  it("gets an input that does not decode settles InputInvalid", async () => {
    const { settlement } = await settle(Agent.make("agent", io).handler(Effect.succeed), {
      not: "text",
    })
    expect(settlement?.failure).toMatchObject({ tag: "InputInvalid" })
  })

  it("fails with a message without end is cut to the limit", async () => {
    const { settlement } = await settle(
      Agent.make("agent", { ...io, error: Schema.Unknown as never }).handler(() =>
        Effect.fail({ _tag: "T".repeat(1_000), message: "é".repeat(40_000) } as never),
      ),
    )
    const { failure } = settlement ?? {}
    expect(failure?.tag).toHaveLength(256)
    expect(new TextEncoder().encode(failure?.message).length).toBeLessThanOrEqual(16 * 1024)
    expect(failure?.message).toMatch(/^é+$/)
  })

  it("declares a retry of the whole run gets it, with its recorded steps kept", async () => {
    let bodies = 0
    const { settlement } = await settle(
      Agent.make("agent", {
        ...io,
        error: Refused,
        retry: { times: 2, delay: "10 millis" },
      }).handler((_input, run) =>
        Effect.gen(function* () {
          yield* run.step(
            "once",
            Schema.Number,
            Effect.sync(() => ++bodies),
          )
          return run.info.attempt < 3
            ? yield* Effect.fail(new Refused({ limit: run.info.attempt }))
            : `attempt ${run.info.attempt}`
        }),
      ),
    )
    expect(settlement).toMatchObject({ outcome: "completed", output: "attempt 3", attempts: 3 })
    expect(bodies).toBe(1)
  })

  it("fails while a fiber of it still waits for a word is tried again all the same", async () => {
    const { settlement } = await settle(
      Agent.make("agent", {
        ...io,
        error: Refused,
        retry: { times: 2, delay: "10 millis" },
      }).handler((_input, run) =>
        Effect.gen(function* () {
          yield* Effect.forkDetach(run.approval("go", { summary: "?" }), {
            startImmediately: true,
          })
          yield* run.step(`step ${run.info.attempt}`, Schema.Number, Effect.succeed(1))
          return yield* Effect.fail(new Refused({ limit: run.info.attempt }))
        }),
      ),
    )
    expect(settlement).toMatchObject({ failure: { error: { limit: 3 } }, attempts: 3 })
  })

  it("uses up its declared retries settles with the last failure", async () => {
    const { settlement } = await settle(
      Agent.make("agent", { ...io, error: Refused, retry: { times: 1 } }).handler((_input, run) =>
        Effect.fail(new Refused({ limit: run.info.attempt })),
      ),
    )
    expect(settlement).toMatchObject({ failure: { error: { limit: 2 } }, attempts: 2 })
  })
})
