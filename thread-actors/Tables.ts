/**
 * The tables of a thread's database, and the migrations that make them.
 *
 * - T1 Tables are made with the first mutation; a read of an untouched object writes nothing.
 * - T2 A migration runs once, in the block that notes its version; released ones never change.
 * - T3 A submission that does nothing costs six rows: its own and its key's at admission, one record
 *   and one update each when it is claimed and when it settles. Hence no index over anything that
 *   changes, counters in the last record instead of a row of their own, and an index of names that
 *   holds named records only.
 * - T4 A table that most threads never use is made by the block that first puts something into it.
 */
import type { AsideTables } from "../platform/AsideTables.ts"
import type { Sql } from "../platform/ObjectStorage.ts"

/** Large columns come last: what stands before them is read without them. */
const firstTables: ReadonlyArray<string> = [
  `CREATE TABLE meta (
    id INTEGER PRIMARY KEY,
    ownerId TEXT NOT NULL,
    threadId TEXT NOT NULL,
    born TEXT NOT NULL,
    fence TEXT,
    refused TEXT NOT NULL,
    revision INTEGER NOT NULL,
    parked INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    title TEXT
  )`,
  `CREATE TABLE submissions (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    idempotencyKey TEXT NOT NULL,
    agent TEXT NOT NULL,
    delivery TEXT NOT NULL,
    acceptedAt INTEGER NOT NULL,
    notBefore INTEGER,
    inputDigest TEXT NOT NULL,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    vanished INTEGER NOT NULL,
    vanishedVersion TEXT,
    retries TEXT,
    dueAt INTEGER,
    suspension TEXT,
    abort TEXT,
    host INTEGER,
    parent TEXT,
    outcome TEXT,
    settledSequence INTEGER,
    inputBytes INTEGER NOT NULL,
    input TEXT NOT NULL
  )`,
  `CREATE UNIQUE INDEX submissionKeys ON submissions (idempotencyKey, principal)`,
  `CREATE TABLE deferred (
    notBefore INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (notBefore, sequence)
  ) WITHOUT ROWID`,
  `CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY,
    submission INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,
    part INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    recordedAt INTEGER NOT NULL,
    digest TEXT NOT NULL,
    open INTEGER,
    settled INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    payload TEXT NOT NULL
  )`,
  // T3
  `CREATE UNIQUE INDEX journalNames ON journal (submission, name, part) WHERE name IS NOT NULL`,
  `CREATE TABLE threadState (
    id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    value TEXT NOT NULL
  )`,
]

/**
 * What recovery and operators need: the ordinary tool calls whose outcome is not recorded, the
 * submissions that wait for a word about one (and, once it is given, for their next turn), who paused
 * the thread, and when it was forgotten.
 */
const operatedTables: ReadonlyArray<string> = [
  `CREATE TABLE calls (
    submission INTEGER NOT NULL,
    name TEXT NOT NULL,
    tool TEXT NOT NULL,
    part INTEGER NOT NULL,
    preparedAt INTEGER NOT NULL,
    deadlineAt INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    unknownAt INTEGER,
    PRIMARY KEY (submission, name)
  ) WITHOUT ROWID`,
  // Those that wait for a word, the oldest first: each report tells a few, however many there are.
  `CREATE INDEX waitingCalls ON calls (unknownAt, submission, name) WHERE unknownAt IS NOT NULL`,
  `CREATE TABLE parked (
    resolved INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (resolved, sequence)
  ) WITHOUT ROWID`,
  `ALTER TABLE meta ADD COLUMN pause TEXT`,
  `ALTER TABLE meta ADD COLUMN pauseGeneration TEXT`,
  `ALTER TABLE meta ADD COLUMN forgottenAt INTEGER`,
]

/** Which submission does the work of which one again: a row for each that was made by a resubmission. */
const resubmittedTables: ReadonlyArray<string> = [
  `CREATE TABLE resubmissions (
    sequence INTEGER PRIMARY KEY,
    original TEXT NOT NULL
  )`,
]

