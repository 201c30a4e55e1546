/** Attempts that were taken over can write nothing; those that were lost are counted, and made up for. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, until, type World } from "./harness.ts"

const untilEnded = (old: { readonly isRunning: () => boolean }) =>
  until(
    "the old attempt has ended",
    () => old.isRunning(),
    (running) => !running,
  )

describe("a superseded attempt", () => {
  /** The first incarnation waits for its gate outside of any step; the second one hangs. */
  const makeStale = () => {
    const life = { gate: false, incarnation: 0 }
    const agent = Agent.make("stale", { input: Schema.String, output: Schema.String }).handler(
      (input, run) =>
        Effect.gen(function* () {
          life.incarnation += 1
          if (life.incarnation > 1) return yield* Effect.never
          yield* Effect.promise(() => until("the gate", () => life.gate, Boolean))
          if (input === "step") yield* run.step("late", Schema.Number, Effect.succeed(1))
          if (input === "state") yield* run.progress("late", 1)
          return "from the past"
        }),
    )
    return { life, world: makeWorld({ agents: [agent] }) }
  }

  it.each(["settles", "step", "state"])(
    "writes nothing beside the attempt that took over (%s)",
    async (input) => {
      const { life, world } = makeStale()
      const { submissionId } = await accepted(world.admit("stale", input))
      await go(world.process({ attentionMillis: 5 }))
      const old = world.thread()
      world.crash()
      world.time.now = (await go(world.recover())).report.dueAt ?? 0
      await go(world.process({ attentionMillis: 5 }))
      const before = world.storage.dump()
      life.gate = true
      await untilEnded(old)
      expect(world.storage.dump()).toBe(before)
      expect(await go(world.status(submissionId))).toMatchObject({ state: "running", attempts: 2 })
    },
  )

  it("writes nothing between the recovery and the next claim either", async () => {
    const { life, world } = makeStale()
    await accepted(world.admit("stale", "step"))
    await go(world.process({ attentionMillis: 5 }))
    const old = world.thread()
    world.crash()
    await go(world.recover())
    const before = world.storage.dump()
    life.gate = true
    await untilEnded(old)
    expect(world.storage.dump()).toBe(before)
  })

  it("settles nothing when its storage fails, and is not charged for it", async () => {
    const agent = Agent.make("unlucky", { input: Schema.String, output: Schema.String }).handler(
      (_input, run) => run.step("one", Schema.String, Effect.succeed("x")),
    )
    const world = makeWorld({ agents: [agent], limits: { attemptsLost: 1, attemptsExhausted: 1 } })
    const { submissionId } = await accepted(world.admit("unlucky", ""))
    for (const kind of ["StepCompleted", "Settled"]) {
      world.storage.sql.run(
        `CREATE TRIGGER broken BEFORE INSERT ON journal WHEN NEW.kind = '${kind}'
         BEGIN SELECT RAISE(ABORT, 'disk'); END`,
      )
      const dueAt = world.time.now + 1_000
      expect(await answers(world.process())).toEqual([{ _tag: "Retrying", submissionId, dueAt }])
      world.storage.sql.run("DROP TRIGGER broken")
      world.time.now = dueAt
    }
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", output: "x" },
      attempts: 3,
    })
  })
})

