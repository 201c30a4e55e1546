/**
 * An abort: the command that ends a submission on somebody's word.
 *
 * The intent is durable before anything is interrupted, and the settlement is `aborted` from then on,
 * whatever the run still comes to. Repeating the command with the same author and reason is safe at any
 * time, also after the settlement; it gives what the first one would give now.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  CommonErrors,
  JoinedToHost,
  ResolutionConflict,
  SettlementConflict,
  StorageFull,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Settlement } from "./Settlement.ts"

export const AbortFields = SubmissionCommandFields

export const AbortReply = Schema.Union([
  Schema.TaggedStruct("Settled", { settlement: Settlement }),
  Schema.TaggedStruct("Aborting", {}),
]).annotate({
  identifier: "AbortReply",
  description:
    "`Settled`: it did not run, and has ended. `Aborting`: it runs; its handler has been " +
    "interrupted, and it settles `aborted` within `abortGraceMillis` (or when its thread, " +
    "if that was lost, is recovered).",
})
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

/** All that an abort can answer besides its reply. */
export const AbortErrors = Schema.Union([...CommonErrors, ...AbortRefusal.members, StorageFull])