/**
 * What conversations need: the waits of runs that have no answer yet, the children that a run must see settled before
 * it settles itself, what is to be carried to others, tokens that were given away, inputs that a run has taken,
 * aborts that came before their child, and schedules.
 */
const conversationTables: ReadonlyArray<string> = [
  `CREATE TABLE waits (
    submission INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    sinceAt INTEGER NOT NULL,
    dueAt INTEGER,
    races TEXT,
    sole INTEGER NOT NULL,
    PRIMARY KEY (submission, name)
  ) WITHOUT ROWID`,
  // The oldest first: each report tells a few, however many there are.
  `CREATE INDEX waitOrder ON waits (submission, sinceAt)`,
  // Each answer looks for what is due before it, of however many are open.
  `CREATE INDEX waitTimes ON waits (submission, dueAt) WHERE dueAt IS NOT NULL`,
  `CREATE TABLE children (
    submission INTEGER NOT NULL,
    name TEXT NOT NULL,
    childId TEXT NOT NULL,
    threadId TEXT NOT NULL,
    aborted INTEGER NOT NULL,
    PRIMARY KEY (submission, name)
  ) WITHOUT ROWID`,
  `CREATE TABLE abortMarks (
    childId TEXT PRIMARY KEY,
    abort TEXT NOT NULL
  ) WITHOUT ROWID`,
  `CREATE TABLE callbacks (
    digest TEXT PRIMARY KEY,
    submission INTEGER NOT NULL,
    name TEXT NOT NULL
  ) WITHOUT ROWID`,
  `ALTER TABLE meta ADD COLUMN callbackKey TEXT`,
  `CREATE TABLE joined (
    host INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (host, sequence)
  ) WITHOUT ROWID`,
  `CREATE TABLE outbox (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    submission INTEGER NOT NULL,
    name TEXT NOT NULL,
    queuedAt INTEGER NOT NULL,
    deadlineAt INTEGER,
    tries INTEGER NOT NULL,
    nextAt INTEGER,
    parkedAt INTEGER,
    parkedFor TEXT,
    bytes INTEGER NOT NULL,
    payload TEXT NOT NULL
  )`,
  `CREATE UNIQUE INDEX outboxIds ON outbox (id)`,
  `CREATE INDEX outboxTargets ON outbox (target, sequence)`,
  // The first of each target that is to be carried has a time; those behind it, and parked ones, have none.
  `CREATE INDEX outboxTimes ON outbox (nextAt) WHERE nextAt IS NOT NULL`,
  `CREATE INDEX outboxParked ON outbox (parkedAt) WHERE parkedAt IS NOT NULL`,
  `CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    cron TEXT NOT NULL,
    timeZone TEXT,
    agent TEXT NOT NULL,
    title TEXT,
    principal TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    nextAt INTEGER,
    comes INTEGER NOT NULL,
    dueAt INTEGER,
    tries INTEGER NOT NULL,
    waitsFor TEXT,
    lastAt INTEGER,
    lastSubmissionId TEXT,
    collapsed INTEGER NOT NULL,
    input TEXT NOT NULL
  ) WITHOUT ROWID`,
  // Where no occurrence comes, a look for the first finds none of these and reads no row.
  `CREATE INDEX scheduleTimes ON schedules (comes, dueAt)`,
  // How far publication, and each policy of retention, has passed over the journal.
  `CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    passed INTEGER NOT NULL
  ) WITHOUT ROWID`,
  // In which branches of races a record was written: names in branches that have lost stay used.
  `ALTER TABLE journal ADD COLUMN races TEXT`,
  // What retention has put off.
  `CREATE TABLE unpruned (
    lookAt INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (lookAt, sequence)
  ) WITHOUT ROWID`,
]

/** What is told of a thread: the trace that a submission continues, and how many have not completed. */
const observedTables: ReadonlyArray<string> = [
  `ALTER TABLE submissions ADD COLUMN trace TEXT`,
  `ALTER TABLE meta ADD COLUMN failed INTEGER`,
  `ALTER TABLE meta ADD COLUMN aborted INTEGER`,
]

/**
 * What most threads never put anything into: made when something is. Each is noted among the versions, by a number that it
 * keeps: new ones come last.
 */
