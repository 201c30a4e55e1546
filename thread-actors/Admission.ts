/**
 * Admission: one block that accepts an input or says why not.
 *
 * - A1 A receipt exists only for what this block has committed.
 * - A2 The same key with the same content is answered with the first receipt, whatever the limits.
 * - A3 A refusal that could turn out otherwise later is remembered. Where keys are pruned, so is every word about one that
 *   is known: it would be about a new one later.
 * - A4 What was sent before the last submission was accepted whose key was pruned may be that one, carried out again by the
 *   platform: it is refused as too late. Its owner, if it waits, sends it once more.
 */
import { Result } from "effect"
import { canonicalJson, type CanonicalText } from "../contracts/CanonicalJson.ts"
import {
  AdmissionLimitExceeded,
  AgentNotRegistered,
  IdempotencyConflict,
  InvalidInput,
  StorageFull,
  type Unavailable,
} from "../contracts/Errors.ts"
import type {
  AgentId,
  Generation,
  IdempotencyKey,
  OwnerId,
  Principal,
  SubmissionId,
  ThreadId,
} from "../contracts/Identifiers.ts"
import type { AdmissionRefusal, Receipt } from "../contracts/Submission.ts"
import type { ParentLink, Sender } from "../contracts/Outbox.ts"
import { sha256 } from "../platform/Digest.ts"
import { intend } from "./Abort.ts"
import { takeMark } from "./AbortChild.ts"
import { type Block, patchHeader, transactAnyhow } from "./Block.ts"
import { behindFence, fenced, remember } from "./Fence.ts"
import { nonterminalOf } from "./Header.ts"
import { countJoined } from "./Joined.ts"
import { findKey, linkOriginal, readRow, submissionIdOf } from "./Ledger.ts"
import { keyText, originText } from "./Parent.ts"
import { prunes } from "./Retention.ts"
import { abortedBy, settle } from "./Settle.ts"
import { hardCapBytes, hardCapNesting } from "./SizeLimit.ts"
import type { Thread } from "./Thread.ts"

/** What an admission says of who sends it, besides the submission. */
export interface Admitted {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly principal: Principal
  readonly generation: Generation
  /** The trace that it came in; a replay changes nothing of it. */
  readonly trace?: string | undefined
  /** What a full owner answers to every key that was not accepted before. */
  readonly replayOnly?:
    | { readonly limit: string; readonly actual: number; readonly maximum: number }
    | undefined
}

export interface Admission extends Admitted {
  readonly agent: AgentId
  readonly input: unknown
  readonly idempotencyKey: IdempotencyKey
  readonly delivery?: "queue" | "join"
  readonly title?: string
  readonly notBefore?: number
  /** The submission whose work it does again. */
  readonly resubmissionOf?: SubmissionId
  /** The run that sent it, or whose child it is; its id as one is the key. */
  readonly from?: Sender
  readonly parent?: ParentLink
}

/** With its owner's clock when it was sent. */
export type Sent<A> = A & { readonly now: number }

/** A submission of which no caller waits to be let in, and whose input is at hand as it is stored. */
export type Submitted = Omit<Admission, "generation" | "input">

/** An input as it would be stored; `digest` names the intent: the agent and the input. */
export interface Content {
  readonly canonical: CanonicalText
  readonly digest: string
  /** Why it is not taken under a new key, where this deployment allows less than can be stored. */
  readonly tooDeep?: InvalidInput
}

/** What no thread accepts, at any time, is refused before anything is read. */
export const contentOf = (
  thread: Thread,
  admission: Pick<Admission, "agent" | "input" | "title">,
): Result.Result<Content, InvalidInput | AdmissionLimitExceeded> => {
  if (admission.title !== undefined && !isWellFormed(admission.title))
    return Result.fail(new InvalidInput({ path: "title", reason: "not well-formed text" }))
  const { jsonNesting } = thread.limits
  // The configured limits are looked at after the key: a retry is exempt from them.
  const within = (maxNesting: number) =>
    Result.map(
      canonicalJson(admission.input, { maxBytes: hardCapBytes, maxNesting }),
      (canonical) => storedContent(admission.agent, canonical),
    )
  const content = within(jsonNesting)
  if (Result.isSuccess(content) || content.failure._tag !== "InvalidInput") return content
  const tooDeep = content.failure
  const mayBeKnown = thread.hasTables && jsonNesting < hardCapNesting
  const deep = mayBeKnown ? within(hardCapNesting) : content // A2
  return Result.mapBoth(deep, {
    onSuccess: (stored) => ({ ...stored, tooDeep }),
    onFailure: () => tooDeep,
  })
}

/** The content of a text that is canonical. */
export const storedContent = (agent: AgentId, canonical: CanonicalText): Content => ({
  canonical,
  digest: sha256(agent, "\n", canonical.text),
})

const isWellFormed = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

/** The first receipt of this key, or the conflict; none when the key is new. */
export const known = (
  block: Block,
  admission: Submitted,
  content: Pick<Content, "digest">,
): Receipt | IdempotencyConflict | undefined => {
  const first = findKey(block.sql, keyText(admission), admission.principal)
  if (first === undefined) return undefined
  const same =
    first.inputDigest === content.digest &&
    first.resubmissionOf === (admission.resubmissionOf ?? null)
  if (!same)
    return new IdempotencyConflict({
      idempotencyKey: admission.idempotencyKey,
      submissionId: first.id,
    })
  return receipt(admission, { ...first, duplicate: true })
}

const receipt = (
  admission: Submitted,
  row: Pick<Receipt, "sequence" | "acceptedAt" | "duplicate"> & { id: Receipt["submissionId"] },
): Receipt => ({
  ownerId: admission.ownerId,
  threadId: admission.threadId,
  submissionId: row.id,
  sequence: row.sequence,
  acceptedAt: row.acceptedAt,
  duplicate: row.duplicate,
  ...(admission.resubmissionOf === undefined ? {} : { resubmissionOf: admission.resubmissionOf }),
})

