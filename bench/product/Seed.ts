/**
 * What a measurement at scale begins with, put into the tables of an object as it would stand there: nobody waits for a
 * hundred thousand submissions first.
 */

/** More lanes of an owner: each owes nothing, or waits for a day to come. */
export const addLanes = (sql: SqlStorage, count: number, work: "dispatch" | null): void => {
  const next = work === null ? null : (Date.now() + 86_400_000) * 1_000
  sql.exec(
    `INSERT INTO lanes (thread_id, report, enrolled, must_visit, suspect, marks, work, slow, next_at, outbox_at)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     SELECT 'lane-' || i, NULL, NULL, 0, 0, '{}', ?, 0, ? + i, NULL FROM n`,
    count,
    work,
    next,
  )
}

/** A longer past of a thread: as many records of settled submissions, between its first and those to come. */
export const addRecords = (sql: SqlStorage, count: number): void => {
  const [last] = sql
    .exec<{ sequence: number; submission: number }>(
      "SELECT sequence, submission FROM journal ORDER BY sequence DESC LIMIT 1",
    )
    .toArray()
  if (last === undefined) throw new Error("a thread without a past has none to prolong")
  // The last record stays the last: it carries what the thread goes on from.
  sql.exec("UPDATE journal SET sequence = sequence + ? WHERE sequence = ?", count, last.sequence)
  sql.exec(
    `INSERT INTO journal (sequence, submission, kind, name, part, epoch, recordedAt, digest, open, settled, floor, bytes, payload)
     WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)
     SELECT ? + i, 0, 'Progress', 'seeded-' || i, 0, 1, 0, '', NULL, 0, 0, 2, '{}' FROM n`,
    count,
    last.sequence,
  )
}

/** The rows of submissions without a settlement, and the records that belong to them. */
export const openRecords = (sql: SqlStorage): number => {
  const [found] = sql
    .exec<{ count: number }>(
      `WITH open AS (SELECT sequence FROM submissions WHERE outcome IS NULL)
       SELECT (SELECT count(*) FROM open)
         + (SELECT count(*) FROM journal WHERE submission IN (SELECT sequence FROM open)) AS count`,
    )
    .toArray()
  return found?.count ?? 0
}
