/**
 * A database that is cheap to make: its tables come from an earlier run that made the same ones.
 *
 * An object's database is blank until somebody makes tables. The first run of a process makes them for real;
 * later ones take a database that has been emptied, and find in it the tables that they ask for.
 *
 * - D1 A blank database has no tables, whatever is kept for it; one whose making was taken back is blank again.
 * - D2 A table is taken as it is only if exactly the same statement asks for it; one that was taken back is made again.
 * - D3 A database is handed on empty; one of whose tables some were dropped is not handed on, unless that was taken back.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { SqlRow, SqlValue } from "../platform/ObjectStorage.ts"

export interface Database {
  readonly all: (text: string, bindings: ReadonlyArray<SqlValue>) => Array<SqlRow>
  /** Gives how many rows it changed. */
  readonly run: (text: string, bindings: ReadonlyArray<SqlValue>) => number
  readonly hasTable: (name: string) => boolean
  /** Opens the savepoint of this depth; from 1. */
  readonly open: (depth: number) => void
  /** Takes back everything since the savepoint of this depth was opened, and closes it. */
  readonly undo: (depth: number) => void
  /** Keeps everything since the savepoint of this depth was opened. */
  readonly keep: (depth: number) => void
  readonly close: () => void
}

/** A statement; its rows come as arrays, which cost the binding half of what objects do. */
interface Prepared {
  readonly statement: StatementSync
  readonly columns: ReadonlyArray<string>
}

/** A statement that asked for a table, and the savepoint that would take it back; none from 0 on. */
interface Asked {
  readonly text: string
  depth: number
}

/** A real database, its statements, and the statements that made its tables. */
interface Made {
  readonly sqlite: DatabaseSync
  readonly statements: Map<string, Prepared>
  readonly tables: Set<string>
  /** Those of them that a savepoint may still take back. */
  unkept: ReadonlyArray<Asked>
  readonly names: Set<string>
  emptying: ReadonlyArray<string>
  /** Whether tables of it were dropped: its statements no longer tell what it has. */
  isAltered: boolean
  /** The savepoint that would take that back; none from 0 on. */
  alteredAt: number
}

const pool = new Map<string, Array<Made>>()
/** As many are kept of each kind as a large world needs. */
const keptMax = 16

const make = (): Made => ({
  sqlite: new DatabaseSync(":memory:"),
  statements: new Map(),
  tables: new Set(),
  unkept: [],
  names: new Set(),
  emptying: [],
  isAltered: false,
  alteredAt: 0,
})

const prepare = ({ sqlite, statements }: Made, text: string): Prepared => {
  const statement = sqlite.prepare(text)
  statement.setReturnArrays(true)
  const made = { statement, columns: statement.columns().map(({ name }) => name) }
  statements.set(text, made)
  return made
}

const prepared = (made: Made, text: string): Prepared =>
  made.statements.get(text) ?? prepare(made, text)

const run = (made: Made, text: string): void => void prepared(made, text).statement.run()

const rowOf = (columns: ReadonlyArray<string>, values: ReadonlyArray<SqlValue>): SqlRow => {
  const row: Record<string, SqlValue> = {}
  for (let index = 0; index < columns.length; index++)
    row[columns[index] as string] = values[index] as SqlValue
  return row
}

/** Its tables are others now: what was prepared before may have other columns. */
const changed = (made: Made): void => {
  made.statements.clear()
  made.emptying = []
}

/** Makes or alters tables. A new one changes the columns of no statement; the database itself plans those anew. */
const define = (made: Made, text: string): void => {
  made.sqlite.exec(text)
  if (/^\s*CREATE\b/.test(text)) made.emptying = []
  else changed(made)
}

const nameOf = (text: string): string | undefined => /^\s*CREATE TABLE (\w+)/.exec(text)?.[1]

/** What is left when the savepoint of this depth is taken back. */
const left = (asked: ReadonlyArray<Asked>, at: number): ReadonlyArray<Asked> =>
  asked.filter(({ depth }) => depth < at)

/** What it holds belongs to the savepoint around it. */
const kept = (asked: ReadonlyArray<Asked>, at: number): void => {
  for (const one of asked) one.depth = Math.min(one.depth, at - 1)
}

/** Forgets the tables that went with a savepoint. // D2 */
const takeBack = (made: Made, at: number): void => {
  for (const { depth, text } of made.unkept) {
    if (depth < at) continue
    made.tables.delete(text)
    made.names.delete(nameOf(text) ?? "")
    changed(made)
  }
  made.unkept = left(made.unkept, at)
  if (!made.isAltered || made.alteredAt < at) return
  made.isAltered = false // D3
  changed(made)
}

/** The table that a statement drops. */
const droppedBy = (text: string): string | undefined =>
  /^\s*DROP TABLE IF EXISTS (\w+)/.exec(text)?.[1]

const makesTables = (text: string): boolean => /^\s*(CREATE|ALTER)\b/.test(text)

