/** Days on which something was lost or full, and what a run has asked for must end all the same. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { StepName, type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom, type LoomOptions } from "./Loom.ts"

const go = Effect.runPromise
const io = { input: Schema.Json, output: Schema.Json }
const said = { ownerId, author: "ann", reason: "because" }

const Quick = Agent.make("quick", io)
const Patient = Agent.make("patient", io)
const Ghost = Agent.make("ghost", io)
const Brief = Agent.make("brief", { ...io, retention: "30 millis" })

const ran: Array<string> = []

const agents = [
  Quick.handler((input) => Effect.succeed(input)),
  Patient.handler((input, run) => Effect.as(run.approval("go", { summary: "?" }), input)),
  Brief.handler((input, run) => Effect.sync(() => (ran.push(run.info.threadId), input))),
  Agent.make("parent", io).handler((input, run) => Effect.orDie(run.child("kid", Quick, input))),
  Agent.make("waits", io).handler((input, run) => Effect.orDie(run.child("kid", Patient, input))),
  Agent.make("hands-on", io).handler((input, run) =>
    run.child("kid", Agent.make("waits", io), input).pipe(
      Effect.catchTag("ChildFailed", ({ tag }) => Effect.succeed(tag)),
      Effect.orDie,
    ),
  ),
  Agent.make("leaves", io).handler((input, run) =>
    Effect.as(Effect.orDie(run.child("kid", Ghost, input, { detached: true })), "left"),
  ),
  Agent.make("tells", io).handler((_, run) =>
    Effect.as(run.send("m", { threadId: ThreadId.make("b"), agent: Brief, input: 1 }), "sent"),
  ),
  Agent.make("says-and-waits", io).handler(
    Effect.fn(function* (to, run) {
      yield* run.send("m", {
        threadId: ThreadId.make(to as string),
        agent: Quick,
        input: 1,
      })
      yield* run.approval("go", { summary: "?" })
      return 1
    }),
  ),
  Agent.make("briefs", io).handler((input, run) => Effect.orDie(run.child("kid", Brief, input))),
  Agent.make("late", io).handler((at, run) =>
    run.send("m", {
      threadId: ThreadId.make("b"),
      agent: Quick,
      input: 1,
      notBefore: at as number,
    }),
  ),
  Agent.make("asks-twice", io).handler(
    Effect.fn(function* (_, run) {
      const first = yield* run.race("r", { a: run.sleep("a", 150), b: run.sleep("b", 60_000) })
      yield* run.sleep("b", 5)
      return first.branch
    }),
  ),
]

const makeDay = (options: Partial<LoomOptions> = {}) => {
  const soon = { messageRetryMillis: 5, messageRetryMaxMillis: 20, forgetRetryMillis: 5 }
  const limits = { ...soon, forgetRetryMaxMillis: 20, retentionRetryMillis: 30, ...options.limits }
  const loom = makeLoom({ agents, ...options, limits })
  const submit = (threadId: string, agent: string, input: number | string = 1) =>
    loom.give(threadId, agent, input)
  const kidOf = async (threadId: string): Promise<ThreadId> => {
    const { records } = await loom.history(threadId)
    const asked = records.find(({ kind }) => kind === "ChildRequested")
    if (asked === undefined) throw new Error("no child was asked for")
    return (asked.payload as { readonly threadId: ThreadId }).threadId
  }
  const abort = (threadId: string, submissionId: SubmissionId) =>
    go(loom.client.abort({ ...said, threadId: ThreadId.make(threadId), submissionId }))
  const isSettled = async (threadId: string, submissionId: SubmissionId): Promise<boolean> =>
    (await loom.status(threadId, submissionId)).state === "settled"
  return { abort, isSettled, kidOf, loom, submit }
}

describe("an owner that is full", () => {
  it("of parents lets their children in", async () => {
    const { isSettled, loom, submit } = makeDay({ limits: { nonterminalPerOwner: 2 } })
    const [a, b] = [await submit("a", "parent"), await submit("b", "parent")]
    await loom.quiet()
    expect(await isSettled("a", a.submissionId)).toBe(true)
    expect(await isSettled("b", b.submissionId)).toBe(true)
  })

  it("to its last byte lets a child's end through, and its thread be forgotten", async () => {
    const { isSettled, kidOf, loom, submit } = makeDay()
    const { submissionId } = await submit("a", "waits")
    await loom.quiet()
    const threadId = await kidOf("a")
    Object.assign(loom.limits, { databaseBytes: 1 })
    const forgotten = go(loom.client.forgetThread({ ...said, threadId, abort: true }))
    await loom.quiet()
    expect(await forgotten).toMatchObject({ _tag: "Forgotten" })
    expect(await isSettled("a", submissionId)).toBe(true)
  })

  it("to its last byte has what it holds ended by an abort, and by a decision", async () => {
    const { abort, isSettled, kidOf, loom, submit } = makeDay()
    const [a, b] = [await submit("a", "waits"), await submit("b", "waits")]
    await loom.quiet()
    const threadId = await kidOf("b")
    const { records } = await loom.history(threadId)
    const kid = { threadId, submissionId: records[0]?.submissionId as SubmissionId }
    Object.assign(loom.limits, { databaseBytes: 1 })
    await abort("a", a.submissionId)
    const name = StepName.make("go")
    await go(loom.client.resolveApproval({ ...said, ...kid, name, approved: true }))
    await loom.quiet()
    expect(await isSettled("a", a.submissionId)).toBe(true)
    expect(await isSettled("b", b.submissionId)).toBe(true)
  })
})

describe("a run", () => {
  it("whose child's input is larger than any may be is told so, and settles", async () => {
    const { isSettled, loom, submit } = makeDay({ limits: { inputBytes: 200 } })
    const small = await submit("a", "parent", "x".repeat(150))
    await loom.quiet()
    expect(await isSettled("a", small.submissionId)).toBe(true)
    const grows = Agent.make("grows", io).handler((_, run) =>
      Effect.orDie(run.child("kid", Quick, "x".repeat(300))),
    )
    const other = makeDay({ agents: [...agents, grows], limits: { inputBytes: 200 } })
    const large = await other.submit("a", "grows", "x".repeat(150))
    await other.loom.quiet()
    expect(await other.loom.status("a", large.submissionId)).toMatchObject({
      state: "settled",
      settlement: { outcome: "failed" },
    })
  })

  it.each([1e16, 1e300, -1, Number.MAX_VALUE])("cannot send for the time %s", async (at) => {
    const { loom, submit } = makeDay()
    const { submissionId } = await submit("a", "late", at)
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({
      settlement: { outcome: "failed" },
    })
  })

  it("cannot use a name of a branch that has lost while it was suspended", async () => {
    const { loom, submit } = makeDay()
    const { submissionId } = await submit("a", "asks-twice")
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({
      settlement: {
        outcome: "failed",
        failure: { message: expect.stringContaining("b") as string },
      },
    })
  })

  it("that has completed in one attempt has lost none, whatever became of its messages", async () => {
    const { loom, submit } = makeDay()
    await submit("b", "quick")
    await loom.quiet()
    const forgotten = go(
      loom.client.forgetThread({ ...said, threadId: ThreadId.make("b"), abort: true }),
    )
    await loom.quiet()
    await forgotten
    await submit("a", "tells")
    await loom.quiet()
    const told = JSON.stringify(await loom.explain("a"))
    expect(told).toContain("outbox")
    expect(told).not.toContain("lost with its object")
  })
})

describe("a child", () => {
  it("that was damaged and forgotten lets its parent be aborted", async () => {
    const { abort, isSettled, kidOf, loom, submit } = makeDay()
    const { submissionId } = await submit("a", "waits")
    await loom.quiet()
    const threadId = await kidOf("a")
    loom.database(threadId)?.sql.run("UPDATE submissions SET attempts = 'x'")
    loom.crashThread(threadId)
    const forgotten = go(loom.client.forgetThread({ ...said, threadId, abort: true }))
    await loom.quiet()
    expect(await forgotten).toMatchObject({ _tag: "Forgotten" })
    await abort("a", submissionId)
    await loom.quiet()
    expect(await isSettled("a", submissionId)).toBe(true)
  })

  it("whose end its restored parent does not know tells it once more when it is to end", async () => {
    const { abort, isSettled, kidOf, loom, submit } = makeDay()
    const parent = await submit("a", "waits")
    await loom.quiet()
    const threadId = await kidOf("a")
    const restore = loom.backup("a")
    const { records } = await loom.history(threadId)
    const submissionId = records[0]?.submissionId as SubmissionId
    const name = StepName.make("go")
    await go(loom.client.resolveApproval({ ...said, threadId, submissionId, name, approved: true }))
    await loom.quiet()
    restore()
    await abort("a", parent.submissionId)
    await loom.quiet()
    expect(await isSettled("a", parent.submissionId)).toBe(true)
  })

  it("of whose admission nobody has heard ends before its parent, also while it is being forgotten", async () => {
    let admitted = 0
    let away: ThreadId | undefined
    const { isSettled, kidOf, loom, submit } = makeDay({
      limits: { messageRetryMillis: 600, messageRetryMaxMillis: 600 },
      threadDies: (point) => point === "admit:after" && ++admitted === 2,
      threadAway: (threadId) =>
        threadId === away ? Promise.reject(new Error("Network connection lost.")) : undefined,
    })
    const { submissionId } = await submit("a", "hands-on")
    const waiting = () =>
      loom.threadIds().filter((threadId) => {
        const { sql } = loom.database(threadId) ?? {}
        return sql?.all("SELECT 1 FROM submissions WHERE state = 'suspended'").length === 1
      })
    await loom.alarmsUntil("all wait", () => waiting().length === 3)
    const threadId = await kidOf("a")
    away = await kidOf(threadId)
    const forgotten = go(loom.client.forgetThread({ ...said, threadId, abort: true }))
    const { sql } = loom.database(ThreadId.make("a")) ?? {}
    const isOverdue = () => sql?.all("SELECT 1 FROM outbox WHERE tries < 2").length !== 0
    expect(isOverdue()).toBe(true)
    await loom.alarmsUntil("it was asked for once more", () => !isOverdue())
    expect(await isSettled("a", submissionId)).toBe(false)
    away = undefined
    await loom.quiet()
    await forgotten
    expect(await loom.status("a", submissionId)).toMatchObject({
      settlement: { outcome: "completed", output: "Aborted" },
    })
  })

  it("that nobody waits for and nobody takes is told to operators, who may have it tried again", async () => {
    const { loom, submit } = makeDay()
    const { submissionId } = await submit("a", "leaves")
    for (let tries = 0; tries < 2; tries++) {
      await loom.quiet()
      const { obligations } = await go(loom.client.obligations({ ownerId, agedAfterMillis: 0 }))
      expect(obligations).toMatchObject([{ threadId: "a", blocker: "outbox", name: "kid" }])
      expect(await loom.unverified("a")).toEqual([])
      await go(loom.client.retry({ ...said, threadId: ThreadId.make("a"), submissionId }))
      expect(await loom.unverified("a")).toEqual([])
    }
  })
})

it.each([
  ["two threads that have something for each other", ["a", "b"]],
  ["a thread that has something for itself", ["a"]],
] as const)("%s can be forgotten", async (_, names) => {
  const slow = { messageRetryMillis: 300, messageRetryMaxMillis: 300 }
  const { loom, submit } = makeDay({ limits: { queuedPerThread: 1, ...slow } })
  for (const [index, name] of names.entries())
    await submit(name, "says-and-waits", names[(index + 1) % names.length])
  const until = Date.now() + 150
  await loom.alarmsUntil("all wait, and a message was refused", () => Date.now() > until)
  const ends = names.map((name) =>
    go(loom.client.forgetThread({ ...said, threadId: ThreadId.make(name), abort: true })),
  )
  await loom.quiet()
  await Promise.all(ends)
  for (const name of names) expect(loom.lane(name)).toBeUndefined()
})

it.each(["tells", "briefs"])(
  "what %s has sent runs once, also where it is pruned before anybody hears that it was taken",
  async (agent) => {
    ran.length = 0
    const hooks = { isLost: true }
    const { loom, submit } = makeDay({
      hooks: {
        request: (message) =>
          hooks.isLost &&
          message._tag === "Request" &&
          message.tag === "acknowledgeOutbox" &&
          JSON.stringify(message).includes('"a"')
            ? "drop"
            : "deliver",
      },
    })
    await submit("a", agent)
    await loom.alarmsUntil("it has run", () => ran.length > 0)
    const until = Date.now() + 400
    await loom.alarmsUntil("it was pruned and sent again", () => Date.now() > until)
    hooks.isLost = false
    await loom.quiet()
    expect(ran).toHaveLength(1)
  },
)
