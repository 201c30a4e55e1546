/**
 * The storage port: one SQLite database and at most one alarm, both synchronous where it counts.
 *
 * Invariants
 * - S1 A `transaction` block is synchronous; it commits or rolls back as one, with any alarm write in
 *   it. A block that throws rolls back.
 * - S2 A statement binds at most 100 parameters (the platform's bound); adapters refuse more.
 */

export type SqlValue = string | number | null | Uint8Array

/** A row as SQLite gives it. Booleans are 0 and 1; integers stay exact below 2^53. */
export type SqlRow = { readonly [column: string]: SqlValue }

export interface Sql {
  /** Runs one statement and gives all its rows. */
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

/** Refuses a statement that the platform would refuse. */
export const checkBindings = (bindings: ReadonlyArray<SqlValue>): void => {
  if (bindings.length > bindingsMax) // S2
    throw new RangeError(`a statement binds ${bindings.length} parameters, at most ${bindingsMax}`)
}
