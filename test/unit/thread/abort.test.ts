import { Deferred, Effect, Schema, Stream } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import type { AbortIntent } from "../../../thread-actors/Ledger.ts"
import { judge } from "../../../thread-actors/Abort.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, until, type World } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }
const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const unknownId = "018f0000-0000-7000-8000-000000000009" as SubmissionId

/** The value of an abort that must have been taken. */
const taken = async (reply: ReturnType<World["abort"]>) => {
  const { result } = await go(reply)
  if (result._tag === "Failure") throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

const refusedAbort = async (reply: ReturnType<World["abort"]>) => {
  const { result } = await go(reply)
  if (result._tag === "Success") throw new Error(`taken: ${JSON.stringify(result.value)}`)
  return result.error
}

const raise = (): never => {
  throw new Error("there is no such receipt")
}

const kinds = async (world: World) => (await go(world.history())).records.map(({ kind }) => kind)

const settled = (world: World, submissionId: SubmissionId) =>
  go(world.asReader.awaitSettlement({ ...world.address, submissionId, timeoutMillis: 5_000 }))

const aborted = (forced: boolean) => ({
  outcome: "aborted",
  abort: { author: "ann", reason: "sent twice", forced },
})

/** Waits at a gate in a step, and can be watched. */
const makeGated = (
  around: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E> = (body) => body,
) => {
  const gate = Deferred.makeUnsafe<void>()
  const seen: Array<string> = []
  const agent = Agent.make("gated", io).handler((input, run) =>
    around(
      Effect.gen(function* () {
        seen.push(`start ${input}`)
        yield* Deferred.await(gate)
        const one = yield* run.step("one", Schema.String, Effect.succeed(`${input}!`))
        seen.push(one)
        return one
      }),
    ).pipe(Effect.onExit(() => Effect.sync(() => seen.push("end")))),
  )
  return { agent, seen, open: () => Deferred.doneUnsafe(gate, Effect.void) }
}

/** A run that has begun, and whose turn has left it. */
const begun = async (
  gated: ReturnType<typeof makeGated>,
  options: Parameters<typeof makeWorld>[0] = {},
) => {
  const world = makeWorld({ agents: [gated.agent, echo], ...options })
  const { submissionId } = await accepted(world.admit("gated", "a"))
  expect(await tags(world.process({ attentionMillis: 5 }))).toEqual(["Running"])
  return { world, submissionId }
}

describe("an abort of work that does not run", () => {
  it("settles a queued submission in the block of the command; its neighbours go on", async () => {
    const world = makeWorld({ agents: [echo] })
    const receipts = []
    for (const input of ["a", "b", "c"]) receipts.push(await accepted(world.admit("echo", input)))
    const before = await go(world.inspect())
    const { submissionId, sequence } = receipts[1] ?? raise()
    const { report, result } = await go(world.abort(submissionId))
    const settlement = { submissionId, sequence, attempts: 0, ...aborted(false) }
    expect(result).toMatchObject({ _tag: "Success", value: { _tag: "Settled", settlement } })
    expect(report.nonterminal).toBe(before.report.nonterminal - 1)
    expect(report.revision).toBeGreaterThan(before.report.revision)
    expect(report.head).toEqual(before.report.head)
    const reply = await go(world.status(submissionId))
    expect(reply).toMatchObject({ state: "settled", settlement })
    await drain(world)
    const { records } = await go(world.history())
    expect(records.map(({ kind, submissionId: id }) => [kind, id])).toEqual([
      ["AbortRequested", submissionId],
      ["Settled", submissionId],
      ["InputApplied", receipts[0]?.submissionId],
      ["Settled", receipts[0]?.submissionId],
      ["InputApplied", receipts[2]?.submissionId],
      ["Settled", receipts[2]?.submissionId],
    ])
    expect(records[0]?.payload).toEqual({
      author: "ann",
      principal: "alice",
      reason: "sent twice",
    })
  })

  it("settles the head of a queue, and the next one is the head", async () => {
    const world = makeWorld({ agents: [echo] })
    const first = await accepted(world.admit("echo", "a"))
    const second = await accepted(world.admit("echo", "b"))
    const { report } = await go(world.abort(first.submissionId))
    expect(report).toMatchObject({
      nonterminal: 1,
      dueAt: 0,
      head: { submissionId: second.submissionId, state: "ready" },
    })
    expect(await answers(world.process())).toEqual([
      { _tag: "Settled", submissionId: second.submissionId, outcome: "completed" },
    ])
  })

  it("leaves nothing to be done when it was the only one, deferred or not", async () => {
    for (const extra of [{}, { notBefore: 1_900_000_000_000 }]) {
      const world = makeWorld({ agents: [echo] })
      const { submissionId } = await accepted(world.admit("echo", "a", extra))
      const { report } = await go(world.abort(submissionId))
      expect(report).toMatchObject({ nonterminal: 0, parked: 0 })
      expect(report).not.toHaveProperty("dueAt")
      expect(report).not.toHaveProperty("head")
      world.time.now = 1_900_000_000_001
      const dump = world.storage.dump()
      await go(world.process())
      await go(world.recover())
      expect(world.storage.dump()).toBe(dump)
    }
  })

  it("ends the wait for a declared retry, and closes the open run", async () => {
    const failing = Agent.make("failing", {
      ...io,
      error: Schema.String,
      retry: { times: 3, delay: "1 hour" },
    }).handler(() => Effect.fail("not yet"))
    const world = makeWorld({ agents: [failing, echo] })
    const { submissionId } = await accepted(world.admit("failing", "a"))
    const next = await accepted(world.admit("echo", "b"))
    expect(await tags(world.process())).toEqual(["Retrying"])
    expect((await go(world.inspect())).report.head).toMatchObject({ submissionId, state: "ready" })
    const reply = await taken(world.abort(submissionId))
    expect(reply).toMatchObject({ settlement: { attempts: 1, ...aborted(false) } })
    expect((await go(world.inspect())).report).toMatchObject({
      dueAt: 0,
      head: { submissionId: next.submissionId },
    })
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("leaves the open run before it open", async () => {
    const failing = Agent.make("failing", {
      ...io,
      error: Schema.String,
      retry: { times: 1, delay: "1 hour" },
    }).handler(() => Effect.fail("not yet"))
    const world = makeWorld({ agents: [failing, echo] })
    const open = await accepted(world.admit("failing", "a"))
    const { submissionId } = await accepted(world.admit("echo", "b"))
    expect(await tags(world.process())).toEqual(["Retrying"])
    await taken(world.abort(submissionId))
    await drain(world)
    expect(await go(world.status(open.submissionId))).toMatchObject({
      settlement: { outcome: "failed", attempts: 2 },
    })
    expect(await kinds(world)).toEqual(["InputApplied", "AbortRequested", "Settled", "Settled"])
  })

  it("frees a thread whose head waits for an agent that this deployment lacks", async () => {
    const world = makeWorld({ agents: [echo, makeGated().agent] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    await accepted(world.admit("echo", "b"))
    world.crash({ agents: [echo] })
    expect(await tags(world.process())).toEqual(["BindingUnavailable"])
    await taken(world.abort(submissionId))
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it.each(["suspended", "unknown"])("settles %s work, and counts it no more", async (state) => {
    const world = makeWorld({ agents: [echo] })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    world.storage.transaction(() => {
      world.storage.sql.run("UPDATE submissions SET state = ?, dueAt = 7", state)
      if (state === "unknown") world.storage.sql.run("UPDATE meta SET parked = 1")
    })
    world.crash()
    const { report, result } = await go(world.abort(submissionId))
    expect(result).toMatchObject({ value: { _tag: "Settled", settlement: aborted(false) } })
    expect(report).toMatchObject({ nonterminal: 0, parked: 0 })
    expect(report).not.toHaveProperty("dueAt")
  })

  it("names the host of one that was taken by another run", async () => {
    const world = makeWorld({ agents: [echo] })
    const host = await accepted(world.admit("echo", "a"))
    const { submissionId } = await accepted(world.admit("echo", "b"))
    world.storage.sql.run("UPDATE submissions SET state = 'joined', host = 1 WHERE sequence = 2")
    const dump = world.storage.dump()
    expect(await refusedAbort(world.abort(submissionId))).toMatchObject({
      _tag: "JoinedToHost",
      submissionId,
      hostSubmissionId: host.submissionId,
    })
    expect(world.storage.dump()).toBe(dump)
  })
})

describe("an abort of a run", () => {
  it("interrupts its handler at once, settles it, and tells the owner", async () => {
    const gated = makeGated()
    const { world, submissionId } = await begun(gated)
    const next = await accepted(world.admit("echo", "b"))
    const { report, result } = await go(world.abort(submissionId))
    expect(result).toEqual({ _tag: "Success", value: { _tag: "Aborting" } })
    expect(gated.seen).toEqual(["start a", "end"])
    expect(await settled(world, submissionId)).toMatchObject({
      settlement: { attempts: 1, ...aborted(false) },
    })
    const pushed = await until(
      "the report",
      () => world.reports,
      ({ length }) => length === 1,
    )
    expect(pushed[0]).toMatchObject({
      nonterminal: 1,
      dueAt: 0,
      head: { submissionId: next.submissionId },
    })
    expect(pushed[0]?.revision).toBeGreaterThanOrEqual(report.revision)
    expect(await kinds(world)).toEqual(["InputApplied", "AbortRequested", "Settled"])
    await drain(world)
    expect(await go(world.status(next.submissionId))).toMatchObject({ state: "settled" })
  })

  it("is the answer of a turn that waits for it, which goes on with the next head", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent, echo] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const next = await accepted(world.admit("echo", "b"))
    const turn = answers(world.process({ attentionMillis: 60_000, sliceMillis: 60_000 }))
    await until("the start", () => gated.seen.length, Boolean)
    await taken(world.abort(submissionId))
    expect(await turn).toEqual([
      { _tag: "Settled", submissionId, outcome: "aborted" },
      { _tag: "Settled", submissionId: next.submissionId, outcome: "completed" },
    ])
  })

  it("wakes those who observe the thread, and those who wait for the settlement", async () => {
    const gated = makeGated()
    const { world, submissionId } = await begun(gated)
    const seen = go(
      world.asReader.observe({ ...world.address, after: 1 }).pipe(
        Stream.filter((frame) => frame._tag === "Record"),
        Stream.take(2),
        Stream.runCollect,
      ),
    )
    const waiting = settled(world, submissionId)
    await until("the observer", () => world.thread().observers(), Boolean)
    await taken(world.abort(submissionId))
    expect(await waiting).toMatchObject({ _tag: "Settled", settlement: aborted(false) })
    expect(await seen).toMatchObject([
      { record: { kind: "AbortRequested", submissionId } },
      { record: { kind: "Settled", submissionId, payload: aborted(false) } },
    ])
  })

  it("records what finalizers still do within the grace", async () => {
    const agent = Agent.make("careful", io).handler((_input, run) =>
      Effect.onInterrupt(run.step("charge", Schema.String, Effect.never), () =>
        Effect.ignore(run.step("refund", Schema.String, Effect.succeed("refunded"))),
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("careful", "a"))
    await go(world.process({ attentionMillis: 5 }))
    await taken(world.abort(submissionId))
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(false) })
    expect((await go(world.history())).records).toMatchObject([
      { kind: "InputApplied" },
      { kind: "AbortRequested" },
      { kind: "StepCompleted", name: "refund", payload: { result: "refunded" } },
      { kind: "Settled" },
    ])
  })

  it("records what a handler that cannot be interrupted still reaches, and aborts it all the same", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated)
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    expect((await go(world.status(submissionId))).state).toBe("running")
    gated.open()
    const reply = await settled(world, submissionId)
    expect(reply).toMatchObject({ settlement: aborted(false) })
    expect(reply).not.toHaveProperty("settlement.output")
    expect(await kinds(world)).toEqual([
      "InputApplied",
      "AbortRequested",
      "StepCompleted",
      "Settled",
    ])
  })

  it("fences a handler off that does not stop within its grace, and says so", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated, { limits: { abortGraceMillis: 20 } })
    await accepted(world.admit("echo", "b"))
    await taken(world.abort(submissionId))
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(true) })
    await drain(world)
    const dump = world.storage.dump()
    gated.open()
    await until(
      "its end",
      () => gated.seen,
      (seen) => seen.includes("end"),
    )
    expect(gated.seen).toEqual(["start a", "end"])
    expect(world.storage.dump()).toBe(dump)
  })

  it("says so too when the ceiling of the attempt ends the grace", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const world = makeWorld({ agents: [gated.agent], limits: { attemptCeilingMillis: 30 } })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    await go(world.process({ attentionMillis: 1 }))
    await taken(world.abort(submissionId))
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(true) })
    gated.open()
  })

  it("cannot be caught by the handler", async () => {
    const after: Array<string> = []
    const agent = Agent.make("stubborn", io).handler((_input, run) =>
      Effect.never.pipe(
        Effect.catchCause(() => Effect.void),
        Effect.andThen(run.step("after", Schema.String, Effect.succeed("on"))),
        Effect.tap((value) => Effect.sync(() => after.push(value))),
        Effect.catchCause(() => Effect.succeed("caught")),
        Effect.matchCause({ onFailure: () => "caught", onSuccess: (value) => value }),
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("stubborn", "a"))
    await go(world.process({ attentionMillis: 5 }))
    await taken(world.abort(submissionId))
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(false) })
    expect(after).toEqual([])
    expect(await kinds(world)).toEqual(["InputApplied", "AbortRequested", "Settled"])
  })

  it("ends one whose finalizer throws or never ends", async () => {
    for (const [finalizer, forced] of [
      [Effect.die(new Error("no")), false],
      [Effect.never, true],
    ] as const) {
      const agent = Agent.make("last-words", io).handler(() =>
        Effect.ensuring(Effect.never, finalizer),
      )
      const world = makeWorld({ agents: [agent], limits: { abortGraceMillis: 20 } })
      const { submissionId } = await accepted(world.admit("last-words", "a"))
      await go(world.process({ attentionMillis: 5 }))
      await taken(world.abort(submissionId))
      expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(forced) })
    }
  })
})

