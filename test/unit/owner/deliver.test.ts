/** Messages from another owner: who may send them, how they are taken, and what their sender is told. */
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { OwnerId, Principal, ThreadId } from "../../../contracts/Identifiers.ts"
import type { AcceptMessages, MessageRequest } from "../../../owner-object/AcceptMessages.ts"
import { idOf, submissionOf } from "./FakeOutbox.ts"
import { logged } from "./logged.ts"
import { agent, makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const run = Effect.runPromise

const source = OwnerId.make("source")
const from = { ownerId: source, threadId: ThreadId.make("s"), submissionId: submissionOf(1) }

const everybody: AcceptMessages = () => true

const messageOf = (input: unknown = "hello") => ({
  id: idOf("message"),
  agent,
  input: input as never,
  principal: Principal.make("ann"),
  from,
})

type World = ReturnType<typeof makeOwnerWorld>

/** Delivers as an owner, by default the one that the message is from. */
const deliver = (
  world: World,
  {
    as = callerHeaders({ _tag: "Owner", ownerId: source }),
    ...payload
  }: Partial<Parameters<World["client"]["deliver"]>[0]> & {
    readonly as?: Record<string, string>
  } = {},
) =>
  run(
    Effect.exit(
      world
        .connect(as)
        .deliver({ ownerId, threadId: ThreadId.make("t"), message: messageOf(), ...payload }),
    ),
  )

const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
    : undefined

const worldOf = (acceptMessages?: AcceptMessages, options: WorldOptions = {}) =>
  makeOwnerWorld({ ...options, ...(acceptMessages === undefined ? {} : { acceptMessages }) })

describe("a message of another owner", () => {
  it("is denied where no rule lets it in, and nothing is written", async () => {
    const world = worldOf()
    expect(failureOf(await deliver(world))).toMatchObject({
      _tag: "OperationDenied",
      operation: "deliver",
    })
    expect(world.storage.counts()).toMatchObject({ written: 0, read: 0, alarmWrites: 0 })
  })

  it("is taken where the target's rule lets that source in, for the owner that sent it", async () => {
    const asked: Array<MessageRequest> = []
    const world = worldOf((request) => {
      asked.push(request)
      return request.from.ownerId === source
    })
    expect(Exit.isSuccess(await deliver(world))).toBe(true)
    expect(asked).toEqual([{ from, ownerId, threadId: "t", agent }])
    expect(world.thread("t").admitted).toMatchObject([
      { input: "hello", principal: "owner:source", from, idempotencyKey: idOf("message") },
    ])
    await world.quiet()
    expect(world.thread("t").settled).toEqual([1])
  })

  it("is taken once, and answered with the first receipt when it comes again", async () => {
    const world = worldOf(() => Effect.succeed(true))
    const first = await deliver(world)
    const second = await deliver(world)
    expect(Exit.isSuccess(first) && Exit.isSuccess(second)).toBe(true)
    if (Exit.isSuccess(first) && Exit.isSuccess(second))
      expect(second.value).toEqual({ ...first.value, duplicate: true })
    expect(world.thread("t").admitted).toHaveLength(1)
  })

  it.each([
    ["an owner that it is not from", callerHeaders({ _tag: "Owner", ownerId })],
    ["a client", callerHeaders({ _tag: "Principal", principal: Principal.make("ann") })],
    [
      "a thread of its source",
      callerHeaders({ _tag: "Thread", ownerId: source, threadId: ThreadId.make("s") }),
    ],
    ["nobody", {}],
  ])("is denied to %s, whatever the rule says", async (_, as) => {
    const world = worldOf(everybody)
    expect(failureOf(await deliver(world, { as }))).toMatchObject({ _tag: "OperationDenied" })
    expect(world.storage.counts()).toMatchObject({ written: 0 })
  })

  it("is refused by an owner that it does not name", async () => {
    const world = worldOf(everybody)
    const exit = await deliver(world, { ownerId: OwnerId.make("another") })
    expect(failureOf(exit)).toMatchObject({ _tag: "IdentityMismatch" })
    expect(world.storage.counts()).toMatchObject({ written: 0 })
  })

  it("is refused with text that cannot be stored, and nothing is written", async () => {
    const world = worldOf(everybody)
    const exit = await deliver(world, { message: messageOf("a\u0000b") })
    expect(failureOf(exit)).toMatchObject({ _tag: "InvalidInput" })
    expect(world.storage.counts()).toMatchObject({ written: 0 })
  })

  it("for a missing agent is told so only by code that knows the agents of its sender", async () => {
    const world = worldOf(everybody)
    world.thread("t").refuses = true
    const told = async (agentsDigest?: string) => {
      const exit = await deliver(world, agentsDigest === undefined ? {} : { agentsDigest })
      return failureOf(exit)
    }
    expect(await told("agents")).toMatchObject({ _tag: "AgentNotRegistered" })
    expect(await told()).toMatchObject({ _tag: "AgentNotRegistered" })
    expect(await told("others")).toMatchObject({ _tag: "Unavailable", retryable: true })
  })
})

describe("a rule for messages", () => {
  const secret = "hunter2"

  it.each<[string, AcceptMessages]>([
    ["fails", () => Effect.fail(new Error(secret))],
    ["dies", () => Effect.die(new Error(secret))],
    [
      "throws",
      () => {
        throw new Error(secret)
      },
    ],
    ["does not answer", () => Effect.never],
  ])("that %s is no denial, and its words are not logged", async (_, rule) => {
    const world = worldOf(rule, { limits: { authorizeMillis: 10 } })
    const lines = await logged(async () => {
      expect(failureOf(await deliver(world))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
        overloaded: false,
      })
    })
    expect(lines.some((line) => line.includes("the rule for messages failed"))).toBe(true)
    expect(lines.join()).not.toContain(secret)
    expect(world.storage.counts()).toMatchObject({ written: 0 })
  })

  it.each([false, undefined, 1, "yes"])("that answers %s lets nothing in", async (answer) => {
    const world = worldOf(() => answer as never)
    expect(failureOf(await deliver(world))).toMatchObject({ _tag: "OperationDenied" })
    const later = worldOf(() => Effect.succeed(answer as never))
    expect(failureOf(await deliver(later))).toMatchObject({ _tag: "OperationDenied" })
  })
})
