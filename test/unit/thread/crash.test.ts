import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { threadFailpoints } from "../../../thread-actors/ThreadFailpoints.ts"
import { crashInAbortChild } from "./crash-abort-child.ts"
import { crashInCall, crashInResolve } from "./crash-calls.ts"
import { crashInCarried } from "./crash-carried.ts"
import { crashInPublication } from "./crash-publication.ts"
import { crashInSchedule } from "./crash-schedules.ts"
import { crashInWait } from "./crash-waits.ts"
import { accepted, drain, go, makeWorld, tags, until, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"

const Worker = (ran: Array<string>) =>
  Agent.make("worker", {
    input: Schema.String,
    output: Schema.String,
    state: Schema.Number,
  }).handler((input, run) =>
    Effect.gen(function* () {
      const one = yield* run.step(
        "one",
        Schema.String,
        Effect.sync(() => {
          ran.push(`${input} one`)
          return `${input}!`
        }),
      )
      yield* run.progress("half", { input })
      const count = yield* run.state.update("count", (state) =>
        state._tag === "Some" ? state.value + 1 : 1,
      )
      return `${one} ${count}`
    }),
  )

/** What must be the same with and without a crash: everything but times, epochs and interruptions. */
const canonical = async (world: World) =>
  (await go(world.history())).records
    .filter(({ kind }) => kind !== "AttemptInterrupted")
    .map(({ kind, name, payload }) => {
      const { acceptedAt: _at, attempts: _attempts, ...rest } = payload as Record<string, unknown>
      return { kind, name, ...rest }
    })

/** The submissions of `play` in one call. */
const batchOf = (world: World) =>
  ({
    ...world.address,
    submissions: ["a", "b"].map((input) => ({
      threadId: world.address.threadId,
      agent: "worker",
      input,
      idempotencyKey: input,
    })),
    principal: "alice",
    generation: world.generation(),
    now: world.time.now,
  }) as never

const play = async (world: World) => {
  const receipts = [
    await accepted(world.admit("worker", "a", { idempotencyKey: "a" })),
    await accepted(world.admit("worker", "b", { idempotencyKey: "b" })),
  ]
  await drain(world)
  return receipts
}

describe("a crash", () => {
  const points = threadFailpoints.flatMap((name) => [`${name}:before`, `${name}:after`])

  it.each(points)("at %s converges to the history without one", async (point) => {
    const undisturbed = makeWorld({ agents: [Worker([])] })
    await play(undisturbed)

    const ran: Array<string> = []
    const world = makeWorld({ agents: [Worker(ran)], stopAt: point })
    const script = async () => {
      await world.inspect(world.generation()).pipe(go)
      await play(world)
    }
    const story = stories[point.split(":")[0] ?? ""]
    if (story !== undefined) return story(point)
    void script().catch(() => undefined)
    await world.stopped()
    world.crash()
    const receipts = await play(world)
    expect(receipts.map(({ sequence }) => sequence)).toEqual([1, 2])
    expect(await canonical(world)).toEqual(await canonical(undisturbed))
    for (const { submissionId } of receipts)
      expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
    // The step whose record was lost with its object runs again; no other does.
    expect(ran).toEqual(point === "step:before" ? ["a one", "a one", "b one"] : ["a one", "b one"])
  })

  const crashInRecovery = async (point: string) => {
    const hang = { now: true }
    const agent = Agent.make("worker", { input: Schema.String, output: Schema.String }).handler(
      () => Effect.suspend(() => (hang.now ? Effect.never : Effect.succeed("done"))),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("worker", "a"))
    await go(world.process({ attentionMillis: 5 }))
    hang.now = false
    world.crash({ stopAt: point })
    void go(world.recover())
    await world.stopped()
    world.crash()
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      attempts: 2,
      settlement: { output: "done" },
    })
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind)).toEqual([
      "InputApplied",
      "AttemptInterrupted",
      "Settled",
    ])
  }

  const crashInAbort = async (point: string) => {
    const hangs = Agent.make("hangs", { input: Schema.String, output: Schema.String }).handler(
      () => Effect.never,
    )
    const world = makeWorld({ agents: [hangs, Worker([])], stopAt: point })
    const first = await accepted(world.admit("hangs", "a"))
    const second = await accepted(world.admit("worker", "b"))
    await go(world.process({ attentionMillis: 5 }))
    void go(world.abort(first.submissionId))
    await world.stopped()
    world.crash()
    await go(world.abort(first.submissionId))
    await drain(world)
    expect(await go(world.status(first.submissionId))).toMatchObject({
      attempts: 1,
      settlement: { outcome: "aborted", abort: { forced: false } },
    })
    expect(await go(world.status(second.submissionId))).toMatchObject({
      settlement: { output: "b! 1" },
    })
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind).slice(0, 4)).toEqual([
      "InputApplied",
      "AbortRequested",
      "AttemptInterrupted",
      "Settled",
    ])
  }

  const crashInReport = async (point: string) => {
    const gate = { open: false }
    const agent = Agent.make("worker", { input: Schema.String, output: Schema.String }).handler(
      (_input, run) =>
        run.step(
          "wait",
          Schema.String,
          Effect.promise(() => until("the gate", () => gate.open, Boolean).then(() => "x")),
        ),
    )
    const world = makeWorld({ agents: [agent], stopAt: point })
    const { submissionId } = await accepted(world.admit("worker", "a"))
    expect(await tags(world.process({ attentionMillis: 5 }))).toEqual(["Running"])
    gate.open = true
    await world.stopped()
    world.crash()
    expect((await go(world.inspect())).report.dueAt).toBeUndefined()
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
  }

  const crashInPause = async (point: string) => {
    const undisturbed = makeWorld({ agents: [Worker([])] })
    await play(undisturbed)
    const world = makeWorld({ agents: [Worker([])], stopAt: point })
    await accepted(world.admit("worker", "a", { idempotencyKey: "a" }))
    void operate(world).pause()
    await world.stopped()
    world.crash()
    await taken(operate(world).pause())
    expect(await tags(world.process())).toEqual(["Paused"])
    await taken(operate(world).resume())
    await play(world)
    expect(await canonical(world)).toEqual(await canonical(undisturbed))
  }

  const crashInRetry = async (point: string) => {
    const life = { works: false }
    const agent = Agent.make("worker", {
      input: Schema.String,
      output: Schema.String,
      error: Schema.String,
      retry: { times: 1, delay: "1 minute" },
    }).handler((input) =>
      Effect.suspend(() => (life.works ? Effect.succeed(input) : Effect.fail("not yet"))),
    )
    const world = makeWorld({ agents: [agent], stopAt: point })
    const { submissionId } = await accepted(world.admit("worker", "a"))
    expect(await tags(world.process())).toEqual(["Retrying"])
    life.works = true
    void operate(world).retry(submissionId)
    await world.stopped()
    world.crash()
    await taken(operate(world).retry(submissionId))
    expect(await tags(world.process())).toEqual(["Settled"])
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind)).toEqual(["InputApplied", "Recovered", "Settled"])
  }

  const crashInForget = async (point: string) => {
    const world = makeWorld({ agents: [Worker([])], stopAt: point })
    await play(world)
    void operate(world).forget()
    await world.stopped()
    world.crash()
    const again = await operate(world)
      .forget()
      .catch((error: unknown) => error)
    expect(again).toMatchObject(
      point === "forget:after" ? { _tag: "ThreadForgotten" } : { result: { _tag: "Success" } },
    )
    expect(world.storage.sql.all("SELECT * FROM journal")).toEqual([])
    expect(world.storage.sql.all("SELECT * FROM submissions")).toEqual([])
  }

  const crashInBatch = async (point: string) => {
    const undisturbed = makeWorld({ agents: [Worker([])] })
    await play(undisturbed)
    const world = makeWorld({ agents: [Worker([])], stopAt: point })
    const batch = () => go(world.asOwner.admitMany(batchOf(world)))
    void batch()
    await world.stopped()
    world.crash()
    const { result } = await batch()
    expect(result).toMatchObject({
      value: [1, 2].map((sequence) => ({
        receipt: { sequence, duplicate: point === "admitMany:after" },
      })),
    })
    await drain(world)
    expect(await canonical(world)).toEqual(await canonical(undisturbed))
  }

  const crashInResubmit = async (point: string) => {
    const world = makeWorld({ agents: [Worker([])], stopAt: point })
    const first = await accepted(world.admit("worker", "a"))
    await go(world.abort(first.submissionId))
    const again = () => operate(world).resubmit(first.submissionId, "again")
    void again()
    await world.stopped()
    world.crash()
    expect(await taken(again())).toMatchObject({
      sequence: 2,
      resubmissionOf: first.submissionId,
      duplicate: point === "resubmit:after",
    })
    await drain(world)
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind)).toEqual([
      "AbortRequested",
      "Settled",
      "Resubmitted",
      "InputApplied",
      "StepCompleted",
      "Progress",
      "StateChanged",
      "Settled",
    ])
  }

  /** The thread by itself, and beside it what comes of it in the threads that an owner carries it to. */
  const besideCarried = (own: (point: string) => Promise<void>) => async (point: string) => {
    await Promise.all([own(point), crashInCarried(point)])
  }

  /** What leads to blocks that a plain submission does not pass. */
  const stories: Record<string, (point: string) => Promise<void>> = {
    admitMany: crashInBatch,
    resubmit: crashInResubmit,
    report: crashInReport,
    recover: crashInRecovery,
    abort: crashInAbort,
    pause: crashInPause,
    retry: crashInRetry,
    forget: crashInForget,
    prepare: crashInCall,
    settleTool: crashInCall,
    suspend: crashInCall,
    resolve: crashInResolve,
    schedule: crashInSchedule,
    upkeep: crashInSchedule,
    wait: besideCarried(crashInWait),
    decide: crashInWait,
    join: crashInCarried,
    send: crashInCarried,
    child: crashInCarried,
    settleChild: crashInCarried,
    acknowledge: crashInCarried,
    publish: crashInPublication,
    abortChild: besideCarried(crashInAbortChild),
  }

  it("leaves an old incarnation that can write nothing once the run has been taken over", async () => {
    const gate = { open: false }
    const bodies: Array<string> = []
    const agent = Agent.make("worker", { input: Schema.String, output: Schema.String }).handler(
      (_input, run) =>
        run.step(
          "slow",
          Schema.String,
          Effect.promise(async () => {
            const incarnation = bodies.push("started")
            if (incarnation === 1) await until("the gate", () => gate.open, Boolean)
            return `incarnation ${incarnation}`
          }),
        ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("worker", "a"))
    await go(world.process({ attentionMillis: 5 }))
    const old = world.thread()
    world.crash()
    await drain(world)
    const before = world.storage.dump()
    gate.open = true
    await until(
      "the old attempt has ended",
      () => old.isRunning(),
      (running) => !running,
    )
    expect(world.storage.dump()).toBe(before)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { output: "incarnation 2" },
      attempts: 2,
    })
  })
})
