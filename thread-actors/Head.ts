/**
 * The head of a thread: which submission is next. Pure.
 *
 * - E1 The open run, whatever it waits for; then the resolved unknown of lowest sequence; then the
 *   first ready one by sequence, where a deferred one counts from its time on.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import { checkHeader, type Header, nonterminalOf } from "./Header.ts"
import {
  firstDue,
  firstQueued,
  firstResolved,
  nextDeferredAt,
  readRow,
  type SubmissionRow,
} from "./Ledger.ts"

export interface HeadCandidates {
  readonly open: SubmissionRow | undefined
  readonly resolved: SubmissionRow | undefined
  readonly queued: SubmissionRow | undefined
  /** The lowest deferred one whose time has come. */
  readonly due: SubmissionRow | undefined
}

export const selectHead = (candidates: HeadCandidates): SubmissionRow | undefined => {
  const { open, resolved, queued, due } = candidates
  if (open !== undefined) return open // E1
  if (resolved !== undefined) return resolved
  if (queued === undefined || due === undefined) return queued ?? due
  return due.sequence < queued.sequence ? due : queued
}

export interface HeadView {
  readonly head: SubmissionRow | undefined
  /** When the next deferred submission takes its place; absent without one. */
  readonly nextDeferredAt: number | undefined
}

/** Reads the candidates: a constant number of rows, whatever the queue or the history. */
export const readHead = (sql: Sql, header: Header, now: number): HeadView => {
  checkHeader(header)
  if (nonterminalOf(header) === 0) return { head: undefined, nextDeferredAt: undefined }
  const deferredAt = nextDeferredAt(sql)
  const { open, floor } = header.tail
  if (open !== null) return { head: readRow(sql, open), nextDeferredAt: deferredAt }
  const head = selectHead({
    open: undefined,
    resolved: firstResolved(sql),
    queued: floor > header.lastSequence ? undefined : firstQueued(sql, floor),
    due: deferredAt !== undefined && deferredAt <= now ? firstDue(sql, now) : undefined,
  })
  return { head, nextDeferredAt: deferredAt }
}
