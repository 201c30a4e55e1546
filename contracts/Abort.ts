/**
 * An abort: the command that ends a submission on somebody's word.
 *
 * The intent is durable before anything is interrupted, and the settlement is `aborted` from then on,
 * whatever the run still comes to. Repeating the command with the same author and reason is safe at any
 * time, also after the settlement; it gives what the first one would give now.
 */
import { Schema } from "effect"
import {
  JoinedToHost,
  ResolutionConflict,
  SettlementConflict,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { Settlement } from "./Settlement.ts"

/** So many characters that are stored as given: no NUL, no lone surrogate. */
const words = (maximum: number) =>
  Schema.String.check(Schema.isMaxLength(maximum), Schema.isPattern(/^[^\0\p{Cs}]*$/u))

/**
 * What a caller says. The author is a name for people, as the caller gives it: a service may act for
 * somebody. Who the caller was is set by the edge, and recorded beside it.
 */
export const AbortFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: SubmissionId,
  /** At most 256 characters. */
  author: words(256),
  /** At most 1,024 characters. */
  reason: words(1_024),
}

/**
 * `Settled`: it did not run, and has ended. `Aborting`: it runs; its handler has been interrupted, and
 * it settles `aborted` within `abortGraceMillis` (or when its thread, if that was lost, is recovered).
 */
export const AbortReply = Schema.Union([
  Schema.TaggedStruct("Settled", { settlement: Settlement }),
  Schema.TaggedStruct("Aborting", {}),
])
export type AbortReply = typeof AbortReply.Type

/**
 * What refuses an abort. `SettlementConflict`: it has settled otherwise. `ResolutionConflict`: another
 * author or reason came first. `Unavailable` is the fence: send once more with a new generation.
 */
export const AbortRefusal = Schema.Union([
  SubmissionNotFound,
  SettlementConflict,
  ResolutionConflict,
  JoinedToHost,
  ThreadUnreadable,
  Unavailable,
])
export type AbortRefusal = typeof AbortRefusal.Type
