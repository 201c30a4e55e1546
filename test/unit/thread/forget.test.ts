import { Deferred, Effect, Schema, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, tags, until, type World } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }
const secret = "a secret of alice's"

const keeper = Agent.make("keeper", { ...io, state: Schema.String }).handler((input, run) =>
  Effect.gen(function* () {
    yield* run.step("one", Schema.String, Effect.succeed(secret))
    yield* run.state.update("kept", () => secret)
    return `${input} ${secret}`
  }),
)

const hangs = Agent.make("hangs", io).handler(() => Effect.never)

const flaky = Agent.make("flaky", {
  ...io,
  error: Schema.String,
  retry: { times: 3, delay: "1 hour" },
}).handler(() => Effect.fail("not yet"))

/** Cannot be interrupted, and ends when it is let go. */
const makeStubborn = () => {
  const gate = Deferred.makeUnsafe<void>()
  const agent = Agent.make("stubborn", io).handler(() =>
    Effect.as(Effect.uninterruptible(Deferred.await(gate)), "late"),
  )
  return { agent, open: () => Deferred.doneUnsafe(gate, Effect.void) }
}

const nobody = "018f0000-0000-7000-8000-000000000009" as SubmissionId

const agents = [keeper, hangs, flaky]

/** A thread that has kept what it was told, and owes nothing. */
const kept = async () => {
  const world = makeWorld({ agents })
  const receipt = await accepted(
    world.admit("keeper", secret, { title: secret, idempotencyKey: "k", principal: secret }),
  )
  await drain(world)
  return { world, ...receipt }
}

/** What every call of this thread comes to; each must fail. */
const callAll = async (world: World, submissionId: SubmissionId) => {
  const operator = operate(world)
  const { address, asReader } = world
  const frames = Stream.runCollect(asReader.observe(address))
  const calls: Record<string, () => Promise<unknown>> = {
    admit: () => go(world.admit("keeper", "again")),
    requestAbort: () => go(world.abort(submissionId)),
    resolveUnknown: () =>
      operator.resolve(
        { submissionId, recordId: "0".repeat(32) as never },
        { _tag: "NeverHappened" },
      ),
    retry: () => operator.retry(submissionId),
    pause: () => operator.pause(),
    resume: () => operator.resume(),
    forget: () => operator.forget(),
    inspect: () => go(world.inspect()),
    visit: () => go(world.inspect(world.generation())),
    recover: () => go(world.recover()),
    processHead: () => go(world.process()),
    status: () => go(world.status(submissionId)),
    history: () => go(world.history()),
    observe: () => go(frames),
    awaitSettlement: () => go(asReader.awaitSettlement({ ...address, submissionId })),
    readState: () => go(asReader.readState(address)),
    explain: () => operator.explain(),
    verify: () => operator.verify(),
  }
  const told: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(calls))
    told[name] = await call().then(
      () => "answered",
      (error: unknown) => error,
    )
  return told
}

const expectForgotten = async (world: World, submissionId: SubmissionId, forgottenAt: number) => {
  const { threadId } = world.address
  for (const [name, error] of Object.entries(await callAll(world, submissionId)))
    expect([name, error]).toMatchObject([name, { _tag: "ThreadForgotten", threadId, forgottenAt }])
}

/** The rows of all tables but those that a tombstone needs. */
const contentOf = (world: World) => {
  const tables = JSON.parse(world.storage.dump()) as Array<[string, string, Array<string>]>
  return tables
    .filter(([name]) => name !== "meta" && name !== "schemaVersions")
    .flatMap(([, , rows]) => rows)
}

const metaOf = (world: World) => world.storage.sql.all("SELECT * FROM meta")

