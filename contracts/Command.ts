/**
 * Commands: what an operator or a service says about a submission or a thread. Every command carries who
 * says so and why, is recorded, and is safe to repeat with the same words.
 */
import { Schema } from "effect"
import { OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"

/** Text of 1 to `maximum` characters that is stored as given: no NUL, no lone surrogate. */
const words = (maximum: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximum),
    Schema.isPattern(/^[^\0\p{Cs}]*$/u),
  )

/**
 * The author is a name for people, as the caller gives it: a service may act for somebody. Who the caller
 * was is set by the edge, and recorded beside it.
 */
export const CommandWords = {
  author: words(256).annotateKey({ description: "At most 256 characters." }),
  reason: words(1_024).annotateKey({ description: "At most 1,024 characters." }),
}

/** A command about one thread. */
export const ThreadCommandFields = { ownerId: OwnerId, threadId: ThreadId, ...CommandWords }

/** A command about one submission. */
export const SubmissionCommandFields = { ...ThreadCommandFields, submissionId: SubmissionId }
