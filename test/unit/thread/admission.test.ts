import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { makeGeneration } from "../../../contracts/Identifiers.ts"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import { makeWireClient } from "../../../contracts/transport/WireClient.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, refusal, tags, type World } from "./harness.ts"

const Echo = Agent.make("echo", { input: Schema.Unknown, output: Schema.Unknown }).handler(
  (input) => Effect.succeed(input),
)

const mark = (counter: number) => makeGeneration({ incarnation: 7, counter })

const rowsOf = (world: World) => {
  const tables = JSON.parse(world.storage.dump()) as Array<[string, string, Array<unknown>]>
  return tables.find(([name]) => name === "submissions")?.[2] ?? []
}

const nested = (depth: number): Agent.Json => (depth === 0 ? 1 : [nested(depth - 1)])

describe("admission", () => {
  it("numbers a thread's submissions from 1 without gaps, refusals between them or not", async () => {
    const world = makeWorld({ agents: [Echo] })
    const sequences: Array<number> = []
    for (let index = 0; index < 5; index++) {
      sequences.push((await accepted(world.admit("echo", index))).sequence)
      await refusal(world.admit("nobody", index))
    }
    expect(sequences).toEqual([1, 2, 3, 4, 5])
  })

  it("makes ids that sort by time and differ between threads of one instant", async () => {
    const one = makeWorld({ agents: [Echo] })
    const two = makeWorld({ agents: [Echo] })
    const first = await accepted(one.admit("echo", 1))
    const second = await accepted(one.admit("echo", 1))
    const other = await accepted(two.admit("echo", 1))
    expect(first.submissionId < second.submissionId).toBe(true)
    expect(other.submissionId).not.toBe(first.submissionId)
    expect(await go(Effect.flip(two.status(first.submissionId)))).toMatchObject({
      _tag: "SubmissionNotFound",
    })
  })

  it("answers the same key and content with the first receipt, also after it has settled", async () => {
    const world = makeWorld({ agents: [Echo] })
    const key = { idempotencyKey: "intent" }
    const first = await accepted(world.admit("echo", { b: 1, a: 2 }, key))
    world.time.now += 50
    expect(await accepted(world.admit("echo", { a: 2, b: 1 }, key))).toEqual({
      ...first,
      duplicate: true,
    })
    await drain(world)
    world.crash()
    expect(await accepted(world.admit("echo", { a: 2, b: 1 }, key))).toEqual({
      ...first,
      duplicate: true,
    })
    expect(rowsOf(world)).toHaveLength(1)
  })

  it("refuses the same key with another input, or for another agent", async () => {
    const Other = Agent.make("other", { input: Schema.Unknown, output: Schema.Unknown }).handler(
      Effect.succeed,
    )
    const world = makeWorld({ agents: [Echo, Other] })
    const key = { idempotencyKey: "intent" }
    const { submissionId } = await accepted(world.admit("echo", 1, key))
    const conflict = { _tag: "IdempotencyConflict", idempotencyKey: "intent", submissionId }
    expect(await refusal(world.admit("echo", 2, key))).toMatchObject(conflict)
    expect(await refusal(world.admit("other", 1, key))).toMatchObject(conflict)
  })

  it("scopes keys by principal", async () => {
    const world = makeWorld({ agents: [Echo] })
    const key = { idempotencyKey: "intent" }
    await accepted(world.admit("echo", 1, { ...key, principal: "alice" }))
    const bob = await accepted(world.admit("echo", 2, { ...key, principal: "bob" }))
    expect(bob).toMatchObject({ sequence: 2, duplicate: false })
  })

  it("serves a known key beyond every limit, and with an unreadable history", async () => {
    const world = makeWorld({ agents: [Echo] })
    const key = { idempotencyKey: "intent" }
    const first = await accepted(world.admit("echo", "long enough", key))
    await drain(world)
    world.storage.sql.run("UPDATE journal SET payload = '{', kind = '?'")
    world.crash({ agents: [], limits: { inputBytes: 1, queuedPerThread: 0, databaseBytes: 1 } })
    expect(await accepted(world.admit("echo", "long enough", key))).toEqual({
      ...first,
      duplicate: true,
    })
  })

  it("serves a known key deeper than is allowed by now, and refuses a new one", async () => {
    const world = makeWorld({ agents: [Echo] })
    const key = { idempotencyKey: "k" }
    const first = await accepted(world.admit("echo", nested(3), key))
    world.crash({ limits: { jsonNesting: 2 } })
    expect(await accepted(world.admit("echo", nested(3), key))).toEqual({
      ...first,
      duplicate: true,
    })
    expect(await refusal(world.admit("echo", nested(4), key))).toMatchObject({
      _tag: "IdempotencyConflict",
    })
    expect(await refusal(world.admit("echo", nested(3)))).toMatchObject({
      _tag: "InvalidInput",
      path: "[0][0]",
      reason: "nested deeper than 2",
    })
  })

  it.each([
    ["NUL", "a\0b"],
    ["a lone surrogate", "\ud800"],
    ["a lone surrogate in a key", { "\udc00": 1 }],
    ["nesting beyond 64", nested(65)],
  ])("refuses %s without a trace", async (_what, input) => {
    const world = makeWorld({ agents: [Echo] })
    const before = world.storage.dump()
    expect(await refusal(world.admit("echo", input))).toMatchObject({ _tag: "InvalidInput" })
    expect(world.storage.dump()).toBe(before)
  })

  it("refuses a number that is not finite before it can be stored", async () => {
    const world = makeWorld({ agents: [Echo] })
    const call = world.admit("echo", Number.NaN)
    expect(await go(Effect.flip(call))).toMatchObject({ _tag: "InvalidInput" })
    expect(world.storage.dump()).toBe("[]")
  })

  it("refuses text that is no title", async () => {
    const world = makeWorld({ agents: [Echo] })
    expect(await refusal(world.admit("echo", 1, { title: "a\0" }))).toMatchObject({
      _tag: "InvalidInput",
      path: "title",
    })
  })

  it("stores text as it was given", async () => {
    const world = makeWorld({ agents: [Echo] })
    const input = { "é 😀": ["\ud83d\ude00", "\u2028", 1e21, -0.5, null, true], __proto__x: "" }
    const { submissionId } = await accepted(world.admit("echo", input))
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({ settlement: { output: input } })
  })

  it("counts canonical bytes against the input limit", async () => {
    const world = makeWorld({ agents: [Echo], limits: { inputBytes: 10 } })
    await accepted(world.admit("echo", "12345678"))
    expect(await refusal(world.admit("echo", "123456789"))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "inputBytes",
      actual: 11,
      maximum: 10,
    })
    expect(await refusal(world.admit("echo", "x".repeat(1024 * 1024)))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "inputBytes",
    })
  })

  it("refuses an agent this deployment lacks, and accepts it from one that has it", async () => {
    const world = makeWorld({ agents: [] })
    expect(await refusal(world.admit("echo", 1))).toMatchObject({
      _tag: "AgentNotRegistered",
      agent: "echo",
    })
    world.crash({ agents: [Echo] })
    expect(await accepted(world.admit("echo", 1))).toMatchObject({ sequence: 1 })
  })

  it("bounds the queue, and takes the next once one has settled", async () => {
    const world = makeWorld({ agents: [Echo], limits: { queuedPerThread: 2 } })
    await accepted(world.admit("echo", 1))
    await accepted(world.admit("echo", 2))
    expect(await refusal(world.admit("echo", 3))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "queuedPerThread",
      actual: 3,
      maximum: 2,
    })
    await go(world.process({ maxHeads: 1 }))
    expect(await accepted(world.admit("echo", 3))).toMatchObject({ sequence: 3 })
  })

  it("refuses with StorageFull near the end of the database, while everything else goes on", async () => {
    const world = makeWorld({ agents: [Echo] })
    const { submissionId } = await accepted(world.admit("echo", 1))
    world.crash({ limits: { databaseBytes: 4_096 } })
    expect(await refusal(world.admit("echo", 2))).toMatchObject({
      _tag: "StorageFull",
      maximumBytes: 4_096,
    })
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
  })

  it("tells a storage failure as such, and leaves nothing behind", async () => {
    const world = makeWorld({ agents: [Echo] })
    await accepted(world.admit("echo", 1))
    world.storage.sql.run(
      "CREATE TRIGGER broken BEFORE INSERT ON submissions BEGIN SELECT RAISE(ABORT, 'disk'); END",
    )
    const failed = await go(Effect.flip(world.admit("echo", 2)))
    expect(failed).toMatchObject({ _tag: "StorageUnavailable", operation: "admit" })
    expect(JSON.stringify(failed)).not.toContain("disk")
    world.storage.sql.run("DROP TRIGGER broken")
    expect(rowsOf(world)).toHaveLength(1)
    expect(await accepted(world.admit("echo", 2))).toMatchObject({ sequence: 2 })
  })
})

