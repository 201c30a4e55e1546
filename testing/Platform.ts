/**
 * The platform: it makes objects when something reaches them, delivers their alarms, and takes them away.
 *
 * - P1 An alarm is consumed as it is delivered. A handler that throws, or whose object dies, is tried again
 *   after 2 s, doubling, six times; then the alarm is gone. An alarm that was set and flushed meanwhile takes
 *   the place of those tries.
 * - P2 Setting an alarm again cancels the delivery under way. One that comes due while the handler runs is
 *   delivered right after it.
 * - P3 An object that dies loses what it had not flushed, and whoever waits for it is told.
 * - P4 One that is replaced runs on, without storage, for up to 30 s.
 * - P5 An object is put away only while nothing of it is under way.
 */
import type { SqlValue } from "../platform/ObjectStorage.ts"
import type { Faults } from "./Faults.ts"
import {
  type Code,
  type Incarnation,
  isIdle,
  type ObjectKind,
  type SimulatedObject,
} from "./Incarnation.ts"
import { lookingAside } from "../platform/AsideTables.ts"
import { asideTables } from "../thread-actors/Tables.ts"
import {
  type BlockStatement,
  type Breaks,
  type DurableStateOptions,
  makeDurableState,
} from "./DurableState.ts"
import { goneErrors, type Land } from "./Network.ts"
import type { Queue } from "./Queue.ts"
import type { AlarmDoes } from "./Strikes.ts"

export interface Platform {
  readonly object: (kind: ObjectKind, name: string) => SimulatedObject
  readonly objects: () => ReadonlyArray<SimulatedObject>
  /** Where a request for this object lands: at its incarnation, or at a new one. */
  readonly land: (kind: ObjectKind, name: string) => Land
  readonly crash: (object: SimulatedObject) => void
  /** Another instance takes over; the old one runs on. // P4 */
  readonly replace: (object: SimulatedObject) => void
  /** Puts it away if nothing of it is under way. Tells whether it did. // P5 */
  readonly evict: (object: SimulatedObject) => boolean
  /** How many alarms were delivered. */
  readonly alarms: () => number
  /** Whether an alarm of this object will really be delivered, or is being handled. */
  readonly willRing: (object: SimulatedObject) => boolean
}

export type OnWrite = (
  object: SimulatedObject,
  text: string,
  bindings: ReadonlyArray<SqlValue>,
) => void

export interface PlatformOptions {
  readonly queue: Queue
  readonly faults: Faults
  readonly skewMillis: () => number
  readonly flushMillis: () => number
  /** Which deployment a new incarnation runs. */
  readonly version: () => string
  /** Whether incarnations are made to yield at random. */
  readonly mayYield: boolean
  /** Every alarm rings late, by any time below this. */
  readonly alarmLagMillis: number
  /** What becomes of this alarm, which is due, by the plan; by default nothing. */
  readonly strikes?: (object: SimulatedObject) => AlarmDoes | undefined
  readonly code: (incarnation: Incarnation) => Code
  /** Told of each object as it comes to be. */
  readonly onMade?: (object: SimulatedObject) => void
  /** Told of an owner's statements that write, its batches, and what of them is not there after all. */
  readonly onWrite?: OnWrite
  readonly onBatch: (object: SimulatedObject) => void
  readonly onUndone?: (object: SimulatedObject) => void
  /** Whether a statement of a block fails, and who is told of a block in which one has. */
  readonly breaks?:
    | ((object: SimulatedObject, statement: BlockStatement) => Breaks | undefined)
    | undefined
  readonly onBroken?: (object: SimulatedObject) => void
  /** Told when an alarm's handler has ended well, and what it did is durable. */
  readonly onAlarmEnd: (object: SimulatedObject) => void
  /** Told when its handler has failed, or died with its object. */
  readonly onAlarmFailed?: (object: SimulatedObject) => void
}

const retriesMax = 6
const firstRetryMillis = 2_000
const oldInstanceMillis = 30_000