describe("a forgotten thread", () => {
  it("answers every call with ThreadForgotten, also after a restart", async () => {
    const { submissionId, world } = await kept()
    world.time.now += 7
    const forgottenAt = world.time.now
    const { report, result } = await operate(world).forget()
    expect(result).toEqual({ _tag: "Success", value: { forgottenAt } })
    expect(report).toMatchObject({ nonterminal: 0, parked: 0, tailSequence: 0 })
    expect(report).not.toHaveProperty("title")
    world.time.now += 1_000
    await expectForgotten(world, submissionId, forgottenAt)
    world.crash()
    await expectForgotten(world, submissionId, forgottenAt)
  })

  it("takes nothing from an incarnation that does not know", async () => {
    const { world } = await kept()
    world.crash({ holdAt: "admit:before" })
    const late = go(world.admit("keeper", "late")).catch((error: unknown) => error)
    await until(
      "the admission is held",
      () => world.reached,
      (reached) => reached.includes("admit:before"),
    )
    world.crash()
    await taken(operate(world).forget())
    const dump = world.storage.dump()
    world.release()
    expect(await late).toMatchObject({ _tag: "ThreadForgotten" })
    expect(world.storage.dump()).toBe(dump)
  })

  it("reports nothing to its owner by itself", async () => {
    const { agent, open } = makeStubborn()
    const world = makeWorld({ agents: [agent], holdAt: "report:before" })
    await accepted(world.admit("stubborn", "a"))
    expect(await tags(world.process({ attentionMillis: 2 }))).toEqual(["Running"])
    open()
    await until(
      "the end of the attempt is about to be reported",
      () => world.reached,
      (reached) => reached.includes("report:before"),
    )
    await taken(operate(world).forget())
    world.release()
    await until(
      "the attempt is over",
      () => world.reached,
      (reached) => reached.includes("report:after"),
    )
    expect(world.reports).toEqual([])
  })

  it("keeps one row, and in it nothing of what the thread held", async () => {
    const { world } = await kept()
    await taken(operate(world).pause({ author: secret, reason: secret }))
    await go(world.inspect(world.generation()))
    await go(world.admit("nobody", "a"))
    expect(metaOf(world)).not.toMatchObject([{ refused: "" }])
    const before = metaOf(world)[0] ?? {}
    await taken(operate(world).forget())
    expect(contentOf(world)).toEqual([])
    expect(world.storage.dump()).not.toContain(secret)
    expect(metaOf(world)).toEqual([
      {
        id: 1,
        ownerId: world.address.ownerId,
        threadId: world.address.threadId,
        callbackKey: null,
        failed: 0,
        aborted: 0,
        born: before["born"],
        fence: before["fence"],
        refused: "",
        revision: expect.any(Number),
        parked: 0,
        paused: 0,
        title: null,
        pause: null,
        pauseGeneration: null,
        forgottenAt: world.time.now,
      },
    ])
  })

  it("tells it with a report that is newer than any before", async () => {
    const { world } = await kept()
    const before = await go(world.inspect())
    const { report } = await operate(world).forget()
    expect(report.revision).toBeGreaterThan(before.report.revision)
    expect(report.born).toBe(before.report.born)
  })

  it("is one that nothing was ever admitted to, too", async () => {
    const world = makeWorld({ agents })
    await taken(operate(world).forget())
    await expectForgotten(world, nobody, world.time.now)
    world.crash()
    await expectForgotten(world, nobody, world.time.now)
  })

  it("wakes those who observe it, and they are told", async () => {
    const world = makeWorld({ agents })
    await accepted(world.admit("hangs", "a"))
    await go(world.process({ attentionMillis: 2 }))
    const { address, asReader } = world
    const seen: Array<ObserveFrame> = []
    const observed = go(
      asReader.observe(address).pipe(
        Stream.runForEach((frame) => Effect.sync(() => seen.push(frame))),
        Effect.flip,
      ),
    )
    await until(
      "the reader has seen the input",
      () => seen,
      ({ length }) => length >= 2,
    )
    await refused(operate(world).forget({ abort: true }))
    await until(
      "the attempt is over",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    await taken(operate(world).forget())
    const forgotten = { _tag: "ThreadForgotten", forgottenAt: world.time.now }
    expect(await observed).toMatchObject(forgotten)
    expect(world.thread().observers()).toBe(0)
  })

  const lateCalls: ReadonlyArray<readonly [string, (world: World) => Promise<unknown>]> = [
    ["admit:before", (world) => go(world.admit("keeper", "late"))],
    ["claim:before", (world) => go(world.process())],
    ["fence:before", (world) => go(world.inspect(world.generation()))],
    ["abort:before", (world) => go(world.abort(nobody))],
    ["pause:before", (world) => operate(world).pause()],
    ["retry:before", (world) => operate(world).retry(nobody)],
  ]

  it.each(lateCalls)(
    "writes nothing for a call that was let in before, at %s",
    async (point, call) => {
      const world = makeWorld({ agents, holdAt: point })
      await go(world.inspect())
      if (point !== "fence:before") await go(world.inspect(world.generation()))
      else await operate(world).pause()
      const failed = call(world).then(
        () => "answered",
        (error: unknown) => error,
      )
      await until(
        `the call is held at ${point}`,
        () => world.reached,
        (reached) => reached.includes(point),
      )
      await taken(operate(world).forget())
      const dump = world.storage.dump()
      world.release()
      expect(await failed).toMatchObject({ _tag: "ThreadForgotten" })
      expect(world.storage.dump()).toBe(dump)
    },
  )
})

describe("a thread that owes work", () => {
  it("refuses to be forgotten, says what it owes, and keeps it", async () => {
    const world = makeWorld({ agents })
    await accepted(world.admit("keeper", "a"))
    await accepted(world.admit("keeper", "b", { notBefore: world.time.now + 1_000 }))
    const { report, result } = await operate(world).forget()
    expect(result).toMatchObject({
      _tag: "Failure",
      error: { _tag: "WorkOwed", nonterminal: 2, outbox: 0 },
    })
    expect(report).toMatchObject({ nonterminal: 2, dueAt: 0 })
    await drain(world)
    expect(await taken(operate(world).forget())).toEqual({ forgottenAt: world.time.now })
  })

  it("refuses a replay of a refused call, also once it owes nothing", async () => {
    const world = makeWorld({ agents })
    const sent = world.generation()
    const { submissionId } = await accepted(world.admit("keeper", "a"))
    expect(await refused(operate(world).forget({ generation: sent }))).toMatchObject({
      _tag: "WorkOwed",
    })
    await drain(world)
    expect(await refused(operate(world).forget({ generation: sent }))).toMatchObject({
      _tag: "Unavailable",
      retryable: true,
    })
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
  })

  it("refuses an older call that lands after a refusal, also once it owes nothing", async () => {
    const world = makeWorld({ agents })
    const operator = operate(world)
    await accepted(world.admit("keeper", "a"))
    const older = world.generation()
    expect(await refused(operator.forget())).toMatchObject({ _tag: "WorkOwed" })
    await drain(world)
    expect(await refused(operator.forget({ generation: older }))).toMatchObject({
      _tag: "Unavailable",
      retryable: true,
    })
    expect((await go(world.history())).records.length).toBeGreaterThan(0)
  })

  it("refuses a call from behind the fence, and deletes nothing", async () => {
    const { world } = await kept()
    const late = world.generation()
    await go(world.inspect(world.generation()))
    const dump = world.storage.dump()
    expect(await refused(operate(world).forget({ generation: late, abort: true }))).toMatchObject({
      _tag: "Unavailable",
    })
    expect(world.storage.dump()).toBe(dump)
  })
})

describe("a forgetting that aborts first", () => {
  it("ends at once what does not run, and who waits for it is told", async () => {
    const world = makeWorld({ agents })
    await accepted(world.admit("flaky", "a"))
    await accepted(world.admit("keeper", "b"))
    await accepted(world.admit("keeper", "c", { notBefore: world.time.now + 1_000_000 }))
    expect(await tags(world.process())).toEqual(["Retrying"])
    const { submissionId } = await accepted(world.admit("keeper", "d"))
    const { address, asReader } = world
    const waited = go(Effect.flip(asReader.awaitSettlement({ ...address, submissionId })))
    expect(await taken(operate(world).forget({ abort: true }))).toEqual({
      forgottenAt: world.time.now,
    })
    expect(contentOf(world)).toEqual([])
    expect(await waited).toMatchObject({ _tag: "ThreadForgotten" })
  })

  it("interrupts what runs, and is done once that has ended", async () => {
    const world = makeWorld({ agents })
    const { submissionId } = await accepted(world.admit("hangs", "a"))
    const queued = await accepted(world.admit("keeper", "b"))
    expect(await tags(world.process({ attentionMillis: 2 }))).toEqual(["Running"])
    const words = { abort: true, author: "ann", reason: "the customer left" }
    expect(await refused(operate(world).forget(words))).toMatchObject({
      _tag: "WorkOwed",
      nonterminal: 1,
    })
    const aborted = { outcome: "aborted", abort: { ...words, forced: false } }
    const { abort: _told, ...abort } = aborted.abort
    expect(await go(world.status(queued.submissionId))).toMatchObject({
      settlement: { outcome: "aborted", abort },
    })
    const { records } = await go(world.history())
    expect(
      records.filter(({ kind }) => kind === "AbortRequested").map(({ payload }) => payload),
    ).toEqual([
      { author: "ann", principal: "alice", reason: "the customer left" },
      { author: "ann", principal: "alice", reason: "the customer left" },
    ])
    const reply = await go(
      world.asReader.awaitSettlement({ ...world.address, submissionId, timeoutMillis: 5_000 }),
    )
    expect(reply).toMatchObject({ settlement: { outcome: "aborted", abort } })
    await taken(operate(world).forget(words))
    expect(contentOf(world)).toEqual([])
  })

  it("leaves a run its grace, then fences it off", async () => {
    const { agent, open } = makeStubborn()
    const world = makeWorld({ agents: [agent], limits: { abortGraceMillis: 1 } })
    const { submissionId } = await accepted(world.admit("stubborn", "a"))
    await go(world.process({ attentionMillis: 2 }))
    await refused(operate(world).forget({ abort: true }))
    const reply = await go(
      world.asReader.awaitSettlement({ ...world.address, submissionId, timeoutMillis: 5_000 }),
    )
    expect(reply).toMatchObject({ settlement: { abort: { forced: true } } })
    const { forgottenAt } = await taken(operate(world).forget({ abort: true }))
    open()
    await until(
      "the attempt is over",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    await expectForgotten(world, submissionId, forgottenAt)
    expect(contentOf(world)).toEqual([])
  })

  it("settles a run whose attempt was lost, as recovery would", async () => {
    // Something else must be owed, else nothing is left to look at.
    const sends = Agent.make("sends", io).handler((input, run) =>
      Effect.andThen(
        run.send("m", { threadId: ThreadId.make("t"), agent: hangs.agent, input }),
        Effect.never,
      ),
    )
    const world = makeWorld({ agents: [sends] })
    const lost = await accepted(world.admit("sends", "a"))
    await go(world.process({ attentionMillis: 2 }))
    world.crash()
    await taken(operate(world).pause())
    expect(await refused(operate(world).forget({ abort: true }))).toMatchObject({
      nonterminal: 0,
      outbox: 1,
    })
    expect(await go(world.status(lost.submissionId))).toMatchObject({
      settlement: { outcome: "aborted", abort: { forced: false } },
    })
    expect((await go(world.history())).records.map(({ kind }) => kind)).toEqual([
      "InputApplied",
      "MessageQueued",
      "AbortRequested",
      "AttemptInterrupted",
      "Settled",
    ])
  })

  it("keeps the words of an abort that came before it", async () => {
    const { agent, open } = makeStubborn()
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("stubborn", "a"))
    await go(world.process({ attentionMillis: 2 }))
    await go(world.abort(submissionId))
    await refused(operate(world).forget({ abort: true, author: "bob", reason: "later" }))
    open()
    const reply = await go(
      world.asReader.awaitSettlement({ ...world.address, submissionId, timeoutMillis: 5_000 }),
    )
    expect(reply).toMatchObject({ settlement: { abort: { author: "ann", reason: "sent twice" } } })
  })

  it("is not held up by a row that does not decode; without an abort it is", async () => {
    for (const broken of ["state = '?'", "abort = '?'", "state = '?', abort = '?'"]) {
      const world = makeWorld({ agents })
      await accepted(world.admit("keeper", "a"))
      world.storage.sql.run(`UPDATE submissions SET ${broken}`)
      world.crash()
      expect(await refused(operate(world).forget())).toMatchObject({ _tag: "WorkOwed" })
      await taken(operate(world).forget({ abort: true }))
      expect(contentOf(world)).toEqual([])
    }
  })

  it.each(["forget:before", "forget:after"])(
    "that is lost at %s has the same end when it is sent again",
    async (stopAt) => {
      const world = makeWorld({ agents, stopAt })
      const { submissionId } = await accepted(world.admit("keeper", "a"))
      const sent = world.generation()
      void operate(world)
        .forget({ abort: true, generation: sent })
        .catch(() => undefined)
      await world.stopped()
      const forgottenAt = world.time.now
      world.crash()
      world.time.now += stopAt === "forget:before" ? 0 : 5
      await operate(world)
        .forget({ abort: true, generation: sent })
        .catch((error: unknown) => expect(error).toMatchObject({ _tag: "ThreadForgotten" }))
      await expectForgotten(world, submissionId, forgottenAt)
      expect(contentOf(world)).toEqual([])
    },
  )
})