/** Refusals that another deployment, queue or disk would not give. */
const limited = (
  block: Block,
  admission: Submitted,
  content: Content,
): AdmissionLimitExceeded | AgentNotRegistered | InvalidInput | StorageFull | undefined => {
  const { limits, options } = block.thread
  if (content.tooDeep !== undefined) return content.tooDeep
  if (admission.replayOnly !== undefined) return new AdmissionLimitExceeded(admission.replayOnly)
  if (!options.agents.has(admission.agent))
    return new AgentNotRegistered({ agent: admission.agent })
  const over = (limit: "inputBytes" | "queuedPerThread", actual: number) =>
    new AdmissionLimitExceeded({ limit, actual, maximum: limits[limit] })
  if (content.canonical.bytes > limits.inputBytes)
    return over("inputBytes", content.canonical.bytes)
  const open = nonterminalOf(block.header)
  // What has joined a run waits in no queue.
  const queued = open < limits.queuedPerThread ? open : open - countJoined(block.sql)
  if (queued >= limits.queuedPerThread) return over("queuedPerThread", queued + 1)
  return storageFull(block.thread)
}

/** Why a thread stores nothing more, if it does not. */
export const storageFull = ({ host, limits }: Thread): StorageFull | undefined => {
  const bytes = host.storage.databaseBytes()
  return bytes >= limits.databaseBytes
    ? new StorageFull({ actualBytes: bytes, maximumBytes: limits.databaseBytes })
    : undefined
}

const insert = (block: Block, admission: Submitted, content: Content): Receipt => {
  const sequence = block.header.lastSequence + 1
  const id = submissionIdOf(block.thread.host.uuid(), sequence)
  const notBefore =
    admission.notBefore !== undefined && admission.notBefore > block.now
      ? admission.notBefore
      : null
  block.sql.run(
    `INSERT INTO submissions (sequence, id, principal, idempotencyKey, agent, delivery, acceptedAt,
       notBefore, inputDigest, state, epoch, attempts, ended, vanished, parent, trace, inputBytes, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'ready', 0, 0, 0, 0, ?, ?, ?, ?)`, // A1
    sequence,
    id,
    admission.principal,
    keyText(admission),
    admission.agent,
    admission.delivery ?? "queue",
    block.now,
    notBefore,
    content.digest,
    originText(admission, admission.idempotencyKey),
    admission.trace ?? null,
    content.canonical.bytes,
    content.canonical.text,
  )
  if (notBefore !== null)
    block.sql.run("INSERT INTO deferred (notBefore, sequence) VALUES (?, ?)", notBefore, sequence)
  if (admission.resubmissionOf !== undefined)
    linkOriginal(block.sql, sequence, admission.resubmissionOf)
  block.header = { ...block.header, lastSequence: sequence }
  if (admission.title !== undefined && admission.title !== block.header.title)
    patchHeader(block, { title: admission.title })
  if (admission.parent !== undefined) endMarked(block, sequence, admission.idempotencyKey)
  return receipt(admission, { id, sequence, acceptedAt: block.now, duplicate: false })
}

/** Settles a child at once that was told to end before it came. */
const endMarked = (block: Block, sequence: number, childId: string): void => {
  const intent = takeMark(block, childId)
  const row = intent === undefined ? undefined : readRow(block.sql, sequence)
  if (intent !== undefined && row !== undefined)
    settle(block, row, abortedBy(intend(block, row, intent), false))
}

/** Takes one submission, or says why not, in a block whose fence has let its generation in. */
export const take = (
  block: Block,
  admission: Submitted,
  content: Content,
): Result.Result<Receipt, AdmissionRefusal> => {
  const first = known(block, admission, content)
  if (first instanceof IdempotencyConflict) return Result.fail(first)
  if (first !== undefined) return Result.succeed(first) // A2
  const refusal = limited(block, admission, content)
  return refusal === undefined
    ? Result.succeed(insert(block, admission, content))
    : Result.fail(refusal)
}

/** The refusal of an admission that may have been carried out before, under a key that is no more; none of others. // A4 */
export const cameAgain = ({ header }: Block, sentAt: number): Unavailable | undefined =>
  sentAt <= header.keysGoneTo ? behindFence : undefined

/** Whether the same call could be answered otherwise later: then its generation is kept. // A3 */
export const mayTurnOut = (
  { thread }: Block,
  answer: Result.Result<Pick<Receipt, "duplicate">, { readonly _tag: string }>,
): boolean => {
  const isOfKnown = Result.isSuccess(answer)
    ? answer.success.duplicate
    : answer.failure._tag === "IdempotencyConflict"
  return isOfKnown ? prunes(thread) : Result.isFailure(answer)
}

const admitIn = (
  block: Block,
  admission: Sent<Admission>,
  content: Content,
): Result.Result<Receipt, AdmissionRefusal> => {
  const late = fenced(block, admission.generation) ?? cameAgain(block, admission.now)
  if (late !== undefined) return Result.fail(late)
  const answer = take(block, admission, content)
  if (mayTurnOut(block, answer)) remember(block, admission.generation) // A3
  return answer
}

/** Admits in one block. Throws what the storage throws; then nothing is durable. */
export const admit = (
  thread: Thread,
  admission: Sent<Admission>,
): Result.Result<Receipt, AdmissionRefusal> => {
  const content = contentOf(thread, admission)
  if (Result.isFailure(content)) return Result.fail(content.failure) // It makes no tables.
  return transactAnyhow(thread, admission, (block) => admitIn(block, admission, content.success))
}
