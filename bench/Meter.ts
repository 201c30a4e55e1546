/**
 * A counting storage: rows and alarm writes as the platform counts them, blocks that wrote, calls between objects, and for
 * how long these are active. It stands between the product's adapter and the storage of an object, in the code that is
 * measured.
 *
 * - M1 Only objects of an owner called `counted.…` are counted: to count costs, and the others are timed.
 */

import { type Activity, makeActivity, watchTimers, whileActive } from "./Activity.ts"

export interface Counts {
  read: number
  written: number
  /** Transactions that wrote something. */
  blocks: number
  alarmWrites: number
  /** Calls that the objects were sent, by operation; an alarm is one. */
  readonly calls: Record<string, number>
  /** How many rows had been read when the last call of an operation ended. */
  readonly readAtEnd: Record<string, number>
  /** The time that the objects were active, together. */
  activeMillis: number
  /** What happened in the objects of the owner, in order: a block that wrote, or the end of a call. */
  readonly order: Array<string>
}

const byOwner = new Map<string, { readonly owner: Counts; readonly thread: Counts }>()

const noCounts = (): Counts => ({
  read: 0,
  written: 0,
  blocks: 0,
  alarmWrites: 0,
  calls: {},
  readAtEnd: {},
  activeMillis: 0,
  order: [],
})

const ownerOf = (name: string): string => name.split("/")[0] ?? ""

const isCounted = (name: string): boolean => name.startsWith("counted.") // M1

const countsOf = (owner: string) => {
  const known = byOwner.get(owner) ?? { owner: noCounts(), thread: noCounts() }
  byOwner.set(owner, known)
  return known
}

/** Takes what an owner's objects have counted since the last time. */
export const takeCounts = (owner: string) => {
  const counts = countsOf(owner)
  byOwner.set(owner, { owner: noCounts(), thread: noCounts() })
  return counts
}

/** The same without taking them. */
export const peekCounts = (owner: string) => countsOf(owner)

/** The wrappers must live as long as the object: they are found by what they replace. */
const kept = new WeakMap<DurableObjectState, ReadonlyArray<object>>()

const activities = new WeakMap<DurableObjectState, Activity>()

const replace = (target: object, name: string, method: unknown): void =>
  void Object.defineProperty(target, name, { value: method, configurable: true })

/** Counts from here on what this object's storage does, and gives its state back. */
export const metered = (
  kind: "owner" | "thread",
  state: DurableObjectState,
): DurableObjectState => {
  const name = state.id.name ?? ""
  if (!isCounted(name)) return state
  const counts = () => countsOf(ownerOf(name))[kind]
  const { storage } = state
  const { sql } = storage
  kept.set(state, [storage, sql])
  watchTimers()
  const activity = makeActivity((millis) => {
    counts().activeMillis += millis
  })
  activities.set(state, activity)
  const waitUntil = state.waitUntil.bind(state)
  replace(state, "waitUntil", (promise: Promise<unknown>) => {
    activity.begin()
    void promise.then(activity.end, activity.end)
    waitUntil(promise)
  })
  const exec = sql.exec.bind(sql)
  replace(sql, "exec", (statement: string, ...bindings: ReadonlyArray<unknown>) => {
    const cursor = exec<never>(statement, ...bindings)
    const toArray = cursor.toArray.bind(cursor)
    replace(cursor, "toArray", () => {
      const rows = toArray()
      counts().read += cursor.rowsRead
      counts().written += cursor.rowsWritten
      return rows
    })
    return cursor
  })
  const transactionSync = storage.transactionSync.bind(storage)
  replace(storage, "transactionSync", (block: () => unknown) => {
    const before = counts().written + counts().alarmWrites
    const result = transactionSync(block)
    if (counts().written + counts().alarmWrites > before) {
      counts().blocks += 1
      countsOf(ownerOf(name)).owner.order.push(`${kind} block`)
    }
    return result
  })
  for (const method of ["setAlarm", "deleteAlarm"] as const) {
    const write = storage[method].bind(storage) as (...given: ReadonlyArray<unknown>) => unknown
    replace(storage, method, (...given: ReadonlyArray<unknown>) => {
      counts().alarmWrites += 1
      return write(...given)
    })
  }
  return state
}

/** Counts a call that an object was sent, or its alarm, from its beginning to its end. */
export const meteredCall = async <A>(
  object: { readonly kind: "owner" | "thread"; readonly state: DurableObjectState },
  operation: string,
  call: () => Promise<A>,
): Promise<A> => {
  const { kind, state } = object
  const name = state.id.name ?? ""
  const activity = activities.get(state)
  if (activity === undefined) return call()
  const counts = () => countsOf(ownerOf(name))
  const { calls } = counts()[kind]
  calls[operation] = (calls[operation] ?? 0) + 1
  try {
    return await whileActive(activity, call)
  } finally {
    const { owner, [kind]: own } = counts()
    own.readAtEnd[operation] = own.read
    owner.order.push(`${kind} ${operation}`)
  }
}
