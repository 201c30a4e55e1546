/**
 * Storage whose rarely used tables are made when something is first put into them, and are not asked while they hold nothing.
 *
 * Most objects never use most of their tables. A table that is made is rows and pages that are paid for in each object, and a
 * look into an empty one costs as much as a look for a row.
 *
 * - E1 A table is made, and noted as made, in the transaction that first puts something into it.
 * - E2 What nobody has made reads as a table without rows, whatever statement asks for it.
 * - E3 A table counts as empty once it was just made, or a look has found nothing in it, until something is put into it.
 *   What answers nothing then is not run: a statement over that table alone, and no aggregate.
 * - E4 A transaction that throws takes back what it did: all that was remembered goes with it.
 */
import type { ObjectStorage, Sql, SqlRow, SqlValue } from "./ObjectStorage.ts"

export interface AsideTables {
  /** The statements that make a table and its indices, by its name. */
  readonly statements: ReadonlyMap<string, ReadonlyArray<string>>
  /** Which of them are noted as made. */
  readonly made: (sql: Sql) => ReadonlySet<string>
  /** Notes that one was made. Inside the transaction that makes it. */
  readonly note: (sql: Sql, table: string) => void
}

/** What a statement does to tables aside. */
interface Statement {
  /** The one that it puts something into. */
  readonly fills: string | undefined
  /** All that it asks. */
  readonly asks: ReadonlyArray<string>
  /** Whether it answers nothing where the only table that it asks is empty. // E3 */
  readonly isSpared: boolean
}

const readStatement = ({ statements }: AsideTables, text: string): Statement => {
  const tables = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)/g)].map(
    ([, table]) => table as string,
  )
  const filled = /\bINTO\s+(\w+)/.exec(text)?.[1]
  const isAggregate = /\b(?:count|min|max|sum|total|exists)\s*\(/i.test(text)
  return {
    fills: filled !== undefined && statements.has(filled) ? filled : undefined,
    asks: [...new Set(tables)].filter((table) => table !== filled && statements.has(table)),
    isSpared: filled === undefined && tables.length === 1 && !isAggregate,
  }
}

const columnsOf = ([table = ""]: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...table.matchAll(/^ +(\w+) (?:INTEGER|TEXT)/gm)].map(([, column]) => column as string)

/** A table without rows, in front of a statement. // E2 */
const withoutRows = (table: string, columns: ReadonlyArray<string>): string =>
  `${table} (${columns.join(", ")}) AS (SELECT ${columns.map(() => "NULL").join(", ")} WHERE 0)`

type State = "absent" | "empty" | "used"

interface AsideSql {
  readonly sql: Sql
  /** Forgets all that is remembered of the tables. */
  readonly forget: () => void
}

const asideSqlOf = (sql: Sql, aside: AsideTables, read: (text: string) => Statement): AsideSql => {
  const states = new Map<string, State>()

  /** Looks into all that were made, in one statement that reads a row of each that has one. // E3 */
  const look = (): void => {
    const made = aside.made(sql)
    for (const table of aside.statements.keys()) if (!made.has(table)) states.set(table, "absent")
    if (made.size === 0) return
    const asked = [...made].map((table) => `EXISTS (SELECT 1 FROM ${table}) AS ${table}`)
    const [found] = sql.all<Record<string, number>>(`SELECT ${asked.join(", ")}`)
    for (const table of made) states.set(table, found?.[table] === 0 ? "empty" : "used")
  }

  const stateOf = (table: string): State | undefined => {
    if (!states.has(table)) look()
    return states.get(table)
  }

  /** Makes the table that is to be filled, if nobody has. // E1 */
  const fill = (table: string): void => {
    if (stateOf(table) === "absent") {
      for (const statement of aside.statements.get(table) ?? []) sql.run(statement)
      aside.note(sql, table)
    }
    states.set(table, "used") // E3
  }

  const shadowed = (text: string, absent: ReadonlyArray<string>): string => {
    const shadows = absent.map((table) =>
      withoutRows(table, columnsOf(aside.statements.get(table) ?? [])),
    )
    return `WITH ${shadows.join(", ")} ${text}`
  }

  /** The text to run; none where the statement could find nothing. */
  const prepare = (text: string): string | undefined => {
    const { asks, fills, isSpared } = read(text)
    if (fills !== undefined) fill(fills)
    const [first] = asks
    if (first === undefined) return text
    if (isSpared) return stateOf(first) === "used" ? text : undefined // E3
    const absent = asks.filter((table) => stateOf(table) === "absent")
    return absent.length === 0 ? text : shadowed(text, absent) // E2
  }

  return {
    forget: () => states.clear(),
    sql: {
      all: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) => {
        const prepared = prepare(text)
        return prepared === undefined ? [] : sql.all<Row>(prepared, ...bindings)
      },
      run: (text, ...bindings) => {
        const prepared = prepare(text)
        if (prepared !== undefined) sql.run(prepared, ...bindings)
      },
    },
  }
}

const asideOf = (storage: ObjectStorage, { forget, sql }: AsideSql): ObjectStorage => ({
  alarm: storage.alarm,
  sync: () => storage.sync(),
  databaseBytes: () => storage.databaseBytes(),
  counts: () => storage.counts(),
  sql,
  transaction: (block) => {
    try {
      return storage.transaction(block)
    } catch (error) {
      forget() // E4
      throw error
    }
  },
})

/** Each statement is read once, whoever asks it: they are few, and all of them are ours. */
const reader = (aside: AsideTables): ((text: string) => Statement) => {
  const statements = new Map<string, Statement>()
  return (text) => {
    const known = statements.get(text)
    if (known !== undefined) return known
    const made = readStatement(aside, text)
    statements.set(text, made)
    return made
  }
}

/** For a look from outside an object: what it has not made reads as empty, and is made to be filled. Remembers nothing. */
export const lookingAside = (aside: AsideTables): ((sql: Sql) => Sql) => {
  const read = reader(aside)
  return (sql) => ({
    all: (...given) => asideSqlOf(sql, aside, read).sql.all(...given),
    run: (...given) => asideSqlOf(sql, aside, read).sql.run(...given),
  })
}

/** Makes a storage that has these tables aside, of one that has not. */
export const withAsideTables = (
  aside: AsideTables,
): ((storage: ObjectStorage) => ObjectStorage) => {
  const read = reader(aside)
  return (storage) => asideOf(storage, asideSqlOf(storage.sql, aside, read))
}