const asideNames = [
  "deferred",
  "threadState",
  "calls",
  "parked",
  "resubmissions",
  "waits",
  "children",
  "abortMarks",
  "callbacks",
  "joined",
  "outbox",
  "schedules",
  "cursors",
  "unpruned",
]

/** Versions from here on are notes of tables. */
const firstNote = 1_000

const noteOf = (name: string): number => firstNote + asideNames.indexOf(name)

/** Databases from before there were tables aside have all of them. */
const notes: ReadonlyArray<string> = asideNames.map(
  (name) => `INSERT INTO schemaVersions (version, appliedAt) VALUES (${noteOf(name)}, 0)`,
)

/** In order; the version of a database is how many of them it has. */
const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  firstTables,
  operatedTables,
  resubmittedTables,
  conversationTables,
  observedTables,
  notes,
]

export const latestVersion = migrations.length

/** Whether a mutation has ever made tables here. Each start looks: for the first table made, and no further. */
export const tablesExist = (sql: Sql): boolean =>
  // T1
  sql.all("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schemaVersions' LIMIT 1")
    .length > 0

/** The version the tables have. */
export const tablesVersion = (sql: Sql): number =>
  sql.all<{ version: number }>(
    "SELECT max(version) AS version FROM schemaVersions WHERE version < ?",
    firstNote,
  )[0]?.version ?? 0

/** Brings the tables from `version` to the latest. Inside a block. */
export const migrate = (sql: Sql, version: number, now: number): void => {
  for (const statement of migrations.slice(version).flat()) sql.run(statement)
  sql.run("INSERT INTO schemaVersions (version, appliedAt) VALUES (?, ?)", latestVersion, now) // T2
}

/** What is read without them stands before the columns that may be large. */
const withColumn = (table: string, column: string): string =>
  /\n {4}inputBytes /.test(table)
    ? table.replace(/\n {4}inputBytes /, (found) => `\n${column},${found}`)
    : table.replace(/\n {2}\)$/, `,\n${column}\n  )`)

/** With the columns that later versions added in the tables as they are made: each `ALTER` reads all that was made. */
const withColumns = (statements: ReadonlyArray<string>): ReadonlyArray<string> =>
  statements.reduce<ReadonlyArray<string>>((made, statement) => {
    const [, table, column] = /^ALTER TABLE (\w+) ADD COLUMN (.+)$/.exec(statement) ?? []
    return table === undefined
      ? [...made, statement]
      : made.map((one) =>
          one.startsWith(`CREATE TABLE ${table} (`) ? withColumn(one, `    ${column}`) : one,
        )
  }, [])

const latestTables = withColumns(migrations.flat().filter((one) => /^(CREATE|ALTER)/.test(one)))

const tableOf = (statement: string): string =>
  /^CREATE TABLE (\w+)|^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/.exec(statement)?.slice(1).join("") ??
  ""

/** The tables that are made when something is first put into them. // T4 */
export const asideTables: AsideTables = {
  statements: new Map(
    asideNames.map((name) => [name, latestTables.filter((one) => tableOf(one) === name)]),
  ),
  made: (sql) =>
    new Set(
      sql
        .all<{ version: number }>(
          "SELECT version FROM schemaVersions WHERE version >= ?",
          firstNote,
        )
        .flatMap(({ version }) => asideNames[version - firstNote] ?? []),
    ),
  // When is nobody's question.
  note: (sql, name) =>
    sql.run("INSERT INTO schemaVersions (version, appliedAt) VALUES (?, 0)", noteOf(name)),
}

const firstMade = latestTables.filter((one) => !asideNames.includes(tableOf(one)))

/** Makes the tables that every thread has. Inside the block of the first mutation. */
export const makeTables = (sql: Sql, now: number): void => {
  sql.run("CREATE TABLE schemaVersions (version INTEGER PRIMARY KEY, appliedAt INTEGER NOT NULL)")
  for (const statement of firstMade) sql.run(statement)
  sql.run("INSERT INTO schemaVersions (version, appliedAt) VALUES (?, ?)", latestVersion, now) // T2
}