describe("a command to abort", () => {
  it("is answered with its state when it is repeated, and writes nothing again", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated)
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    const dump = world.storage.dump()
    // Another caller with the same words is the same command.
    expect(await taken(world.abort(submissionId, { principal: "bob" }))).toEqual({
      _tag: "Aborting",
    })
    expect(world.storage.dump()).toBe(dump)
    gated.open()
    await settled(world, submissionId)
    const end = world.storage.dump()
    const { settlement } = await go(world.status(submissionId))
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Settled", settlement })
    expect(world.storage.dump()).toBe(end)
  })

  it("with other words than the first one is refused, and named the first", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated)
    await taken(world.abort(submissionId))
    const dump = world.storage.dump()
    for (const other of [{ author: "bob" }, { reason: "too late" }])
      expect(await refusedAbort(world.abort(submissionId, other))).toMatchObject({
        _tag: "ResolutionConflict",
        first: "ann: sent twice",
      })
    expect(world.storage.dump()).toBe(dump)
    gated.open()
    await settled(world, submissionId)
    expect(await refusedAbort(world.abort(submissionId, { author: "bob" }))).toMatchObject({
      _tag: "SettlementConflict",
      outcome: "aborted",
    })
  })

  it("of a settled submission is refused with its outcome, and changes nothing", async () => {
    const dies = Agent.make("dies", io).handler(() => Effect.die("no"))
    const world = makeWorld({ agents: [echo, dies] })
    const one = await accepted(world.admit("echo", "a"))
    const two = await accepted(world.admit("dies", "a"))
    await drain(world)
    const dump = world.storage.dump()
    for (const [{ submissionId }, outcome] of [
      [one, "completed"],
      [two, "failed"],
    ] as const)
      expect(await refusedAbort(world.abort(submissionId))).toMatchObject({
        _tag: "SettlementConflict",
        submissionId,
        outcome,
      })
    expect(world.storage.dump()).toBe(dump)
  })

  it("of an unknown id is refused, and makes no tables in an untouched thread", async () => {
    const world = makeWorld({ agents: [echo] })
    const dump = world.storage.dump()
    expect(await refusedAbort(world.abort(unknownId))).toMatchObject({
      _tag: "SubmissionNotFound",
      submissionId: unknownId,
    })
    expect(world.storage.dump()).toBe(dump)
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const forged = submissionId.replace(/^./, (digit) => (digit === "f" ? "e" : "f"))
    expect(await refusedAbort(world.abort(forged as never))).toMatchObject({
      _tag: "SubmissionNotFound",
    })
    expect((await go(world.status(submissionId))).state).toBe("ready")
  })

  it("behind the fence is refused, and a refused generation stays refused", async () => {
    const world = makeWorld({ agents: [echo] })
    const late = world.generation()
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const fence = world.generation()
    await go(world.inspect(fence))
    for (const generation of [late, fence])
      expect(await refusedAbort(world.abort(submissionId, { generation }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
    const generation = world.generation()
    await refusedAbort(world.abort(unknownId, { generation }))
    expect(await refusedAbort(world.abort(submissionId, { generation }))).toMatchObject({
      _tag: "Unavailable",
    })
    expect((await go(world.status(submissionId))).state).toBe("ready")
    expect(await taken(world.abort(submissionId))).toMatchObject({ _tag: "Settled" })
  })

  it("takes words of their full length, and none that cannot be stored as given", async () => {
    const world = makeWorld({ agents: [echo] })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const dump = world.storage.dump()
    for (const words of [
      { author: "x".repeat(257) },
      { reason: "x".repeat(1_025) },
      { author: "a\0b" },
      { reason: "\ud800" },
    ])
      expect(await go(Effect.flip(world.abort(submissionId, words)))).toMatchObject({
        _tag: "InvalidInput",
      })
    expect(world.storage.dump()).toBe(dump)
    const words = { author: "é".repeat(256), reason: '"\n'.repeat(512) }
    expect(await taken(world.abort(submissionId, words))).toMatchObject({
      settlement: { abort: { ...words, forced: false } },
    })
  })

  it("is told when the row it means cannot be read", async () => {
    const world = makeWorld({ agents: [echo] })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    for (const text of ["{", "[]", "{}", "null"]) {
      world.storage.sql.run("UPDATE submissions SET abort = ?", text)
      expect(await refusedAbort(world.abort(submissionId))).toMatchObject({
        _tag: "ThreadUnreadable",
        what: "submissions",
      })
    }
  })
})

describe("an abort in a race", () => {
  it("that comes before the settlement is committed turns a completion into aborted", async () => {
    const world = makeWorld({ agents: [echo], holdAt: "settle:before" })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const turn = answers(world.process({ attentionMillis: 60_000 }))
    await until(
      "the end",
      () => world.reached,
      (reached) => reached.includes("settle:before"),
    )
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    world.release()
    expect(await turn).toEqual([{ _tag: "Settled", submissionId, outcome: "aborted" }])
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(false) })
    expect(await kinds(world)).toEqual(["InputApplied", "AbortRequested", "Settled"])
  })

  it("that comes after it finds it settled", async () => {
    const world = makeWorld({ agents: [echo], holdAt: "settle:after" })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const turn = answers(world.process({ attentionMillis: 60_000 }))
    await until(
      "the end",
      () => world.reached,
      (reached) => reached.includes("settle:after"),
    )
    expect(await refusedAbort(world.abort(submissionId))).toMatchObject({
      _tag: "SettlementConflict",
      outcome: "completed",
    })
    world.release()
    expect(await turn).toEqual([{ _tag: "Settled", submissionId, outcome: "completed" }])
  })

  it("that comes between a claim and its start keeps agent code from running", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent], holdAt: "apply:after" })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const turn = answers(world.process({ attentionMillis: 60_000 }))
    await until(
      "the claim",
      () => world.reached,
      (reached) => reached.includes("apply:after"),
    )
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    world.release()
    expect(await turn).toEqual([{ _tag: "Settled", submissionId, outcome: "aborted" }])
    expect(gated.seen).toEqual([])
  })

  it("that comes while the strike is flushed does so too", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent] })
    const flushed = Deferred.makeUnsafe<void>()
    const flushes: Array<string> = []
    Object.assign(world.storage, {
      sync: () => {
        flushes.push("begun")
        return Effect.runPromise(Deferred.await(flushed))
      },
    })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const turn = answers(world.process({ attentionMillis: 60_000, suspect: true }))
    await until("the flush", () => flushes.length, Boolean)
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    Deferred.doneUnsafe(flushed, Effect.void)
    expect(await turn).toEqual([{ _tag: "Settled", submissionId, outcome: "aborted" }])
    expect(gated.seen).toEqual([])
  })

  it("that comes before the claim leaves it nothing", async () => {
    const world = makeWorld({ agents: [echo], holdAt: "claim:before" })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const turn = answers(world.process())
    await until(
      "the claim",
      () => world.reached,
      (reached) => reached.includes("claim:before"),
    )
    expect(await taken(world.abort(submissionId))).toMatchObject({ _tag: "Settled" })
    world.release()
    expect(await turn).toEqual([])
    expect(await kinds(world)).toEqual(["AbortRequested", "Settled"])
  })

  it("with another one is decided by the first", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated)
    const replies = await Promise.all(
      ["ann", "bob", "ann"].map((author) => go(world.abort(submissionId, { author }))),
    )
    expect(replies.map(({ result }) => result._tag)).toEqual(["Success", "Failure", "Success"])
    gated.open()
    expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(false) })
  })

  it("with a yield or a retry of the attempt wins over it", async () => {
    const failing = Agent.make("failing", {
      ...io,
      error: Schema.String,
      retry: { times: 3, delay: "1 hour" },
    }).handler(() => Effect.fail("not yet"))
    const fades = Agent.make("fades", io).handler(() => Effect.interrupt)
    for (const agent of [failing, fades]) {
      const world = makeWorld({ agents: [agent], holdAt: "settle:before" })
      const { submissionId } = await accepted(world.admit(agent.agent.name, "a"))
      void answers(world.process({ attentionMillis: 60_000 }))
      await until(
        "the end",
        () => world.reached,
        (reached) => reached.includes("settle:before"),
      )
      await taken(world.abort(submissionId))
      world.release()
      expect(await settled(world, submissionId)).toMatchObject({ settlement: aborted(false) })
    }
  })
})

