/**
 * What outlives the incarnations of one object: its database and its alarm's time, with the platform's
 * lagging flush.
 *
 * Each commit is a batch. Batches become durable in their order, some time after they were made; a crash
 * takes back those that are not. Nothing that an object sends leaves before the batches made before it are
 * durable (the output gate).
 *
 * - S1 A batch is a savepoint until all before it and itself are durable, so that a crash at any instant
 *   leaves exactly a prefix of the batches, with the alarm's time as the last of them left it.
 * - S2 What waits at the gate for a batch that was taken back never leaves.
 * - S3 An incarnation that was replaced can neither read nor write.
 * - S4 A statement that fails has changed nothing, and throws; what its block did before is taken back only if the block
 *   lets that out. Where there is no room, its commit fails if anything was to be written.
 */
import {
  checkBindings,
  makeTransaction,
  type ObjectStorage,
  ofStorage,
  type Sql,
  type SqlRow,
  StorageFailure,
  type SqlValue,
} from "../platform/ObjectStorage.ts"
import { openDatabase } from "./Database.ts"
import type { Queue } from "./Queue.ts"

/** What is wrong with a storage at present. */
export type StorageFault = "none" | "failing" | "full" | "no room"

/** A statement of a block, from 1; or, behind the last one, its commit. */
export interface BlockStatement {
  readonly nth: number
  readonly does: "reads" | "writes" | "commits"
}

/** How one fails: alone, or because there is no room from then on, to the end of its block. */
export type Breaks = "errs" | "no room"

/** Whose view of the storage it is. */
export interface Tenant {
  /** False once another incarnation has taken over. // S3 */
  holdsStorage: boolean
}

export interface DurableStateOptions {
  readonly queue: Queue
  /** Objects of one kind have the same tables. */
  readonly kind: string
  /** How an onlooker asks for tables that an object makes when it needs them. */
  readonly lookAside?: (sql: Sql) => Sql
  readonly label: string
  /** How long the next flush takes. */
  readonly flushMillis: () => number
  /** Told of each statement that writes, and of each batch as it is made. */
  readonly onWrite?: (text: string, bindings: ReadonlyArray<SqlValue>) => void
  readonly onBatch: () => void
  /** Asked of each statement of a block whether it fails; none does without it. */
  readonly breaks?: ((statement: BlockStatement) => Breaks | undefined) | undefined
  /** Told once a block is over in which one did. */
  readonly onBroken?: () => void
  /** Told when what was written is not there after all, or something was changed beside the object. */
  readonly onUndone?: () => void
  /** Told the alarm's time whenever it has become durable. */
  readonly onAlarm: (at: number | null) => void
}

export interface DurableState {
  readonly viewOf: (tenant: Tenant) => ObjectStorage
  /** Runs once everything written so far is durable; never if it is lost. // S2 */
  readonly whenFlushed: (run: () => void) => void
  /** Whether everything written is durable. */
  readonly isFlushed: () => boolean
  /** Takes back what is not durable. */
  readonly crash: () => void
  /** Makes everything durable now. */
  readonly flushAll: () => void
  readonly alarmAt: () => number | null
  /** The alarm is delivered: its slot is empty, durably. */
  readonly consumeAlarm: () => void
  /** Batches ever made, those taken back included. */
  readonly batches: () => number
  /** How often its rows may have changed, whoever changed them or took a change back. */
  readonly changes: () => number
  /** How often the object has used its storage, reads included. */
  readonly uses: () => number
  /** Rows that statements of it gave, and changed. */
  readonly rows: () => { readonly read: number; readonly written: number }
  readonly setFault: (fault: StorageFault) => void
  readonly fault: () => StorageFault
  /** Reads beside the object: for those who judge. */
  readonly read: <Row extends SqlRow>(
    statement: string,
    ...bindings: ReadonlyArray<SqlValue>
  ) => ReadonlyArray<Row>
  /** Changes rows beside the object, durably: a disk that rots, and its restoration. */
  readonly tamper: (statement: string, ...bindings: ReadonlyArray<SqlValue>) => void
  readonly hasTable: (name: string) => boolean
  /** The object's storage is deleted for good. */
  readonly wipe: () => void
  readonly close: () => void
}

/** Far below any limit, and far above it. */
const someBytes = 65_536
const fullBytes = 2 ** 50

const noRoom = "database or disk is full: SQLITE_FULL"

interface OpenBlock {
  changed: boolean
  statements: number
  hasRoom: boolean
  /** Whether a statement of it has failed. */
  broken: boolean
}

interface Waiting {
  readonly depth: number
  readonly run: () => void
}

