/**
 * Retention: what has settled long enough ago loses its content, a batch at a time.
 *
 * - N1 What goes: the input, the idempotency key, the payload of each named record, that of the settlement and of the
 *   record that had kept it for its children. What stays: the row with its outcome and digests, the records with theirs, and what is recorded of commands.
 * - N2 Nothing goes that is still to be carried to others: it is looked at again later. Nor does what the deployment's sink
 *   is still to have.
 * - N3 Each policy passes over the journal once, in its order: how far it has come is a row of its own, written with what
 *   was pruned.
 * - N5 What a run has sent keeps its key, which is its id: it may still be delivered once more, and nobody chose it.
 * - N6 Until when submissions were accepted whose keys are no more is noted with them: an admission that the platform
 *   carries out again is told by that.
 * - N4 A batch looks at a bounded number of records and writes no more of them, however much one run has recorded.
 *   The outbox it reads through: who has something in it is in no index.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Block, touch } from "./Block.ts"
import { type Header, readHeader } from "./Header.ts"
import { keysCursor, readCursor, writeCursor } from "./Cursors.ts"
import { dueAtOf, retentionPolicies, type RetentionPolicy } from "./RetentionPolicy.ts"
import { isMillis } from "./StoredColumns.ts"
import { suspensionOf } from "./Suspension.ts"
import type { Thread, ThreadOptions } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

/** What a pruned text is: no canonical JSON is empty. */
export const pruned = ""

const known = new WeakMap<ThreadOptions, ReadonlyArray<RetentionPolicy>>()

const policiesOf = ({ options }: Pick<Thread, "options">): ReadonlyArray<RetentionPolicy> => {
  const found = known.get(options)
  if (found !== undefined) return found
  const policies = retentionPolicies(options.agents, options.settledAfterMillis)
  known.set(options, policies)
  return policies
}

/** Whether anything is ever pruned in this deployment. */
export const prunes = (thread: Thread): boolean => policiesOf(thread).length > 0

/** How far a policy has come. // N3 */
const passedBy = (sql: Sql, { key }: RetentionPolicy): number => readCursor(sql, key)

/** The last record that may be passed: what a sink has. // N2 */
const lastOf = ({ host, options }: Thread, header: Header | undefined): number =>
  options.publishes === true
    ? (header ?? readHeader(host.storage.sql)).published
    : Number.MAX_SAFE_INTEGER

const policyAt = (sql: Sql, policy: RetentionPolicy, last: number): number | undefined => {
  const [next] = sql.all<{ recordedAt: number }>(
    "SELECT recordedAt FROM journal WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT 1",
    passedBy(sql, policy),
    last,
  )
  if (next === undefined) return undefined
  if (!isMillis(next.recordedAt)) throw new Unreadable("journal")
  return dueAtOf(policy, next.recordedAt)
}

/** When what was put off is looked at again. */
const heldAt = (sql: Sql): number | undefined =>
  sql.all<{ lookAt: number }>("SELECT lookAt FROM unpruned ORDER BY lookAt LIMIT 1")[0]?.lookAt

/** When the next batch is due. Reads nothing where all is kept. */
export const retentionAt = (thread: Thread, header = thread.header): number | undefined => {
  const policies = policiesOf(thread)
  if (policies.length === 0) return undefined
  const { sql } = thread.host.storage
  const last = lastOf(thread, header)
  const times = [heldAt(sql), ...policies.map((policy) => policyAt(sql, policy, last))]
  const first = Math.min(...times.filter((time) => time !== undefined))
  return first === Infinity ? undefined : first
}

/** A batch: what is left of it, and the submissions that have something to be carried. */
interface Batch {
  readonly block: Block
  left: number
  /** The last record that may be passed. */
  readonly last: number
  readonly carried: ReadonlySet<number>
}

const clear = ({ block }: Batch, sequences: ReadonlyArray<number>): void => {
  for (const sequence of sequences)
    block.sql.run("UPDATE journal SET payload = ?, bytes = 0 WHERE sequence = ?", pruned, sequence)
}

/** Notes that the key of a submission goes. // N6 */
const noteKey = (block: Block, acceptedAt: number): void => {
  if (!isMillis(acceptedAt)) throw new Unreadable("submissions")
  const keysGoneTo = Math.max(block.header.keysGoneTo, acceptedAt)
  block.header = { ...block.header, keysGoneTo }
}

type SettledRow = {
  readonly settledSequence: number
  readonly suspension: string | null
  readonly acceptedAt: number
  readonly keepsKey: number
}

/** The records that say how a submission has ended. // N1 */
const endsOf = (row: SettledRow): ReadonlyArray<number> => {
  const suspension = suspensionOf(row)
  const reached = suspension?.kind === "children" ? suspension.reached : null
  return reached === null ? [row.settledSequence] : [row.settledSequence, reached]
}