export const makePlatform = (options: PlatformOptions): Platform => {
  const { faults, queue } = options
  const { random, trace } = queue
  const objects = new Map<string, SimulatedObject>()
  let alarms = 0

  const plan = (object: SimulatedObject, at: number): void => {
    const { alarm } = object
    alarm.dueAt = at
    if (alarm.timer !== undefined) alarm.timer.cancelled = true // P2
    const late = faults.strike("alarm late", () => object.name)
      ? random.between(1_000, 90_000)
      : random.below(options.alarmLagMillis)
    alarm.timer = queue.at(
      Math.max(at, queue.now()) + late,
      undefined,
      `alarm ${object.name}`,
      () => deliver(object, at),
    )
  }

  const onAlarm = (object: SimulatedObject, at: number | null): void => {
    const { alarm } = object
    alarm.failures = 0 // P1
    alarm.givenUp = false
    if (at !== null) return plan(object, at)
    if (alarm.timer !== undefined) alarm.timer.cancelled = true
    alarm.timer = undefined
  }

  /** A delivery came to nothing. // P1 */
  const failedDelivery = (object: SimulatedObject): void => {
    const { alarm } = object
    alarm.running = undefined
    alarm.again = false
    options.onAlarmFailed?.(object)
    const at = object.state.alarmAt()
    if (at !== null) {
      if (alarm.timer === undefined) plan(object, at)
      return
    }
    alarm.failures += 1
    if (alarm.failures > retriesMax) {
      alarm.givenUp = true
      trace.note("alarm given up", object.name)
      return
    }
    const wait = firstRetryMillis * 2 ** (alarm.failures - 1)
    alarm.timer = queue.at(queue.now() + wait, undefined, `alarm ${object.name}`, () =>
      deliver(object, null),
    )
  }

  const ended = (object: SimulatedObject, by: Incarnation): void => {
    const { alarm } = object
    if (alarm.running !== by) return
    alarm.running = undefined
    alarm.failures = 0
    options.onAlarmEnd(object)
    const at = object.state.alarmAt()
    if (alarm.again && at !== null) plan(object, at) // P2
    alarm.again = false
  }

  /** `at` is the time that was set; null when a delivery is tried again. */
  const deliver = (object: SimulatedObject, at: number | null): void => {
    const { alarm, state } = object
    alarm.timer = undefined
    if (alarm.running !== undefined) {
      alarm.again = true // P2
      return
    }
    if (at !== null && state.alarmAt() !== at) return // P2
    const struck = at === null ? undefined : options.strikes?.(object)
    if (struck?._tag === "Lost") {
      state.consumeAlarm()
      alarm.givenUp = true
      return
    }
    if (struck?._tag === "Late") {
      alarm.timer = queue.at(queue.now() + struck.millis, undefined, `alarm ${object.name}`, () =>
        deliver(object, at),
      )
      return
    }
    let incarnation: Incarnation
    try {
      incarnation = live(object)
    } catch {
      if (at !== null) state.consumeAlarm()
      return failedDelivery(object)
    }
    const handler = incarnation.code?.alarm
    if (handler === undefined) return
    alarms += 1
    state.consumeAlarm() // P1
    alarm.running = incarnation
    incarnation.runner.clock = queue.now() + incarnation.runner.skewMillis
    handler().then(
      () => {
        if (incarnation.holdsStorage) state.whenFlushed(() => ended(object, incarnation))
      },
      () => {
        if (alarm.running === incarnation) failedDelivery(object)
      },
    )
  }

  const live = (object: SimulatedObject): Incarnation => {
    if (object.incarnation !== undefined) return object.incarnation
    if (queue.now() < object.startsFailUntil) throw new Error("the constructor threw")
    const incarnation: Incarnation = {
      object,
      holdsStorage: true,
      runner: queue.runner(object.name, options.skewMillis()),
      version: options.version(),
      calls: new Set(),
      kept: 0,
      gateBroken: false,
      replacedAt: undefined,
      code: undefined,
      reached: new Map(),
    }
    object.incarnation = incarnation
    object.lives += 1
    incarnation.code = options.code(incarnation)
    incarnation.runner.mayYield = options.mayYield
    trace.note("start", object.name, incarnation.runner.id)
    return incarnation
  }

  /** The incarnation is no longer the object's; its callers and its alarm hear of it. // P3 */
  const dismiss = (object: SimulatedObject): Incarnation | undefined => {
    const { alarm, incarnation, state } = object
    if (incarnation === undefined) return undefined
    object.incarnation = undefined
    incarnation.gateBroken = !state.isFlushed()
    incarnation.holdsStorage = false
    incarnation.replacedAt = queue.now()
    state.crash() // P3
    const error = random.pick(goneErrors)
    for (const call of incarnation.calls) call.fail(error()) // P3
    if (alarm.running === incarnation) failedDelivery(object)
    const at = state.alarmAt()
    // A delivery that was passed over, or planned, for a time which was taken back is planned again.
    if (at !== null && (alarm.timer === undefined || alarm.dueAt !== at)) plan(object, at)
    return incarnation
  }

  const make = (kind: ObjectKind, name: string): SimulatedObject => {
    const stateOptions: DurableStateOptions = {
      queue,
      kind,
      ...(kind === "thread" ? { lookAside: lookingAside(asideTables) } : {}),
      label: name,
      flushMillis: options.flushMillis,
      onBatch: () => options.onBatch(object),
      ...(kind === "owner"
        ? {
            onWrite: (text: string, bindings: ReadonlyArray<SqlValue>) =>
              options.onWrite?.(object, text, bindings),
            onUndone: () => options.onUndone?.(object),
          }
        : {}),
      breaks: options.breaks && ((statement) => options.breaks?.(object, statement)),
      onBroken: () => options.onBroken?.(object),
      onAlarm: (at) => onAlarm(object, at),
    }
    const object: SimulatedObject = {
      kind,
      name,
      state: makeDurableState(stateOptions),
      incarnation: undefined,
      lives: 0,
      landedAt: 0,
      startsFailUntil: 0,
      alarm: {
        dueAt: 0,
        timer: undefined,
        running: undefined,
        again: false,
        failures: 0,
        givenUp: false,
      },
    }
    return object
  }

  const objectOf = (kind: ObjectKind, name: string): SimulatedObject => {
    const key = `${kind} ${name}`
    const found = objects.get(key)
    if (found !== undefined) return found
    const made = make(kind, name)
    objects.set(key, made)
    options.onMade?.(made)
    return made
  }

  return {
    object: objectOf,
    objects: () => [...objects.values()],
    land: (kind, name) => {
      const object = objectOf(kind, name)
      return () => live(object)
    },
    crash: (object) => {
      const dead = dismiss(object)
      if (dead === undefined) return
      trace.note("crash", object.name, dead.runner.id)
      dead.gateBroken = true // P3
      queue.kill(dead.runner)
    },
    replace: (object) => {
      const old = dismiss(object)
      if (old === undefined) return
      trace.note("replace", object.name, old.runner.id)
      const until = queue.now() + random.below(oldInstanceMillis) // P4
      queue.at(until, undefined, `end of ${object.name}`, () => queue.kill(old.runner))
    },
    evict: (object) => {
      const { incarnation, state } = object
      if (incarnation === undefined || !isIdle(incarnation)) return false // P5
      state.flushAll()
      trace.note("evict", object.name, incarnation.runner.id)
      queue.kill(incarnation.runner)
      incarnation.holdsStorage = false
      object.incarnation = undefined
      return true
    },
    alarms: () => alarms,
    willRing: ({ alarm, state }) =>
      alarm.running !== undefined ||
      (state.alarmAt() !== null && !alarm.givenUp) ||
      alarm.timer !== undefined,
  }
}