const empty = (made: Made): void => {
  if (made.emptying.length === 0) {
    const tables = made.sqlite
      // What a virtual table keeps its content in is emptied with it, and cannot be touched.
      .prepare(
        "SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual') AND schema = 'main'",
      )
      .all() as Array<{ name: string }>
    made.emptying = tables
      .filter(({ name }) => !name.startsWith("sqlite_"))
      .map(({ name }) => `DELETE FROM "${name}"`)
  }
  run(made, "BEGIN")
  for (const text of made.emptying) run(made, text) // D3
  run(made, "COMMIT")
}

/** A blank database of a kind; databases of one kind have the same tables. */
export const openDatabase = (kind: string): Database => {
  let made: Made | undefined
  /** Savepoints that are open, and the depth at which the tables were made. */
  let depth = 0
  let madeAt = 0
  /** Whether tables were made here, and may still be taken back. */
  let isFresh = false
  /** The statements that have asked for tables. */
  let asked: ReadonlyArray<Asked> = []

  const forget = (): void => {
    made = undefined
    asked = []
    isFresh = false
  }

  const handOn = (): void => {
    if (made === undefined) return
    if (made.isAltered) {
      made.sqlite.close()
      return forget() // D3
    }
    empty(made)
    made.unkept = []
    const others = pool.get(kind) ?? []
    pool.set(kind, others)
    if (others.length < keptMax) others.push(made)
    else made.sqlite.close()
    forget()
  }

  const takeOne = (): Made => {
    const one = pool.get(kind)?.pop() ?? make()
    for (let at = 1; at <= depth; at++) run(one, `SAVEPOINT b${at}`)
    madeAt = depth
    return one
  }

  const askForTable = (text: string): void => {
    made ??= takeOne()
    if (made.isAltered) {
      define(made, text)
      return
    }
    asked = [...asked, { text, depth }]
    if (made.tables.has(text)) return // D2
    define(made, text)
    isFresh = true
    made.tables.add(text)
    if (depth > 0) made.unkept = [...made.unkept, { text, depth }]
    const name = nameOf(text)
    if (name !== undefined) made.names.add(name)
  }

  /** Drops a table that was asked for here; of another one nothing is there yet. // D1 */
  const drop = (name: string, text: string): void => {
    const isHere = new RegExp(`^\\s*CREATE (?:VIRTUAL )?TABLE ${name}\\b`)
    if (made === undefined || !asked.some((one) => isHere.test(one.text))) return
    const here = new Set(asked.map((one) => one.text))
    for (const known of [...made.tables].filter((table) => !here.has(table))) {
      const other = /^\s*CREATE (?:VIRTUAL )?TABLE (\w+)/.exec(known)?.[1]
      if (other !== undefined) define(made, `DROP TABLE IF EXISTS ${other}`)
    }
    if (!made.isAltered) made.alteredAt = depth
    made.isAltered = true
    define(made, text)
  }

  return {
    all: (text, bindings) => {
      if (made !== undefined) {
        const { columns, statement } = prepared(made, text)
        const rows = statement.all(...bindings) as unknown as ReadonlyArray<ReadonlyArray<SqlValue>>
        return rows.map((values) => rowOf(columns, values))
      }
      if (/\bFROM sqlite_schema\b/.test(text)) return [] // D1
      throw new Error(`no such table: ${text}`)
    },
    run: (text, bindings) => {
      if (makesTables(text)) {
        askForTable(text)
        return 0
      }
      const dropped = droppedBy(text)
      if (dropped !== undefined) {
        drop(dropped, text)
        return 0
      }
      if (made === undefined) throw new Error(`no such table: ${text}`)
      return Number(prepared(made, text).statement.run(...bindings).changes)
    },
    hasTable: (name) => made?.names.has(name) === true,
    open: (at) => {
      depth = at
      if (made !== undefined) run(made, `SAVEPOINT b${at}`)
    },
    undo: (at) => {
      if (made !== undefined) {
        run(made, `ROLLBACK TO b${at}`)
        run(made, `RELEASE b${at}`)
        takeBack(made, at)
        asked = left(asked, at)
        if (at <= madeAt) {
          for (let open = at - 1; open >= 1; open--) run(made, `RELEASE b${open}`)
          if (isFresh) {
            made.sqlite.close()
            forget() // D1
          } else handOn() // D1
        }
      }
      depth = at - 1
    },
    keep: (at) => {
      if (made !== undefined) {
        run(made, `RELEASE b${at}`)
        kept(made.unkept, at)
        kept(asked, at)
        made.alteredAt = Math.min(made.alteredAt, at - 1)
        made.unkept = made.unkept.filter((one) => one.depth > 0)
      }
      depth = at - 1
      madeAt = Math.min(madeAt, depth)
      if (depth === 0) isFresh = false
    },
    close: () => {
      if (made !== undefined && depth > 0) run(made, "RELEASE b1")
      if (made !== undefined) made.unkept = []
      depth = 0
      handOn()
    },
  }
}
