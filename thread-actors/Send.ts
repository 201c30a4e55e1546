/**
 * `run.send`: a message to another thread, recorded and queued in one block, and carried while the run goes on.
 *
 * - S1 What is recorded is sent, once; entered again, the run gets the same id.
 */
import { Effect, Result, Schema } from "effect"
import { AgentId, type MessageId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Letter } from "./Agent.ts"
import {
  appendFact,
  giveUp,
  leave,
  type NewFact,
  recall,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { bytesOf } from "./Journal.ts"
import { encoded, textOf, whyUnstorable } from "./StoredValue.ts"
import { misuse } from "./Misuse.ts"
import { messageIdOf, queue } from "./Outbox.ts"
import { tellOwner } from "./TellOwner.ts"

/** A letter that has been read. */
interface Plan {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** Canonical JSON. */
  readonly payload: string
}

const isOwnerId = Schema.is(OwnerId)
const isThreadId = Schema.is(ThreadId)
const isAgentId = Schema.is(AgentId)

const isTitle = (title: unknown): boolean =>
  title === undefined ||
  (typeof title === "string" &&
    title.length <= 256 &&
    title.isWellFormed() &&
    !title.includes("\0"))

/** The input in its schema's terms, or as it is where only the agent's name is known. */
const inputOf = ({ thread }: Running, { agent, input }: Letter): Result.Result<string, string> => {
  const place = { limits: thread.limits, size: "recordBytes" } as const
  const text = "input" in agent ? encoded(agent.input, input, place) : textOf(input, place)
  return Result.mapError(text, (why) => `its input ${whyUnstorable(why)}`)
}

/** Its parts in the order of their names. */
const payloadOf = (letter: Letter, ownerId: OwnerId, input: string): string => {
  const { agent, delivery, notBefore, threadId, title } = letter
  const parts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["agent", JSON.stringify(agent.name)],
    ["delivery", delivery === undefined ? undefined : JSON.stringify(delivery)],
    ["input", input],
    ["notBefore", notBefore === undefined ? undefined : String(Math.ceil(notBefore))],
    ["ownerId", JSON.stringify(ownerId)],
    ["threadId", JSON.stringify(threadId)],
    ["title", title === undefined ? undefined : JSON.stringify(title)],
  ]
  const said = parts.flatMap(([name, text]) => (text === undefined ? [] : [`"${name}":${text}`]))
  return `{${said.join()}}`
}

const planOf = (running: Running, letter: Letter): Result.Result<Plan, string> => {
  const ownerId = letter.ownerId ?? running.live.identity.ownerId
  const { agent, delivery, notBefore, threadId, title } = letter
  if (!isOwnerId(ownerId)) return Result.fail("its owner is no owner id")
  if (!isThreadId(threadId)) return Result.fail("its thread is no thread id")
  if (!isAgentId(agent?.name)) return Result.fail("its agent has no name")
  if (delivery !== undefined && delivery !== "queue" && delivery !== "join")
    return Result.fail("its delivery is neither queue nor join")
  if (notBefore !== undefined && !(Number.isFinite(notBefore) && notBefore >= 0))
    return Result.fail("its time is no number of milliseconds")
  if (!isTitle(title)) return Result.fail("its title has more than 256 characters, or no text")
  return Result.map(inputOf(running, letter), (input) => ({
    ownerId,
    threadId,
    payload: payloadOf(letter, ownerId, input),
  }))
}

const write = (running: Running, name: string, plan: Plan): Effect.Effect<MessageId> =>
  writeFact(running, "send", (block) => {
    const { live } = running
    const fact: NewFact = { kind: "MessageQueued", name, payload: plan.payload }
    const full = appendFact(block, live, fact)
    if (full !== undefined) return full
    const id = messageIdOf("Message", live.row.id, name)
    queue(block, {
      id,
      ownerId: plan.ownerId,
      threadId: plan.threadId,
      kind: "Message",
      submission: live.sequence,
      name,
      deadlineAt: block.now + block.thread.limits.messageDeadlineMillis,
      bytes: bytesOf(plan.payload),
      payload: "{}",
    })
    return { value: id } // S1
  })

/** The message, as `Run` offers it. */
export const send = (running: Running, name: string, letter: Letter): Effect.Effect<MessageId> =>
  Effect.gen(function* () {
    yield* takeName(running, name)
    const recorded = yield* recall(running, name)
    const id = messageIdOf("Message", running.live.row.id, name)
    if (recorded !== undefined)
      return recorded.kind === "MessageQueued"
        ? id // S1
        : yield* leave(running, { _tag: "Mismatch", name })
    const plan = planOf(running, letter)
    if (Result.isFailure(plan))
      return plan.failure.includes("exceeds")
        ? yield* giveUp(running, "ResultTooLarge", `message ${name}: ${plan.failure}`)
        : yield* misuse(`message ${name}: ${plan.failure}`)
    const queued = yield* write(running, name, plan.success)
    yield* tellOwner(running)
    return queued
  })