export const makeDurableState = (options: DurableStateOptions): DurableState => {
  const { queue } = options
  let database = openDatabase(options.kind)
  const own: Sql = {
    all: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) =>
      database.all(text, bindings) as unknown as ReadonlyArray<Row>,
    run: (text, ...bindings) => void database.run(text, bindings),
  }
  const aside = options.lookAside?.(own)
  /** Almost always what is looked for is there. */
  const orAside = <A>(look: (sql: Sql) => A): A => {
    try {
      return look(own)
    } catch (error) {
      if (aside === undefined) throw error
      return look(aside)
    }
  }
  /** Savepoints on the stack; of these, how many are durable. // S1 */
  let depth = 0
  let durable = 0
  let batches = 0
  let changes = 0
  let uses = 0
  let flushing = false
  let fault: StorageFault = "none"
  let waiting: Array<Waiting> = []
  /** The alarm's time as each batch on the stack left it; first as it is durable without them. // S1 */
  let alarms: Array<number | null> = [null]
  let alarmAt: number | null = null
  /** Of the block that is open. */
  let block: OpenBlock | undefined
  const counts = { read: 0, written: 0, alarmWrites: 0 }

  const settle = (): void => {
    if (durable < depth) return
    if (depth > 0) database.keep(1)
    depth = durable = 0
    alarms = [alarmAt]
  }

  const reach = (target: number): void => {
    const before = alarms[durable] ?? null
    durable = Math.max(durable, Math.min(target, depth))
    const after = alarms[durable] ?? null
    const free = waiting.filter((one) => one.depth <= durable)
    waiting = waiting.filter((one) => one.depth > durable)
    if (before !== after) options.onAlarm(after)
    settle()
    if (depth === 0) waiting = []
    for (const one of free) one.run()
  }

  const startFlush = (): void => {
    if (flushing || depth === durable) return
    flushing = true
    const target = depth
    queue.at(queue.now() + options.flushMillis(), undefined, `flush ${options.label}`, () => {
      if (!flushing) return
      flushing = false
      reach(queue.random.between(Math.min(target, depth), depth))
      startFlush()
    })
  }

  const undo = (to: number): void => {
    database.undo(to + 1)
    changes += 1
    depth = to
    options.onUndone?.()
  }

  /** One more statement, which may fail. // S4 */
  const step = (does: BlockStatement["does"]): void => {
    const breaks =
      block === undefined ? undefined : options.breaks?.({ nth: ++block.statements, does })
    if (block !== undefined && breaks !== undefined) {
      block.broken = true
      if (breaks === "errs") throw new Error("SQL logic error: SQLITE_ERROR")
      block.hasRoom = false
    }
    const hasRoom = fault !== "no room" && block?.hasRoom !== false
    if (!hasRoom && does !== "reads") throw new Error(noRoom)
  }

  /** One batch: what the block writes, or nothing of it. */
  const batch = <A>(work: () => A): A => {
    const before = alarmAt
    depth += 1
    database.open(depth)
    const opened: OpenBlock = { changed: false, statements: 0, hasRoom: true, broken: false }
    block = opened
    try {
      const answer = work()
      if (block.changed) {
        step("commits") // S4
        alarms[depth] = alarmAt
        batches += 1
        changes += 1
        startFlush()
        options.onBatch()
      } else {
        database.keep(depth)
        depth -= 1
      }
      return answer
    } catch (error) {
      alarmAt = before
      undo(depth - 1)
      throw error
    } finally {
      block = undefined
      if (opened.broken) options.onBroken?.()
    }
  }

  const written = (work: () => void): void => {
    if (block === undefined) {
      batch(() => {
        work()
        if (block !== undefined) block.changed = true
      })
      return
    }
    work()
    block.changed = true
  }

  const crash = (): void => {
    if (depth > durable) undo(durable)
    alarmAt = alarms[durable] ?? null
    alarms.length = durable + 1
    waiting = [] // S2
    flushing = false
    settle()
  }

  const viewOf = (tenant: Tenant): ObjectStorage => {
    const check = (): void => {
      uses += 1
      if (!tenant.holdsStorage) throw new StorageFailure(new Error("another instance took over")) // S3
      if (fault === "failing") throw new StorageFailure(new Error("disk I/O error"))
    }
    const setAlarm = (at: number | null): void => {
      check()
      counts.alarmWrites += 1
      written(() => {
        alarmAt = at
      })
    }
    const later = <A>(answer: () => A): Promise<A> => {
      try {
        check()
        return Promise.resolve(answer())
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return {
      sql: {
        all: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) => {
          check()
          checkBindings(bindings)
          const rows = ofStorage(() => {
            step("reads")
            return database.all(text, bindings)
          })
          counts.read += rows.length
          return rows as unknown as ReadonlyArray<Row>
        },
        run: (text, ...bindings) => {
          check()
          checkBindings(bindings)
          ofStorage(() => step("writes"))
          written(() => {
            counts.written += ofStorage(() => database.run(text, bindings))
            options.onWrite?.(text, bindings)
          })
        },
      },
      alarm: {
        get: () => later(() => alarmAt),
        set: (at) => setAlarm(at),
        delete: () => setAlarm(null),
      },
      transaction: makeTransaction((work) => {
        check()
        return batch(work)
      }),
      sync: () =>
        later(() => undefined).then(
          () =>
            new Promise<void>((resolve) => {
              if (depth === durable) resolve()
              else waiting.push({ depth, run: resolve })
            }),
        ),
      databaseBytes: () => (fault === "full" ? fullBytes : someBytes),
      counts: () => ({ ...counts }),
    }
  }

  return {
    viewOf,
    whenFlushed: (run) => {
      if (depth === durable) run()
      else waiting.push({ depth, run })
    },
    isFlushed: () => depth === durable,
    crash,
    flushAll: () => reach(depth),
    alarmAt: () => alarmAt,
    consumeAlarm: () => {
      alarmAt = null
      alarms = alarms.map(() => null)
    },
    batches: () => batches,
    changes: () => changes,
    uses: () => uses,
    rows: () => counts,
    setFault: (next) => {
      fault = next
    },
    fault: () => fault,
    read: <Row extends SqlRow>(text: string, ...bindings: ReadonlyArray<SqlValue>) =>
      orAside((sql) => sql.all<Row>(text, ...bindings)),
    tamper: (text, ...bindings) => {
      reach(depth)
      orAside((sql) => sql.run(text, ...bindings))
      changes += 1
      options.onUndone?.()
    },
    hasTable: (name) => database.hasTable(name),
    wipe: () => {
      crash()
      changes += 1
      database.close()
      database = openDatabase(options.kind)
      alarmAt = null
      alarms = [null]
      options.onAlarm(null)
    },
    close: () => database.close(),
  }
}
