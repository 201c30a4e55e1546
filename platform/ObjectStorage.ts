/**
 * The storage port: one SQLite database and at most one alarm, both synchronous where it counts.
 *
 * Invariants
 * - S1 A `transaction` block is synchronous; it commits or rolls back as one, with any alarm write in
 *   it. A block that throws rolls back. Transactions do not nest, and a block that answers a promise
 *   is refused: what it would do later were outside.
 * - S2 A statement binds at most 100 parameters (the platform's bound); adapters refuse more.
 * - S3 What is bound comes back as it was given, or is refused before it reaches the database: no
 *   booleans (one platform stores the text `true`), no `undefined`, no bigints, only finite numbers
 *   and no integer from 2^53 on. (A lone surrogate in a text becomes U+FFFD; admission refuses it.)
 * - S4 What the database itself throws, and nothing else, is a `StorageFailure`: what a block threw
 *   comes out as it was, and a statement that S2 or S3 refuses is a mistake of its author.
 */

/** The database failed; `cause` has what it threw. Trying again later may help. */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure"

  constructor(cause: unknown) {
    super("the storage failed", { cause })
  }
}

/** Runs what calls the database alone. */
export const ofStorage = <A>(call: () => A): A => {
  try {
    return call()
  } catch (error) {
    throw new StorageFailure(error) // S4
  }
}

/** There are no bytes: platforms give them back as different types, and nothing here stores any. */
export type SqlValue = string | number | null

/** A row as SQLite gives it. Booleans are 0 and 1; integers stay exact below 2^53. */
export type SqlRow = { readonly [column: string]: SqlValue }

export interface Sql {
  /**
   * Runs one statement and gives all its rows. A limit that is bound is written `LIMIT +?`: SQLite plans a statement
   * anew each time that a bare one is bound, which costs several times what most of ours take to run.
   */
  readonly all: <Row extends SqlRow = SqlRow>(
    statement: string,
    ...bindings: ReadonlyArray<SqlValue>
  ) => ReadonlyArray<Row>
  /** Runs one statement for its effect. */
  readonly run: (statement: string, ...bindings: ReadonlyArray<SqlValue>) => void
}

/** The one alarm of an object. `set` and `delete` take part in the transaction around them. */
export interface AlarmSlot {
  /** Epoch milliseconds, or null. Null also while the alarm is being delivered. */
  readonly get: () => Promise<number | null>
  readonly set: (atMillis: number) => void
  readonly delete: () => void
}

/** How many rows statements have read and written since the object started. What is billed. */
export interface RowCounts {
  readonly read: number
  readonly written: number
  readonly alarmWrites: number
}

export interface ObjectStorage {
  readonly sql: Sql
  readonly alarm: AlarmSlot
  readonly transaction: <A>(block: () => A) => A // S1
  /** Resolves once everything written so far is durable. */
  readonly sync: () => Promise<void>
  readonly databaseBytes: () => number
  readonly counts: () => RowCounts
}

/** More parameters than the platform binds. */
export const bindingsMax = 100

const isBindable = (value: unknown): value is SqlValue => {
  if (typeof value === "string" || value === null) return true
  if (typeof value !== "number" || !Number.isFinite(value)) return false
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

/** A value that no statement can bind: a mistake of the code that made it, not of the storage. */
export class NotStorable extends TypeError {
  override readonly name = "NotStorable"
}

/** Refuses a statement that the platform would refuse, or would store as something else. */
export const checkBindings = (bindings: ReadonlyArray<SqlValue>): void => {
  if (bindings.length > bindingsMax)
    // S2
    throw new RangeError(`a statement binds ${bindings.length} parameters, at most ${bindingsMax}`)
  for (const [index, value] of bindings.entries())
    if (!isBindable(value))
      // S3
      throw new NotStorable(
        `parameter ${index + 1} is ${typeof value} ${String(value)}: not storable`,
      )
}

/** The checks of S1 around a platform's own transaction. */
export const makeTransaction = (commit: <A>(block: () => A) => A): ObjectStorage["transaction"] => {
  let open = false
  return (block) => {
    if (open) throw new Error("a durable transition is one transaction: do not nest them") // S1
    open = true
    let thrown: { readonly error: unknown } | undefined
    try {
      return commit(() => {
        try {
          return synchronous(block())
        } catch (error) {
          thrown = { error }
          throw error
        }
      })
    } catch (error) {
      throw thrown?.error === error ? error : new StorageFailure(error) // S4
    } finally {
      open = false
    }
  }
}

const synchronous = <A>(answer: A): A => {
  if (answer instanceof Promise)
    throw new TypeError("a durable block answered a promise: it must be synchronous") // S1
  return answer
}
