/**
 * A database that is cheap to make: its tables come from an earlier run that made the same ones.
 *
 * An object's database is blank until somebody makes tables. The first run of a process makes them for real;
 * later ones take a database that has been emptied, and check that the same tables are asked for.
 *
 * - D1 A blank database has no tables, whatever is kept for it; one whose making was taken back is blank again.
 * - D2 Tables are taken as they are only if exactly the same statements ask for them, in the same order.
 * - D3 A database is handed on empty; one of whose tables some were dropped is not handed on.
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

/** A real database, its statements, and the statements that made its tables. */
interface Made {
  readonly sqlite: DatabaseSync
  readonly statements: Map<string, Prepared>
  readonly tables: Array<string>
  readonly names: Set<string>
  readonly emptying: Array<string>
  /** Whether tables of it were dropped: its statements no longer tell what it has. */
  isAltered: boolean
}

const pool = new Map<string, Array<Made>>()
/** As many are kept of each kind as a large world needs. */
const keptMax = 16

const make = (): Made => ({
  sqlite: new DatabaseSync(":memory:"),
  statements: new Map(),
  tables: [],
  names: new Set(),
  emptying: [],
  isAltered: false,
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

/** Makes or alters tables: what was prepared before may have other columns now. */
const define = (made: Made, text: string): void => {
  made.sqlite.exec(text)
  made.statements.clear()
}

/** The table that a statement drops. */
const droppedBy = (text: string): string | undefined =>
  /^\s*DROP TABLE IF EXISTS (\w+)/.exec(text)?.[1]

const makesTables = (text: string): boolean => /^\s*(CREATE|ALTER)\b/.test(text)

const empty = (made: Made): void => {
  if (made.emptying.length === 0)
    for (const { name } of made.sqlite
      // What a virtual table keeps its content in is emptied with it, and cannot be touched.
      .prepare(
        "SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual') AND schema = 'main'",
      )
      .all() as Array<{ name: string }>)
      if (!name.startsWith("sqlite_")) made.emptying.push(`DELETE FROM "${name}"`)
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
  /** How many statements have asked for tables. */
  let asked = 0

  const forget = (): void => {
    made = undefined
    asked = 0
    isFresh = false
  }

  const handOn = (): void => {
    if (made === undefined) return
    if (made.isAltered) {
      made.sqlite.close()
      return forget() // D3
    }
    empty(made)
    const kept = pool.get(kind) ?? []
    pool.set(kind, kept)
    if (kept.length < keptMax) kept.push(made)
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
    const known = made.tables[asked]
    if (known === undefined) {
      define(made, text)
      isFresh = true
      made.tables.push(text)
      const name = /^\s*CREATE TABLE (\w+)/.exec(text)?.[1]
      if (name !== undefined) made.names.add(name)
    } else if (known !== text) throw new Error(`other tables than before: ${text}`) // D2
    asked += 1
  }

  /** Drops a table that was asked for here; of another one nothing is there yet. // D1 */
  const drop = (name: string, text: string): void => {
    const isHere = new RegExp(`^\\s*CREATE (?:VIRTUAL )?TABLE ${name}\\b`)
    if (made === undefined || !made.tables.slice(0, asked).some((table) => isHere.test(table)))
      return
    for (const known of made.tables.slice(asked)) {
      const other = /^\s*CREATE (?:VIRTUAL )?TABLE (\w+)/.exec(known)?.[1]
      if (other !== undefined) define(made, `DROP TABLE IF EXISTS ${other}`)
    }
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
        if (at <= madeAt) {
          for (let left = at - 1; left >= 1; left--) run(made, `RELEASE b${left}`)
          if (isFresh) {
            made.sqlite.close()
            forget() // D1
          } else handOn() // D1
        }
      }
      depth = at - 1
    },
    keep: (at) => {
      if (made !== undefined) run(made, `RELEASE b${at}`)
      depth = at - 1
      madeAt = Math.min(madeAt, depth)
      if (depth === 0) isFresh = false
    },
    close: () => {
      if (made !== undefined && depth > 0) run(made, "RELEASE b1")
      depth = 0
      handOn()
    },
  }
}