describe("an abort and a crash", () => {
  const lost = ["InputApplied", "AbortRequested", "AttemptInterrupted", "Settled"]

  /** What recovery does with it, and that the thread then goes on. */
  const recovers = async (world: World, submissionId: SubmissionId) => {
    const next = await accepted(world.admit("echo", "b"))
    expect((await go(world.inspect())).report).toMatchObject({ recoverAt: 0 })
    expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    const { report, result } = await go(world.recover())
    expect(result).toMatchObject({
      value: [
        { submissionId, decision: "SettleAborted", disposition: "repaired" },
        { decision: "ApplyInput" },
      ],
    })
    expect(report).toMatchObject({ dueAt: 0, head: { submissionId: next.submissionId } })
    expect(await kinds(world)).toEqual(lost)
    expect(await go(world.status(submissionId))).toMatchObject({ settlement: aborted(false) })
    await drain(world)
    expect(await go(world.status(next.submissionId))).toMatchObject({ state: "settled" })
  }

  it("before its block leaves nothing; the retry is taken", async () => {
    const gated = makeGated()
    const world = makeWorld({ agents: [gated.agent], stopAt: "abort:before" })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const dump = world.storage.dump()
    void go(world.abort(submissionId))
    await world.stopped()
    expect(world.storage.dump()).toBe(dump)
    world.crash()
    expect(await taken(world.abort(submissionId))).toMatchObject({ _tag: "Settled" })
  })

  it("behind its block is made good by recovery", async () => {
    const gated = makeGated()
    const { world, submissionId } = await begun(gated, { stopAt: "abort:after" })
    void go(world.abort(submissionId))
    await world.stopped()
    world.crash()
    await recovers(world, submissionId)
  })

  it("between the intent and the settlement is made good by recovery, once", async () => {
    const gated = makeGated(Effect.uninterruptible)
    const { world, submissionId } = await begun(gated)
    await taken(world.abort(submissionId))
    world.crash()
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Aborting" })
    await recovers(world, submissionId)
    const dump = world.storage.dump()
    gated.open()
    await until(
      "its end",
      () => gated.seen,
      (seen) => seen.includes("end"),
    )
    expect(world.storage.dump()).toBe(dump)
  })

  it("that came first leaves the run to recovery, which the answer asks for", async () => {
    const gated = makeGated()
    const { world, submissionId } = await begun(gated)
    world.crash()
    const { report, result } = await go(world.abort(submissionId))
    expect(result).toEqual({ _tag: "Success", value: { _tag: "Aborting" } })
    expect(report).toMatchObject({ recoverAt: 0 })
    await until(
      "no second record",
      () => kinds(world),
      ({ length }) => length === 2,
    )
    await recovers(world, submissionId)
  })

  it("behind a settlement in its block gives the retry the same settlement", async () => {
    const world = makeWorld({ agents: [echo], stopAt: "abort:after" })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    void go(world.abort(submissionId))
    await world.stopped()
    world.crash()
    const { settlement } = await go(world.status(submissionId))
    expect(await taken(world.abort(submissionId))).toEqual({ _tag: "Settled", settlement })
  })

  it("is made good as well when our own code cannot write the end", async () => {
    const gated = makeGated()
    const { world, submissionId } = await begun(gated, { breakAt: "settle:before" })
    await taken(world.abort(submissionId))
    await until(
      "the attempt's end",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    await recovers(world, submissionId)
  })
})

describe("the judgement of a command", () => {
  const command = { author: "ann", reason: "sent twice" }
  const same: AbortIntent = { ...command, principal: "p" as never }
  const other: AbortIntent = { ...same, author: "bob" }
  const states = ["ready", "running", "suspended", "unknown", "joined", "settled"] as const
  const table = {
    ready: ["Settle", "Known", "Refuse"],
    running: ["Intend", "Known", "Refuse"],
    suspended: ["Settle", "Known", "Refuse"],
    unknown: ["Settle", "Known", "Refuse"],
    joined: ["Joined", "Known", "Joined"],
    settled: ["Refuse", "Known", "Refuse"],
  }

  it.each(states)("of %s work is one for each first command", (state) => {
    const row = { id: unknownId, state, outcome: state === "settled" ? "aborted" : null }
    const judged = [undefined, same, other].map((first) => judge(row, first, command)._tag)
    expect(judged).toEqual(table[state])
  })
})
