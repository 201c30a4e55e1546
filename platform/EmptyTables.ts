/**
 * Storage that remembers which tables hold nothing: a statement that could find nothing is not run.
 *
 * Most objects never use most of their tables, and a look into an empty one costs as much as a look for a row.
 *
 * - E1 A table counts as empty once it was just made, or a look has found nothing in it, until something is put into it.
 * - E2 A transaction that throws takes back what it did: all that was remembered goes with it.
 * - E3 Spared is what answers nothing where its one table is empty: a statement over that table alone, and no aggregate.
 */
import type { ObjectStorage, Sql, SqlRow, SqlValue } from "./ObjectStorage.ts"

/** What a statement does to which tables, as far as it matters here. */
interface Statement {
  /** The table that it puts something into, or makes. */
  readonly fills: string | undefined
  readonly makes: string | undefined
  /** The only table that it looks at. // E3 */
  readonly over: string | undefined
}

const tablesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)/g)].map(([, table]) => table as string)

const readStatement = (text: string): Statement => {
  const isAggregate = /\b(?:count|min|max|sum|total|exists)\s*\(/i.test(text)
  const [table, ...others] = tablesIn(text)
  return {
    fills: /\bINTO\s+(\w+)/.exec(text)?.[1],
    makes: /^CREATE TABLE (\w+)/.exec(text)?.[1],
    over: isAggregate || others.length > 0 || /\bINTO\b/.test(text) ? undefined : table,
  }
}

/** Statements are few, and all of them are ours. */
const statements = new Map<string, Statement>()

const statementOf = (text: string): Statement => {
  const known = statements.get(text)
  if (known !== undefined) return known
  const read = readStatement(text)
  statements.set(text, read)
  return read
}

type Known = Map<string, "empty" | "used">

/** Looks into all tables that nothing is known of, in one statement that reads a row of each that has one. */
const lookInto = (sql: Sql, tables: ReadonlySet<string>, known: Known): void => {
  const unknown = [...tables].filter((table) => !known.has(table))
  const asked = unknown.map((table) => `EXISTS (SELECT 1 FROM ${table}) AS ${table}`)
  const [found] = sql.all<Record<string, number>>(`SELECT ${asked.join(", ")}`)
  for (const table of unknown) known.set(table, found?.[table] === 0 ? "empty" : "used") // E1
}

/** The same storage, sparing what is asked of these tables while they are empty. */
export const withEmptyTables = (
  storage: ObjectStorage,
  tables: ReadonlySet<string>,
): ObjectStorage => {
  const { sql } = storage
  const known: Known = new Map()

  /** Whether this statement may be spared; notes what it does. */
  const isSpared = (text: string): boolean => {
    const { fills, over } = statementOf(text)
    if (fills !== undefined && tables.has(fills)) known.set(fills, "used") // E1
    if (over === undefined || !tables.has(over)) return false
    if (!known.has(over)) lookInto(sql, tables, known)
    return known.get(over) === "empty"
  }

  return {
    alarm: storage.alarm,
    sync: () => storage.sync(),
    databaseBytes: () => storage.databaseBytes(),
    counts: () => storage.counts(),
    sql: {
      all: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) =>
        isSpared(text) ? [] : sql.all<Row>(text, ...bindings),
      run: (text, ...bindings) => {
        if (isSpared(text)) return
        sql.run(text, ...bindings)
        const { makes } = statementOf(text)
        if (makes !== undefined && tables.has(makes)) known.set(makes, "empty") // E1
      },
    },
    transaction: (block) => {
      try {
        return storage.transaction(block)
      } catch (error) {
        known.clear() // E2
        throw error
      }
    },
  }
}