/** Prunes a submission as far as the batch goes; whether that was all. // N1 N4 */
const prune = (batch: Batch, submission: number): boolean => {
  const { sql } = batch.block
  // A token's record holds a digest of it alone, by which the token is known.
  const named = sql.all<{ sequence: number }>(
    `SELECT sequence FROM journal WHERE submission = ? AND name IS NOT NULL AND payload <> ?
       AND NOT (kind = 'ValueDrawn' AND part > 0) LIMIT +?`,
    submission,
    pruned,
    batch.left + 1,
  )
  const sequences = named.map(({ sequence }) => sequence)
  clear(batch, sequences.slice(0, batch.left))
  if (sequences.length > batch.left) {
    batch.left = 0
    return false
  }
  batch.left -= sequences.length
  const [row] = sql.all<SettledRow>(
    `SELECT settledSequence, suspension, acceptedAt, parent IS NOT NULL AS keepsKey FROM submissions
     WHERE sequence = ?`,
    submission,
  )
  if (row !== undefined) clear(batch, endsOf(row))
  if (row?.keepsKey === 0) noteKey(batch.block, row.acceptedAt)
  // Unique, and nothing that a caller could say: no key of a caller has a line's end. // N5
  const key = `\n${submission}`
  sql.run(
    `UPDATE submissions SET input = ?,
       idempotencyKey = CASE WHEN parent IS NULL THEN ? ELSE idempotencyKey END WHERE sequence = ?`,
    pruned,
    key,
    submission,
  )
  return true
}

/** Puts a submission off that has something to be carried. // N2 */
const hold = ({ block }: Batch, submission: number): void =>
  block.sql.run(
    "INSERT OR REPLACE INTO unpruned (lookAt, sequence) VALUES (?, ?)",
    block.now + block.thread.limits.retentionRetryMillis,
    submission,
  )

type Passed = {
  readonly sequence: number
  readonly submission: number
  readonly recordedAt: number
  readonly settled: number
  readonly agent: string
  readonly gone: number
}

const readPassed = ({ block, last, left }: Batch, after: number): ReadonlyArray<Passed> =>
  block.sql.all<Passed>(
    `SELECT j.sequence, j.submission, j.recordedAt, j.kind = 'Settled' AS settled, s.agent,
       s.input = ? AS gone FROM journal j JOIN submissions s ON s.sequence = j.submission
     WHERE j.sequence > ? AND j.sequence <= ? ORDER BY j.sequence LIMIT +?`,
    pruned,
    after,
    last,
    left,
  )

/** Whether a policy may pass this record: what it is about is pruned, put off, or to stay. */
const passes = (batch: Batch, policy: RetentionPolicy, record: Passed): boolean => {
  if (record.settled === 0 || record.gone === 1 || !policy.isFor(record.agent)) return true
  if (!batch.carried.has(record.submission)) return prune(batch, record.submission)
  hold(batch, record.submission)
  return true
}

/** Passes on over what is old enough. // N3 */
const passOn = (batch: Batch, policy: RetentionPolicy): void => {
  const { block } = batch
  const from = passedBy(block.sql, policy)
  let passed = from
  for (const record of readPassed(batch, from)) {
    if (record.recordedAt + policy.periodMillis > block.now) break
    if (!passes(batch, policy, record)) break
    passed = record.sequence
    batch.left -= 1
    if (batch.left <= 0) break
  }
  if (passed > from) writeCursor(block.sql, policy.key, passed)
}

/** Looks again at what was put off, in its turn. // N2 */
const lookAgain = (batch: Batch): void => {
  const { block } = batch
  const rows = block.sql.all<{ lookAt: number; sequence: number; agent: string }>(
    `SELECT u.lookAt, u.sequence, s.agent FROM unpruned u JOIN submissions s ON s.sequence = u.sequence
     WHERE u.lookAt <= ? ORDER BY u.lookAt, u.sequence LIMIT +?`,
    block.now,
    batch.left,
  )
  const policies = policiesOf(block.thread)
  for (const { agent, lookAt, sequence } of rows) {
    // What is to be kept by now stays listed: another deployment may say otherwise again.
    const stays = batch.carried.has(sequence) || !policies.some((policy) => policy.isFor(agent))
    if (!stays && !prune(batch, sequence)) break
    block.sql.run("DELETE FROM unpruned WHERE lookAt = ? AND sequence = ?", lookAt, sequence)
    if (stays) hold(batch, sequence)
    batch.left -= 1
    if (batch.left <= 0) break
  }
}

const carriedOf = (sql: Sql): ReadonlySet<number> =>
  new Set(
    sql
      .all<{ submission: number }>("SELECT DISTINCT submission FROM outbox")
      .map(({ submission }) => submission),
  )

/** One batch of what is due, in this block. */
export const keepRetention = (block: Block): void => {
  const { sql, thread } = block
  const dueAt = retentionAt(thread, block.header)
  if (dueAt === undefined || dueAt > block.now) return
  const policies = policiesOf(thread)
  const last = lastOf(thread, block.header)
  const batch: Batch = {
    block,
    left: thread.limits.retentionRecords,
    last,
    carried: carriedOf(sql),
  }
  const { keysGoneTo } = block.header
  lookAgain(batch)
  for (const policy of policies) {
    const at = policyAt(sql, policy, last)
    if (batch.left > 0 && at !== undefined && at <= block.now) passOn(batch, policy)
  }
  if (block.header.keysGoneTo > keysGoneTo) writeCursor(sql, keysCursor, block.header.keysGoneTo) // N6
  touch(block)
}
