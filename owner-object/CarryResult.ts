/**
 * What became of one entry of an outbox, as its thread is told. Pure.
 *
 * - Q1 Only what will be refused again for ever ends an entry; everything else passes, and costs nothing but time.
 * - Q2 The settlement of a child ends only where its parent is no more: a parent would wait for ever for one that was
 *   given up.
 * - Q3 Tags and words are our own; nothing of a payload is among them.
 */
import type { InvalidInput } from "../contracts/Errors.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { OutboxEntry, OutboxResult } from "../contracts/Outbox.ts"

export type EntryResult = Exclude<OutboxResult["result"], { readonly _tag: "Unrecognized" }>
export type KnownEntry = Exclude<OutboxEntry, { readonly _tag: "Unrecognized" }>

export const taken = (submissionId?: SubmissionId): EntryResult => ({
  _tag: "Taken",
  ...(submissionId === undefined ? {} : { submissionId }),
})

export const delayed = (tag: string): EntryResult => ({ _tag: "Delayed", tag })

/** Why, in our words. // Q3 */
const words = {
  InvalidInput: "the target refuses the input",
  ThreadForgotten: "the target thread was forgotten",
  ChildLost:
    "the child's thread no longer knows it: its database was lost, or what was kept of it has run out",
  OperationDenied: "the target owner does not take messages from here",
  IdempotencyConflict: "the target has taken something else under this id",
  AgentNotRegistered: "the target's deployment has no such agent",
} as const

const isFinal = (tag: string): tag is keyof typeof words => Object.hasOwn(words, tag)

/** The tag of a failure; of a defect, or what has none, the one that says no more. */
export const tagOf = (failure: unknown): string => {
  const tagged = typeof failure === "object" && failure !== null && "_tag" in failure
  return tagged && typeof failure._tag === "string" ? failure._tag.slice(0, 128) : "InternalDefect"
}

/** Whether a failure says nothing of the target but that it did not answer. */
export const isSilence = (failure: unknown): boolean =>
  ["NoAnswer", "Unavailable", "StorageUnavailable", "InternalDefect"].includes(tagOf(failure))

const reasonOf = (failure: unknown, tag: keyof typeof words): string => {
  if (tag !== "InvalidInput") return words[tag]
  const { path, reason } = failure as InvalidInput
  return `${words[tag]} at ${path === "" ? "its root" : path}: ${reason}`.slice(0, 1024)
}

/** What a failure means for its entry. `agreed` tells whether both sides know the same agents. */
export const resultOfFailure = (
  entry: KnownEntry,
  failure: unknown,
  { agreed }: { readonly agreed: boolean },
): EntryResult => {
  const tag = tagOf(failure)
  if (!isFinal(tag)) return delayed(tag) // Q1
  if (entry._tag === "ChildNotice" && tag !== "ThreadForgotten") return delayed(tag) // Q2
  if (tag === "AgentNotRegistered" && !agreed) return delayed(tag)
  return { _tag: "Refused", tag, message: reasonOf(failure, tag) }
}