describe("lost attempts", () => {
  const Lost = (life: { lost: boolean }) =>
    Agent.make("lost", { input: Schema.String, output: Schema.Number }).handler((_input, run) =>
      Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed(run.info.attempt))),
    )

  const loseOne = async (world: World) => {
    expect(await tags(world.process({ attentionMillis: 2 }))).toEqual(["Running"])
    world.crash()
    expect((await go(world.inspect())).report).toMatchObject({
      recoverAt: 0,
      head: { state: "running" },
    })
    return (await go(world.recover())).report
  }

  it("are no failure by themselves: after three the run completes, once", async () => {
    const life = { lost: true }
    const world = makeWorld({ agents: [Lost(life)] })
    const { submissionId } = await accepted(world.admit("lost", ""))
    for (let time = 0; time < 3; time++) {
      const { dueAt } = await loseOne(world)
      expect(dueAt).toBe(world.time.now + 1_000 * 2 ** time)
      world.time.now = dueAt ?? 0
    }
    life.lost = false
    await drain(world)
    const { records } = await go(world.history())
    expect(records.map(({ kind, epoch }) => [kind, epoch])).toEqual([
      ["InputApplied", 1],
      ["AttemptInterrupted", 1],
      ["AttemptInterrupted", 3],
      ["AttemptInterrupted", 5],
      ["Settled", 7],
    ])
    expect(await go(world.status(submissionId))).toMatchObject({
      attempts: 4,
      settlement: { outcome: "completed", output: 4 },
    })
  })

  it("settle AttemptsLost after as many as the limit says, under one code version", async () => {
    const world = makeWorld({ agents: [Lost({ lost: true })], limits: { attemptsLost: 3 } })
    const { submissionId } = await accepted(world.admit("lost", ""))
    for (let time = 0; time < 3; time++)
      world.time.now = (await loseOne(world)).dueAt ?? world.time.now
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "failed", failure: { tag: "AttemptsLost" } },
      attempts: 3,
    })
  })

  it("are counted anew under another code version", async () => {
    const world = makeWorld({ agents: [Lost({ lost: true })], limits: { attemptsLost: 2 } })
    const { submissionId } = await accepted(world.admit("lost", ""))
    await go(world.process({ attentionMillis: 2 }))
    world.crash({ codeVersion: "v2" })
    world.time.now = (await go(world.recover())).report.dueAt ?? 0
    await go(world.process({ attentionMillis: 2 }))
    world.crash()
    world.time.now = (await go(world.recover())).report.dueAt ?? 0
    expect(await go(world.status(submissionId))).toMatchObject({ state: "ready", attempts: 2 })
  })

  it("are counted anew after a result: a long run may lose its object many times", async () => {
    const world = makeWorld({
      limits: { attemptsLost: 2 },
      agents: [
        Agent.make("lost", { input: Schema.String, output: Schema.Number }).handler((_input, run) =>
          Effect.gen(function* () {
            for (let index = 1; index <= run.info.attempt; index++)
              yield* run.step(`step ${index}`, Schema.Number, Effect.succeed(index))
            return run.info.attempt < 6 ? yield* Effect.never : run.info.attempt
          }),
        ),
      ],
    })
    const { submissionId } = await accepted(world.admit("lost", ""))
    for (let time = 0; time < 5; time++)
      world.time.now = (await loseOne(world)).dueAt ?? world.time.now
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", output: 6 },
    })
  })

  it("are charged before anything of the submission is decoded", async () => {
    const Killer = Agent.make("killer", {
      input: Schema.Unknown.pipe(
        Schema.check(
          Schema.makeFilter(() => {
            throw new Error("the decoder kills the object")
          }),
        ),
      ) as never as Schema.Codec<unknown, unknown>,
      output: Schema.String,
    }).handler(() => Effect.succeed("unreachable"))
    const world = makeWorld({ agents: [Killer], stopAt: "settle:before" })
    const { submissionId } = await accepted(world.admit("killer", ""))
    void go(world.process())
    await world.stopped()
    world.crash()
    expect(await go(world.status(submissionId))).toMatchObject({ state: "running", attempts: 1 })
  })

  it("leave their strike on disk before a suspect head, or a later attempt, runs", async () => {
    const life = { lost: false }
    const world = makeWorld({ agents: [Lost(life)] })
    const order: Array<string> = []
    const storage = world.storage as { sync: () => Promise<void> }
    storage.sync = () => {
      order.push("sync")
      return Promise.resolve()
    }
    await accepted(world.admit("lost", ""))
    await go(world.process())
    expect(order).toEqual([])
    await accepted(world.admit("lost", ""))
    await go(world.process({ suspect: true }))
    expect(order).toEqual(["sync"])
    await accepted(world.admit("lost", ""))
    life.lost = true
    world.time.now = (await loseOne(world)).dueAt ?? 0
    life.lost = false
    expect(order).toEqual(["sync"])
    await go(world.process())
    expect(order).toEqual(["sync", "sync"])
  })

  it("are behind them on disk before what comes next in their turn runs, which may be what kills", async () => {
    const life = { lost: true }
    const world = makeWorld({ agents: [Lost(life)] })
    const order: Array<string> = []
    const storage = world.storage as { sync: () => Promise<void> }
    storage.sync = () => {
      const rows = world.storage.sql.all("SELECT state FROM submissions ORDER BY sequence")
      order.push(rows.map(({ state }) => String(state)).join())
      return Promise.resolve()
    }
    for (let nth = 0; nth < 3; nth++) await accepted(world.admit("lost", ""))
    world.time.now = (await loseOne(world)).dueAt ?? 0
    life.lost = false
    expect(await tags(world.process())).toEqual(["Settled", "Settled", "Settled"])
    expect(order).toEqual(["running,ready,ready", "settled,running,ready"])
  })

  it("are recovered when not even their end could be written", async () => {
    const world = makeWorld({ agents: [Lost({ lost: false })] })
    const { submissionId } = await accepted(world.admit("lost", ""))
    world.storage.sql.run(
      `CREATE TRIGGER broken BEFORE UPDATE ON submissions WHEN NEW.state <> 'running'
       BEGIN SELECT RAISE(ABORT, 'disk'); END`,
    )
    expect(await answers(world.process())).toEqual([])
    expect((await go(world.inspect())).report).toMatchObject({ recoverAt: 0 })
    world.storage.sql.run("DROP TRIGGER broken")
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", output: 2 },
    })
  })

  it("run nothing when the strike cannot be flushed, and settle nothing", async () => {
    const world = makeWorld({ agents: [Lost({ lost: false })] })
    const storage = world.storage as { sync: () => Promise<void> }
    const { sync } = storage
    storage.sync = () => Promise.reject(new Error("no disk"))
    const { submissionId } = await accepted(world.admit("lost", ""))
    expect(await tags(world.process({ suspect: true }))).toEqual(["Retrying"])
    storage.sync = sync
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed" },
    })
  })
})

