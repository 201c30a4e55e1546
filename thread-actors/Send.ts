/**
 * `run.send`: a message to another thread, recorded and queued in one block, and carried while the run goes on.
 *
 * - S1 What is recorded is sent, once; entered again, the run gets the same id.
 */
import { Effect, Result, Schema } from "effect"
import { AgentId, type MessageId, Millis, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Letter } from "./Agent.ts"
import {
  appendFact,
  leave,
  type NewFact,
  recall,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { bytesOf } from "./Journal.ts"
import { misuse } from "./Misuse.ts"
import { messageIdOf, queue, sentUnder } from "./Outbox.ts"
import { encoded, sentPlace, textOf } from "./StoredValue.ts"
import { tellOwner } from "./TellOwner.ts"
import { isTitle } from "./Title.ts"
import { unfit } from "./UnfitInput.ts"

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
/** As it is told: the next whole millisecond. */
const isTime = (millis: number): boolean => Schema.is(Millis)(Math.ceil(millis))

/** The input in its schema's terms, or as it is where only the agent's name is known. */
const inputOf = ({ thread }: Running, { agent, input }: Letter) => {
  const place = sentPlace(thread.limits)
  return "input" in agent ? encoded(agent.input, input, place) : textOf(input, place)
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

/** What is wrong with where it goes, or with what is said beside the input. */
const mistakeIn = (letter: Letter, ownerId: OwnerId): string | undefined => {
  const { agent, delivery, notBefore, threadId, title } = letter
  if (!isOwnerId(ownerId)) return "its owner is no owner id"
  if (!isThreadId(threadId)) return "its thread is no thread id"
  if (!isAgentId(agent?.name)) return "its agent has no name"
  if (delivery !== undefined && delivery !== "queue" && delivery !== "join")
    return "its delivery is neither queue nor join"
  if (notBefore !== undefined && !isTime(notBefore))
    return "its time is no number of milliseconds, or past the year 285,000"
  return title === undefined || isTitle(title)
    ? undefined
    : "its title has more than 256 characters, or no text"
}

/** The letter as it is sent, or the end of the attempt. */
const planOf = (running: Running, name: string, letter: Letter): Effect.Effect<Plan> =>
  Effect.suspend(() => {
    const ownerId = letter.ownerId ?? running.live.identity.ownerId
    const mistake = mistakeIn(letter, ownerId)
    if (mistake !== undefined) return misuse(`message ${name}: ${mistake}`)
    const input = inputOf(running, letter)
    if (Result.isFailure(input)) return unfit(running, `message ${name}`, input.failure)
    const payload = payloadOf(letter, ownerId, input.success)
    return Effect.succeed({ ownerId, threadId: letter.threadId, payload })
  })

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
      payload: sentUnder(live.sendsUnder),
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
    const queued = yield* write(running, name, yield* planOf(running, name, letter))
    yield* tellOwner(running)
    return queued
  })
