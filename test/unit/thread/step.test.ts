import type { Fiber } from "effect"
import { Deferred, Duration, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, until, type World } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }

const outcomeOf = async (world: World, id: Parameters<World["status"]>[0]) =>
  (await go(world.status(id))).settlement

const kinds = async (world: World) =>
  (await go(world.history())).records.map(({ kind, name }) => (name ? `${kind} ${name}` : kind))

class Broken extends Schema.TaggedError<Broken>()("Broken", { at: Schema.Number }) {}

describe("a step", () => {
  it.each(["step", "tool"])(
    "starts no %s beside a fact that has ended its attempt",
    async (kind) => {
      const started: Array<number> = []
      const time = { passes: () => undefined as void }
      const look = Agent.tool("look", { execution: "readonly", result: Schema.String })
      const agent = Agent.make("agent", io).handler(
        (_input, run) => {
          const body = Effect.sync(() => String(started.push(run.info.attempt)))
          const beside =
            kind === "step"
              ? run.step("beside", Schema.String, body)
              : run.tool("beside", look, () => body)
          return Effect.andThen(
            Effect.sync(() => run.info.attempt === 1 && time.passes()),
            Effect.map(Effect.all([run.now("at"), beside], { concurrency: 2 }), ([, text]) => text),
          )
        },
        { tools: [look] },
      )
      const world = makeWorld({ agents: [agent] })
      time.passes = () => void (world.time.now += 11 * 60_000)
      await accepted(world.admit("agent", ""))
      expect(await tags(world.process())).toEqual(["Yielded"])
      expect(started).toEqual([])
      await drain(world)
      expect(started).toHaveLength(1)
    },
  )

  it("answers from its record after a crash, without running again", async () => {
    const ran: Array<string> = []
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        const one = yield* run.step(
          "one",
          Schema.Number,
          Effect.sync(() => ran.push("one")),
        )
        if (hang.now) yield* Effect.never
        const two = yield* run.step(
          "two",
          Schema.Number,
          Effect.sync(() => ran.push("two")),
        )
        return `${one} ${two}`
      }),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process({ attentionMillis: 20 }))).toEqual(["Running"])
    hang.now = false
    world.crash()
    expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      outcome: "completed",
      output: "1 2",
      attempts: 2,
    })
    expect(ran).toEqual(["one", "two"])
    expect(await kinds(world)).toEqual([
      "InputApplied",
      "StepCompleted one",
      "AttemptInterrupted",
      "StepCompleted two",
      "Settled",
    ])
  })

  it("records a typed failure and raises the same one on every entry", async () => {
    const seen: Array<unknown> = []
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          run.step("risky", Schema.String, Effect.fail(new Broken({ at: seen.length })), {
            error: Broken,
          }),
        ).pipe(Effect.orDie)
        seen.push(error)
        if (hang.now) yield* Effect.never
        return "ok"
      }),
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    hang.now = false
    world.crash()
    await drain(world)
    expect(seen).toEqual([new Broken({ at: 0 }), new Broken({ at: 0 })])
    expect(seen.every((error) => error instanceof Broken)).toBe(true)
  })

  it("records its timeout as an outcome that a later attempt sees again", async () => {
    const seen: Array<string> = []
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        const body = hang.now ? Effect.never : Effect.succeed("late")
        const end = yield* run
          .step("slow", Schema.String, body, { timeout: "5 millis" })
          .pipe(Effect.catchTag("StepTimedOut", ({ _tag }) => Effect.succeed(_tag)))
        seen.push(end)
        if (hang.now) yield* Effect.never
        return end
      }),
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 50 }))
    await until(
      "the timeout is recorded",
      () => seen.length,
      (count) => count === 1,
    )
    hang.now = false
    world.crash()
    await drain(world)
    expect(seen).toEqual(["StepTimedOut", "StepTimedOut"])
  })

  it("fails as StepFailed with tag and message when it declares no error schema", async () => {
    const agent = Agent.make("agent", io).handler((_input, run) =>
      run
        .step("risky", Schema.String, Effect.fail(new RangeError("too far\0")))
        .pipe(
          Effect.catchTag("StepFailed", ({ tag, message }) => Effect.succeed(`${tag} ${message}`)),
        ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      output: "RangeError too far\ufffd",
    })
  })

  it("tries again in memory after short delays, and records one outcome", async () => {
    let tries = 0
    const agent = Agent.make("agent", io).handler((_input, run) =>
      run
        .step(
          "flaky",
          Schema.Number,
          Effect.suspend(() => (++tries < 3 ? Effect.fail("no") : Effect.succeed(tries))),
          { retry: { times: 3, delay: "1 millis" } },
        )
        .pipe(Effect.map(String)),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: "3", attempts: 1 })
    expect(await kinds(world)).toEqual(["InputApplied", "StepCompleted flaky", "Settled"])
  })

  it.each<readonly [string, (world: World) => void]>([
    ["object was replaced", (world) => world.crash()],
    [
      "run has another epoch",
      ({ storage }) => storage.sql.run("UPDATE submissions SET epoch = epoch + 1"),
    ],
  ])("is not tried again in memory once its %s", async (_what, supersede) => {
    const seen: Array<string> = []
    const made: { world?: World } = {}
    const body = Effect.suspend(() => {
      if (seen.push("try") > 1) return Effect.never
      if (made.world !== undefined) supersede(made.world)
      return Effect.fail("no")
    })
    const agent = Agent.make("agent", io).handler((_input, run) =>
      run
        .step("flaky", Schema.String, body, { retry: { times: 3, delay: "1 millis" } })
        .pipe(Effect.onExit(() => Effect.sync(() => seen.push("end")))),
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    made.world = world
    await accepted(world.admit("agent", ""))
    void go(world.process({ attentionMillis: 5 })).catch(() => undefined)
    await until(
      "the time of the next try has come",
      () => seen,
      ({ length }) => length > 1,
    )
    expect(seen).toEqual(["try", "end"])
  })

  it("hands back until a long retry is due, and keeps the count over a crash", async () => {
    let tries = 0
    const agent = Agent.make("agent", io).handler((_input, run) =>
      run
        .step(
          "flaky",
          Schema.String,
          Effect.suspend(() => Effect.fail(`no ${++tries}`)),
          {
            retry: { times: 2, delay: "10 seconds" },
          },
        )
        .pipe(Effect.catch(() => Effect.succeed(`gave up after ${tries}`))),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const [first] = await answers(world.process())
    expect(first).toMatchObject({ _tag: "Retrying", dueAt: world.time.now + 10_000 })
    const early = await go(world.process())
    expect(early.result).toMatchObject({ value: [] })
    expect(early.report.dueAt).toBe(world.time.now + 10_000)
    world.crash()
    world.time.now += 10_000
    expect(await answers(world.process())).toMatchObject([
      { _tag: "Retrying", dueAt: world.time.now + 20_000 },
    ])
    world.time.now += 20_000
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      output: "gave up after 3",
      attempts: 3,
    })
  })

  it("does not throw away a sibling's work for a long retry", async () => {
    const release = Deferred.makeUnsafe<string>()
    let siblings = 0
    let tries = 0
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.map(
        Effect.all(
          [
            run.step(
              "flaky",
              Schema.Number,
              Effect.suspend(() => (++tries === 1 ? Effect.fail("no") : Effect.succeed(tries))),
              {
                retry: { times: 1, delay: "10 seconds" },
              },
            ),
            run.step(
              "long",
              Schema.String,
              Effect.andThen(
                Effect.sync(() => siblings++),
                Deferred.await(release),
              ),
            ),
          ],
          { concurrency: "unbounded" },
        ),
        ([count, word]) => `${count} ${word}`,
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process({ attentionMillis: 20 }))).toEqual(["Running"])
    Deferred.doneUnsafe(release, Effect.succeed("done"))
    await until(
      "the attempt has handed back",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    expect(world.reports.at(-1)).toMatchObject({ dueAt: world.time.now + 10_000 })
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: "2 done" })
    expect(siblings).toBe(1)
  })

  it("keeps the time of each retry that waits, and tries none before its own", async () => {
    const tried: Array<readonly [string, number]> = []
    const world = makeWorld({
      agents: [
        Agent.make("agent", io).handler((_input, run) => {
          const flaky = (name: string, delay: Duration.Input) =>
            run.step(
              name,
              Schema.String,
              Effect.suspend(() => {
                tried.push([name, world.time.now])
                return tried.filter(([other]) => other === name).length < 2
                  ? Effect.fail("no")
                  : Effect.succeed(name)
              }),
              { retry: { times: 1, delay } },
            )
          return Effect.map(
            Effect.all([flaky("soon", "10 seconds"), flaky("later", "1 minute")], {
              concurrency: "unbounded",
            }),
            (both) => both.join(" "),
          )
        }),
      ],
    })
    const start = world.time.now
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await answers(world.process())).toMatchObject([{ dueAt: start + 10_000 }])
    world.time.now = start + 10_000
    expect(await answers(world.process())).toMatchObject([{ dueAt: start + 60_000 }])
    world.time.now = start + 60_000
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: "soon later" })
    expect(tried).toEqual([
      ["soon", start],
      ["later", start],
      ["soon", start + 10_000],
      ["later", start + 60_000],
    ])
  })

  it("whose record is no JSON makes the thread unreadable, and settles nothing", async () => {
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.andThen(
        run.step("one", Schema.String, Effect.succeed("x")),
        Effect.suspend(() => (hang.now ? Effect.never : Effect.succeed("done"))),
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    hang.now = false
    world.crash()
    await go(world.recover())
    world.storage.sql.run("UPDATE journal SET payload = '{' WHERE name = 'one'")
    world.time.now += 10_000
    expect((await go(world.process())).result).toMatchObject({
      _tag: "Failure",
      error: { _tag: "ThreadUnreadable", what: "journal" },
    })
    expect(await go(world.status(submissionId))).toMatchObject({ state: "ready" })
  })

  it("runs beside others, each with a record of its own, and may swap with them after a crash", async () => {
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) => {
      const one = run.step("one", Schema.String, Effect.succeed("a"))
      const two = run.step("two", Schema.String, hang.now ? Effect.never : Effect.succeed("b"))
      return Effect.map(
        Effect.all(hang.now ? [one, two] : [two, one], { concurrency: "unbounded" }),
        (both) => both.toSorted().join(""),
      )
    })
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    hang.now = false
    world.crash()
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: "ab" })
    const { records } = await go(world.history())
    expect(records.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5])
  })

  it("gives the handler its value as the record holds it, from the first entry on", async () => {
    const agent = Agent.make("agent", { input: Schema.String, output: Schema.Boolean }).handler(
      (_input, run) =>
        Effect.gen(function* () {
          const at = yield* run.step("at", Schema.Date, Effect.succeed(new Date(5)))
          const nothing = yield* run.step("nothing", Schema.Void, Effect.void)
          const none = yield* run.step("none", Schema.NullOr(Schema.String), Effect.succeed(null))
          return at instanceof Date && at.getTime() === 5 && nothing === undefined && none === null
        }),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: true })
  })

  it("settles DuplicateName when a name is used twice in one attempt, caught or not", async () => {
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run.now("twice")
        return yield* run.step("twice", Schema.String, Effect.succeed("x"))
      }).pipe(Effect.catchCause(() => Effect.succeed("caught"))),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      failure: { tag: "DuplicateName" },
    })
  })

  it("holds the run for a deploy when a name was recorded under another kind", async () => {
    const code = { next: false, hang: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        if (code.next) yield* run.random("draw")
        else yield* run.step("draw", Schema.String, Effect.succeed("x"))
        if (code.hang) yield* Effect.never
        return "done"
      }),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    code.hang = false
    code.next = true
    world.crash()
    await go(world.recover())
    world.time.now += 10_000
    expect(await answers(world.process())).toEqual([
      { _tag: "BindingUnavailable", submissionId, agent: "agent", name: "draw" },
    ])
    expect(await go(world.status(submissionId))).toMatchObject({ state: "ready" })
    code.next = false
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it.each([
    ["now", "random"],
    ["random", "now"],
  ] as const)("holds the run when what was drawn by %s is asked of %s", async (first, second) => {
    const code: { asks: "now" | "random"; hang: boolean } = { asks: first, hang: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run[code.asks]("draw")
        if (code.hang) yield* Effect.never
        return "done"
      }),
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    Object.assign(code, { asks: second, hang: false })
    world.crash()
    await go(world.recover())
    world.time.now += 10_000
    expect(await answers(world.process())).toMatchObject([
      { _tag: "BindingUnavailable", name: "draw" },
    ])
    code.asks = first
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("holds the run when a record no longer decodes", async () => {
    const code = { schema: Schema.String as Agent.JsonCodec<unknown>, hang: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run.step("value", code.schema, Effect.succeed("x"))
        if (code.hang) yield* Effect.never
        return "done"
      }),
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    code.hang = false
    code.schema = Schema.Number
    world.crash()
    await go(world.recover())
    world.time.now += 10_000
    expect(await answers(world.process())).toMatchObject([
      { _tag: "BindingUnavailable", name: "value" },
    ])
  })

  it("settles ResultTooLarge when its result exceeds the limit", async () => {
    let after = false
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run.step("big", Schema.String, Effect.succeed("x".repeat(200)))
        after = true
        return "unreachable"
      }).pipe(Effect.catchCause(() => Effect.succeed("caught"))),
    )
    const world = makeWorld({ agents: [agent], limits: { stepResultBytes: 100 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      failure: { tag: "ResultTooLarge" },
    })
    expect(after).toBe(false)
  })

  it("settles RunTooLarge when the run records more than it may", async () => {
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.as(
        Effect.forEach(
          Array.from({ length: 9 }, (_, index) => index),
          (index) => run.step(`step ${index}`, Schema.Number, Effect.succeed(index)),
        ),
        "done",
      ),
    )
    const records = makeWorld({ agents: [agent], limits: { runRecords: 8 } })
    const first = await accepted(records.admit("agent", ""))
    await drain(records)
    expect(await outcomeOf(records, first.submissionId)).toMatchObject({
      failure: { tag: "RunTooLarge" },
    })
    expect(await kinds(records)).toHaveLength(10)
    const bytes = makeWorld({ agents: [agent], limits: { runBytes: 40 } })
    const second = await accepted(bytes.admit("agent", ""))
    await drain(bytes)
    expect(await outcomeOf(bytes, second.submissionId)).toMatchObject({
      failure: { tag: "RunTooLarge" },
    })
  })

  it("runs its finalizers at the end of an attempt, and lets them write nothing", async () => {
    const seen: Array<string> = []
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() =>
          run
            .progress("late", 1)
            .pipe(
              Effect.catchDefect((defect) => Effect.sync(() => seen.push((defect as Error).name))),
            ),
        )
        yield* run.step("fact", Schema.Number, Effect.succeed(1))
        return "unreachable in the first attempt"
      }),
    )
    const world = makeWorld({ agents: [agent], limits: { attemptYieldMillis: 0 } })
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Yielded"])
    await until(
      "the finalizer ran",
      () => seen,
      ({ length }) => length === 1,
    )
    expect(seen).toEqual(["Superseded"])
    expect(await kinds(world)).toEqual(["InputApplied", "StepCompleted fact"])
  })
})