describe("the fence", () => {
  it("refuses mutations of its generation and older ones for ever", async () => {
    const world = makeWorld({ agents: [Echo] })
    const { report } = await go(world.inspect(mark(5)))
    expect(report).toMatchObject({ fence: mark(5), nonterminal: 0 })
    expect(report.born).not.toBe("")
    for (const counter of [3, 5])
      expect(await refusal(world.admit("echo", 1, { generation: mark(counter) }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
        overloaded: false,
      })
    world.crash()
    expect(await refusal(world.admit("echo", 1, { generation: mark(5) }))).toMatchObject({
      _tag: "Unavailable",
    })
    await accepted(world.admit("echo", 1, { generation: mark(6) }))
  })

  it("refuses a late call even for a key that it has accepted", async () => {
    const world = makeWorld({ agents: [Echo] })
    const call = { idempotencyKey: "intent", generation: mark(1) }
    await accepted(world.admit("echo", 1, call))
    await go(world.inspect(mark(1)))
    expect(await refusal(world.admit("echo", 1, call))).toMatchObject({ _tag: "Unavailable" })
  })

  it("never goes back, and a replayed visit writes nothing", async () => {
    const world = makeWorld({ agents: [Echo] })
    const first = await go(world.inspect(mark(5)))
    const before = world.storage.dump()
    expect(await go(world.inspect(mark(5)))).toEqual(first)
    expect(await go(world.inspect(mark(4)))).toEqual(first)
    expect(world.storage.dump()).toBe(before)
    const higher = await go(world.inspect(mark(9)))
    expect(higher.report).toMatchObject({ fence: mark(9), revision: first.report.revision + 1 })
  })

  it("keeps a refused generation refused, whatever changes before its replay", async () => {
    const world = makeWorld({ agents: [Echo], limits: { queuedPerThread: 1 } })
    await accepted(world.admit("echo", 1))
    const call = { idempotencyKey: "late", generation: mark(50) }
    expect(await refusal(world.admit("echo", 2, call))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
    })
    await drain(world)
    expect(await refusal(world.admit("echo", 2, call))).toMatchObject({
      _tag: "Unavailable",
      retryable: true,
    })
    world.crash()
    expect(await refusal(world.admit("echo", 2, call))).toMatchObject({ _tag: "Unavailable" })
    await accepted(world.admit("echo", 2, { ...call, generation: mark(51) }))
  })

  it("remembers the last refused generations, as many as the limit says", async () => {
    const world = makeWorld({ agents: [Echo], limits: { refusedGenerations: 2 } })
    for (const counter of [1, 2, 3])
      await refusal(world.admit("gone", 1, { generation: mark(counter) }))
    expect(await refusal(world.admit("echo", 1, { generation: mark(3) }))).toMatchObject({
      _tag: "Unavailable",
    })
    await accepted(world.admit("echo", 1, { generation: mark(1) }))
  })
})

