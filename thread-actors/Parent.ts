/**
 * Where a submission comes from, as its row holds it: the run whose child it is, or the run that sent it as a message.
 */
import { Result, Schema } from "effect"
import { MessageId } from "../contracts/Identifiers.ts"
import { ParentLink, Sender } from "../contracts/Outbox.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

/** The link, and the id by which the parent knows this child. */
const StoredParent = Schema.Struct({ ...ParentLink.fields, childId: MessageId })
export type StoredParent = typeof StoredParent.Type

const StoredOrigin = Schema.Union([StoredParent, Schema.Struct({ from: Sender })])

const decode = Schema.decodeUnknownResult(StoredOrigin)

const readOrigin = (row: Pick<SubmissionRow, "parent">): typeof StoredOrigin.Type | undefined => {
  if (row.parent === null) return undefined
  const origin = decode(parsed(row.parent, "submissions"))
  if (Result.isFailure(origin)) throw new Unreadable("submissions")
  return origin.success
}

/** None where it is nobody's child. */
export const parentOf = (row: Pick<SubmissionRow, "parent">): StoredParent | undefined => {
  const origin = readOrigin(row)
  return origin === undefined || "from" in origin ? undefined : origin
}

/** The same as its run is told. */
export const originOf = (row: Pick<SubmissionRow, "parent">) => {
  const origin = readOrigin(row)
  if (origin === undefined) return {}
  if ("from" in origin) return { from: origin.from }
  const { submissionId, threadId } = origin
  return { parent: { submissionId, threadId } }
}

/**
 * The key under which a child or a message stands. Its id is no secret, and nobody's key has a line end: what a client
 * submits under that id is another submission, and takes no place of what a run has asked for.
 */
export const carriedKey = (id: string): string => `\n${id}`

/** The key as a row holds it. */
export const keyText = ({
  from,
  idempotencyKey,
  parent,
}: {
  readonly from?: Sender
  readonly idempotencyKey: string
  readonly parent?: ParentLink
}): string =>
  from === undefined && parent === undefined ? idempotencyKey : carriedKey(idempotencyKey)

/** An origin as a row holds it; none for what a client has submitted. */
export const originText = (
  admission: { readonly from?: Sender; readonly parent?: ParentLink },
  childId: string,
): string | null => {
  const { from, parent } = admission
  if (parent !== undefined) {
    const { depth, name, submissionId, threadId } = parent
    return JSON.stringify({ childId, depth, name, submissionId, threadId })
  }
  return from === undefined ? null : JSON.stringify({ from })
}
