/**
 * What an object's database is asked, counted by the platform itself: rows read and written per
 * statement, blocks and alarm writes, and the order of blocks and replies over all objects of an owner.
 *
 * A cursor tells its counts in its own object only, so counts are taken there.
 */
import { ownerOfName } from "./loom-control.ts"

export interface StatementCount {
  times: number
  read: number
  written: number
}

export interface Count {
  readonly read: number
  readonly written: number
  readonly blocks: number
  readonly alarmWrites: number
  /** How often it was called. */
  readonly calls: number
  /** By the first words of its text. */
  readonly statements: Readonly<Record<string, StatementCount>>
}

interface Meter {
  readonly asked: Array<{ readonly statement: string; readonly cursor: SqlStorageCursor<never> }>
  blocks: number
  alarmWrites: number
  calls: number
  /** Held so that the methods replaced below stay replaced. */
  readonly held: ReadonlyArray<object>
}

const meters = new Map<string, Meter>()
const order = new Map<string, Array<string>>()

/** What happened so far in the objects of an owner: `owner block`, `thread block`, `owner reply`. */
export const orderOf = (ownerId: string): Array<string> => {
  const known = order.get(ownerId) ?? []
  order.set(ownerId, known)
  return known
}

const replace = (target: object, name: string, method: unknown): void =>
  void Object.defineProperty(target, name, { value: method, configurable: true })

/** Counts from here on what this object does. */
export const attachMeter = (kind: "owner" | "thread", state: DurableObjectState): void => {
  const name = state.id.name ?? ""
  const { storage } = state
  const { sql } = storage
  const meter: Meter = { asked: [], blocks: 0, alarmWrites: 0, calls: 0, held: [storage, sql] }
  meters.set(name, meter)
  const exec = sql.exec.bind(sql)
  replace(sql, "exec", (statement: string, ...bindings: ReadonlyArray<unknown>) => {
    const cursor = exec<never>(statement, ...bindings)
    // What a test asks for its waiting is not the object's.
    if (!statement.startsWith("/* looked at */"))
      meter.asked.push({ statement: statement.replaceAll(/\s+/g, " ").trim(), cursor })
    return cursor
  })
  const transactionSync = storage.transactionSync.bind(storage)
  replace(storage, "transactionSync", (block: () => unknown) => {
    meter.blocks += 1
    orderOf(ownerOfName(name)).push(`${kind} block`)
    return transactionSync(block)
  })
  for (const method of ["setAlarm", "deleteAlarm"] as const) {
    const write = storage[method].bind(storage) as (...given: ReadonlyArray<unknown>) => unknown
    replace(storage, method, (...given: ReadonlyArray<unknown>) => {
      meter.alarmWrites += 1
      return write(...given)
    })
  }
}

/** Counts a call of an object, if it is metered. */
export const countCall = (name: string): void => {
  const meter = meters.get(name)
  if (meter !== undefined) meter.calls += 1
}

/** Takes what an object has counted since the last time. To be called inside that object. */
export const takeCount = (name: string): Count => {
  const meter = meters.get(name)
  if (meter === undefined) throw new Error(`${name} is not metered`)
  const statements: Record<string, StatementCount> = {}
  for (const { cursor, statement } of meter.asked.splice(0)) {
    const count = (statements[statement] ??= { times: 0, read: 0, written: 0 })
    count.times += 1
    count.read += cursor.rowsRead
    count.written += cursor.rowsWritten
  }
  const { alarmWrites, blocks, calls } = meter
  meter.blocks = 0
  meter.alarmWrites = 0
  meter.calls = 0
  const all = Object.values(statements)
  return {
    read: all.reduce((sum, count) => sum + count.read, 0),
    written: all.reduce((sum, count) => sum + count.written, 0),
    blocks,
    alarmWrites,
    calls,
    statements,
  }
}
