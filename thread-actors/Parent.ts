/**
 * The parent of a child, as the child's row holds it.
 */
import { Result, Schema } from "effect"
import { MessageId } from "../contracts/Identifiers.ts"
import { ParentLink } from "../contracts/Outbox.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

/** The link, and the id by which the parent knows this child. */
const StoredParent = Schema.Struct({ ...ParentLink.fields, childId: MessageId })
export type StoredParent = typeof StoredParent.Type

const decode = Schema.decodeUnknownResult(StoredParent)

/** None where it is nobody's child. */
export const parentOf = (row: Pick<SubmissionRow, "parent">): StoredParent | undefined => {
  if (row.parent === null) return undefined
  const parent = decode(parsed(row.parent, "submissions"))
  if (Result.isFailure(parent)) throw new Unreadable("submissions")
  return parent.success
}

/** A link as a row holds it. */
export const parentText = ({
  childId,
  depth,
  name,
  submissionId,
  threadId,
}: StoredParent): string => JSON.stringify({ childId, depth, name, submissionId, threadId })