describe("a deferred submission", () => {
  it("keeps out of the queue until its time, and then takes its place by sequence", async () => {
    const world = makeWorld({ agents: [Echo] })
    const at = world.time.now + 60_000
    const later = await accepted(world.admit("echo", "later", { notBefore: at }))
    const now = await accepted(world.admit("echo", "now"))
    expect(await answers(world.process())).toMatchObject([{ submissionId: now.submissionId }])
    const { report } = await go(world.inspect())
    expect(report).toMatchObject({ nonterminal: 1, dueAt: at })
    expect(report.head).toBeUndefined()
    expect(await answers(world.process())).toEqual([])
    const behind = await accepted(world.admit("echo", "behind"))
    world.time.now = at
    expect(await answers(world.process())).toMatchObject([
      { submissionId: later.submissionId },
      { submissionId: behind.submissionId },
    ])
    expect((await go(world.inspect())).report.dueAt).toBeUndefined()
  })

  it("whose time has passed at admission is an ordinary one", async () => {
    const world = makeWorld({ agents: [Echo] })
    await accepted(world.admit("echo", 1, { notBefore: world.time.now }))
    expect((await go(world.inspect())).report).toMatchObject({ dueAt: 0, head: { sequence: 1 } })
  })
})

describe("the thread's door", () => {
  it("refuses a call that means another owner or thread, and reads nothing for it", async () => {
    const world = makeWorld({ agents: [Echo] })
    const { submissionId } = await accepted(world.admit("echo", 1))
    const other = { ...world.address, threadId: "order-2" as never }
    world.crash()
    const before = world.storage.counts().read
    expect(await go(Effect.flip(world.asReader.status({ ...other, submissionId })))).toMatchObject({
      _tag: "IdentityMismatch",
      threadId: "order-2",
    })
    expect(await go(Effect.flip(world.asReader.history(other)))).toMatchObject({
      _tag: "IdentityMismatch",
    })
    expect(await go(Effect.flip(world.asOwner.inspect({ ...other, now: 1 })))).toMatchObject({
      _tag: "IdentityMismatch",
    })
    expect(world.storage.counts().read).toBe(before)
  })

  it("refuses callers without a role, of another role, or of another owner", async () => {
    const world = makeWorld({ agents: [Echo] })
    const as = (headers: Record<string, string>) =>
      makeWireClient(ThreadRpc, { target: world.target, headers })
    const inspect = (headers: Record<string, string>) =>
      Effect.scoped(
        Effect.flatMap(as(headers), (client) => client.inspect({ ...world.address, now: 1 })),
      )
    for (const headers of [
      {},
      callerHeaders({ _tag: "Principal", principal: "alice" as never }),
      callerHeaders({ _tag: "Owner", ownerId: "evil" as never }),
      callerHeaders({ _tag: "Thread", ...world.address }),
    ])
      expect(await go(Effect.flip(inspect(headers)))).toMatchObject({ _tag: "OperationDenied" })
  })

  it("starts on the call after one whose start failed, and answers that one as Unavailable", async () => {
    const world = makeWorld({ agents: [Echo] })
    await accepted(world.admit("echo", 1))
    world.crash()
    const { sql } = world.storage
    sql.run("ALTER TABLE meta RENAME TO lost")
    for (let time = 0; time < 3; time++)
      expect(await go(Effect.flip(world.inspect()))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
    sql.run("ALTER TABLE lost RENAME TO meta")
    expect((await go(world.inspect())).report).toMatchObject({ nonterminal: 1 })
  })
})