describe("the end of an attempt", () => {
  it("cannot be caught by agent code, and a loop around run operations ends with it", async () => {
    let caught = 0
    const fiber: { current?: Fiber.Fiber<unknown, unknown> } = {}
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        let turn = 0
        const loop = Effect.forever(
          Effect.suspend(() => run.step(`step ${turn++}`, Schema.Number, Effect.succeed(1))).pipe(
            Effect.catchCause(() => Effect.sync(() => void caught++)),
          ),
        )
        return yield* Effect.withFiber((self) => {
          fiber.current = self
          return loop
        })
      }),
    )
    const world = makeWorld({ agents: [agent], limits: { attemptYieldMillis: 0 } })
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Yielded"])
    await until(
      "the handler is gone",
      () => fiber.current?.pollUnsafe(),
      (exit) => exit !== undefined,
    )
    expect(caught).toBe(0)
  })

  it("hands a run back at its first fact past its yield time, and goes on in the next attempt", async () => {
    const world = makeWorld({
      limits: { attemptYieldMillis: 1_000 },
      agents: [
        Agent.make("agent", io).handler((_input, run) =>
          Effect.gen(function* () {
            yield* run.step(
              "one",
              Schema.Number,
              Effect.sync(() => (world.time.now += 999)),
            )
            yield* run.step(
              "two",
              Schema.Number,
              Effect.sync(() => (world.time.now += 1)),
            )
            yield* run.step("three", Schema.Number, Effect.succeed(3))
            return `attempt ${run.info.attempt}`
          }),
        ),
      ],
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await answers(world.process())).toEqual([{ _tag: "Yielded", submissionId }])
    const { report } = await go(world.inspect())
    expect(report).toMatchObject({ dueAt: 0, head: { state: "ready", attempted: true } })
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await outcomeOf(world, submissionId)).toMatchObject({ output: "attempt 2" })
  })

  it("comes at the ceiling even if no fact is reached, and is counted until AttemptsExhausted", async () => {
    const agent = Agent.make("agent", io).handler(() => Effect.never)
    const world = makeWorld({
      agents: [agent],
      limits: { attemptCeilingMillis: 2, attemptsExhausted: 3 },
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    for (const rest of [100, 200]) {
      expect(await tags(world.process())).toEqual(["Yielded"])
      expect((await go(world.inspect())).report.dueAt).toBe(world.time.now + rest)
      expect(await tags(world.process())).toEqual([])
      world.time.now += rest
    }
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "AttemptsExhausted" },
      attempts: 3,
    })
  })

  it("starts the count of fruitless attempts anew after a result", async () => {
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        if (run.info.attempt % 2 === 0)
          yield* run.step(`fact ${run.info.attempt}`, Schema.Number, Effect.succeed(1))
        if (run.info.attempt < 9) return yield* Effect.interrupt
        return "done"
      }),
    )
    const world = makeWorld({ agents: [agent], limits: { attemptsExhausted: 2 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await drain(world)
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      outcome: "completed",
      attempts: 9,
    })
  })

  it("keeps the time a run has left in its own info", async () => {
    const agent = Agent.make("agent", { ...io, output: Schema.Number }).handler((_input, run) =>
      Effect.succeed(run.info.yieldAt - run.info.acceptedAt),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process())
    expect(await outcomeOf(world, submissionId)).toMatchObject({
      output: Duration.toMillis("10 minutes"),
    })
  })
})