describe("recovery", () => {
  it("answers a decision for every submission without a settlement", async () => {
    const life = { lost: true }
    const agent = Agent.make("lost", { input: Schema.String, output: Schema.Number }).handler(
      (_input, run) =>
        Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed(run.info.attempt))),
    )
    const world = makeWorld({ agents: [agent] })
    const deferred = await accepted(
      world.admit("lost", "", { notBefore: world.time.now + 1_000_000 }),
    )
    const head = await accepted(world.admit("lost", ""))
    const queued = await accepted(world.admit("lost", ""))
    await go(world.process({ attentionMillis: 2 }))
    const decisions = async () => {
      const { result } = await go(world.recover())
      if (result._tag === "Failure") throw result.error
      return result.value.map(({ submissionId, decision, disposition }) => [
        submissionId,
        decision,
        disposition,
      ])
    }
    const others = [
      [deferred.submissionId, "AwaitDue", "deferred"],
      [head.submissionId, "AwaitAttempt", "deferred"],
      [queued.submissionId, "ApplyInput", "deferred"],
    ]
    const before = world.storage.dump()
    expect(await decisions()).toEqual(others)
    expect(world.storage.dump()).toBe(before)
    world.crash()
    expect(await decisions()).toEqual([
      others[0],
      [head.submissionId, "ResumeRun", "repaired"],
      others[2],
    ])
    expect(await decisions()).toEqual([
      others[0],
      [head.submissionId, "AwaitDue", "deferred"],
      others[2],
    ])
  })

  it("joins one that is under way, and repairs once", async () => {
    const agent = Agent.make("lost", { input: Schema.String, output: Schema.Number }).handler(
      () => Effect.never,
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("lost", ""))
    await go(world.process({ attentionMillis: 2 }))
    world.crash({ holdAt: "recover:before" })
    const both = Promise.all([go(world.recover()), go(world.recover())])
    await until(
      "recovery is under way",
      () => world.reached,
      ({ length }) => length > 0,
    )
    expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    world.release()
    const [first, second] = await both
    expect(first.result).toMatchObject({ value: [{ decision: "ResumeRun" }] })
    expect(second.result).toEqual(first.result)
    expect(world.reached.filter((point) => point === "recover:before")).toHaveLength(1)
    const { records } = await go(world.history())
    expect(records.filter(({ kind }) => kind === "AttemptInterrupted")).toHaveLength(1)
  })

  it("reads as many rows at a long history as at a short one", async () => {
    const agent = Agent.make("worker", { input: Schema.Number, output: Schema.Number }).handler(
      (count, run) =>
        Effect.as(
          Effect.forEach(
            Array.from({ length: count }, (_, index) => index),
            (index) => run.step(`step ${index}`, Schema.Number, Effect.succeed(index)),
          ),
          count,
        ),
    )
    const readAt = async (steps: number) => {
      const world = makeWorld({ agents: [agent] })
      await accepted(world.admit("worker", steps))
      await drain(world)
      for (let index = 0; index < 10; index++) await accepted(world.admit("worker", 0))
      world.crash()
      const before = world.storage.counts().read
      await go(world.recover())
      return world.storage.counts().read - before
    }
    expect(await readAt(1_000)).toBe(await readAt(10))
    expect(await readAt(10)).toBeLessThan(40)
  })

  it("tells rows that do not decode as ThreadUnreadable, while admission goes on", async () => {
    const agent = Agent.make("worker", { input: Schema.String, output: Schema.String }).handler(
      Effect.succeed,
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("worker", "a"))
    world.storage.sql.run("UPDATE submissions SET state = '?'")
    const failure = { _tag: "Failure", error: { _tag: "ThreadUnreadable", what: "submissions" } }
    expect((await go(world.recover())).result).toMatchObject(failure)
    const turn = await go(world.process())
    expect(turn.result).toMatchObject(failure)
    expect(turn.report).toMatchObject({ recoverAt: 0, nonterminal: 1 })
    expect(await accepted(world.admit("worker", "b"))).toMatchObject({ sequence: 2 })
  })
})
