/**
 * The host in Node, on `node:sqlite`: for unit tests, the users' testing kit and the simulation.
 * Its alarm is a value that the test reads and fires; nothing here starts a timer for it.
 */
import { randomBytes } from "node:crypto"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { ObjectHost } from "./ObjectHost.ts"
import {
  checkBindings,
  makeTransaction,
  type ObjectStorage,
  ofStorage,
  type SqlRow,
  type SqlValue,
} from "./ObjectStorage.ts"
import { makeUuidGenerator } from "./Uuid.ts"

export interface NodeStorage extends ObjectStorage {
  /** The alarm as it stands; a test takes it to deliver it. */
  readonly alarmAt: () => number | null
  /** Every row of every table, in order: equal before and after a call that wrote nothing. */
  readonly dump: () => string
  readonly close: () => void
}

const bytesOf = (database: DatabaseSync): number => {
  const row = database
    .prepare("SELECT page_size * page_count AS bytes FROM pragma_page_size, pragma_page_count")
    .get() as { bytes: number }
  return row.bytes
}

const dumpOf = (database: DatabaseSync): string => {
  const tables = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all() as Array<{ name: string; sql: string }>
  const rowsOf = (table: string) => {
    const rows = database.prepare(`SELECT * FROM "${table}"`).all()
    return rows.map((row) => JSON.stringify(row)).toSorted()
  }
  return JSON.stringify(tables.map(({ name, sql }) => [name, sql, rowsOf(name)]))
}

/** Opens a database; in memory unless a file is named. Reopening a file is what a crash leaves. */
export const openNodeStorage = (path = ":memory:"): NodeStorage => {
  const database = new DatabaseSync(path)
  const statements = new Map<string, StatementSync>()
  const counts = { read: 0, written: 0, alarmWrites: 0 }
  let alarmAt: number | null = null
  const prepare = (text: string): StatementSync => {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = database.prepare(text)
      statements.set(text, statement)
    }
    return statement
  }
  const all = (text: string, bindings: ReadonlyArray<SqlValue>): Array<SqlRow> => {
    checkBindings(bindings)
    const rows = ofStorage(() => prepare(text).all(...bindings)) as Array<SqlRow>
    counts.read += rows.length
    return rows
  }
  return {
    sql: {
      all: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) =>
        all(text, bindings) as unknown as ReadonlyArray<Row>,
      run: (text, ...bindings) => {
        checkBindings(bindings)
        counts.written += Number(ofStorage(() => prepare(text).run(...bindings)).changes)
      },
    },
    alarm: {
      get: () => Promise.resolve(alarmAt),
      set: (atMillis) => {
        counts.alarmWrites += 1
        alarmAt = atMillis
      },
      delete: () => {
        counts.alarmWrites += 1
        alarmAt = null
      },
    },
    transaction: makeTransaction((block) => {
      const alarmBefore = alarmAt
      database.exec("BEGIN IMMEDIATE")
      try {
        const result = block()
        database.exec("COMMIT")
        return result
      } catch (error) {
        alarmAt = alarmBefore
        database.exec("ROLLBACK")
        throw error
      }
    }),
    sync: () => Promise.resolve(),
    databaseBytes: () => bytesOf(database),
    counts: () => ({ ...counts }),
    alarmAt: () => alarmAt,
    dump: () => dumpOf(database),
    close: () => database.close(),
  }
}

export interface NodeHostOptions {
  /** Undefined as where the platform does not tell it. */
  readonly name: string | undefined
  readonly storage: ObjectStorage
  /** Defaults to the real clock. */
  readonly now?: () => number
  /** Defaults to a real random source. */
  readonly random?: () => number
}

/** A host for tests. */
export const makeNodeHost = (options: NodeHostOptions): ObjectHost => {
  const now = options.now ?? (() => Date.now())
  const random = options.random ?? (() => Math.random())
  return {
    name: options.name,
    storage: options.storage,
    now,
    random,
    uuid: makeUuidGenerator({ now, randomBytes: (length) => new Uint8Array(randomBytes(length)) }),
    secret: () => randomBytes(16).toString("hex"),
    waitUntil: (promise) => void promise.catch(() => undefined),
    macrotask: (task) => void setImmediate(task),
  }
}
