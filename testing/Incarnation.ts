/**
 * One life of an object on the platform: its runner, its hold on the storage, and the calls that it owes an
 * answer.
 *
 * - I1 What an incarnation sends leaves once what it wrote before is durable.
 * - I2 One that was replaced may go on for a while; what it sends leaves only if it had nothing unflushed when
 *   it lost its storage.
 */
import type { WireTarget } from "../contracts/transport/Wire.ts"
import type { DurableState, Tenant } from "./DurableState.ts"
import type { Runner } from "./Queue.ts"

export type ObjectKind = "owner" | "thread" | "registry"

/** What the platform runs: the object's native method, and its alarm handler if it has one. */
export interface Code extends WireTarget {
  readonly alarm?: () => Promise<void>
}

/** A call that an object has been given and has not answered. */
export interface OpenCall {
  readonly fail: (error: Error) => void
}

export interface SimulatedObject {
  readonly kind: ObjectKind
  readonly name: string
  readonly state: DurableState
  incarnation: Incarnation | undefined
  /** How many incarnations it has had. */
  lives: number
  /** When a request landed there last. */
  landedAt: number
  /** Its constructor throws until then. */
  startsFailUntil: number
  readonly alarm: AlarmOfObject
}

/** The owner of a thread, by the thread's name. */
export const ownerIdOf = (name: string): string => name.slice(0, name.indexOf("/"))

/** The id of a thread, by its name. */
export const threadIdOf = (name: string): string => name.slice(name.indexOf("/") + 1)

/** What the platform knows about the alarm of an object. */
export interface AlarmOfObject {
  /** The time for which it was set last. */
  dueAt: number
  /** The delivery that is planned. */
  timer: { cancelled: boolean } | undefined
  /** Whose handler runs. */
  running: Incarnation | undefined
  /** An alarm that came due while the handler ran. */
  again: boolean
  /** Deliveries of this alarm that have failed. */
  failures: number
  /** The platform has tried often enough: nothing of this alarm will happen. */
  givenUp: boolean
}

export interface Incarnation extends Tenant {
  readonly object: SimulatedObject
  readonly runner: Runner
  readonly version: string
  readonly calls: Set<OpenCall>
  /** Promises that keep it alive. */
  kept: number
  /** Whether it lost its storage with something unflushed. // I2 */
  gateBroken: boolean
  /** When another took over; undefined while it is the object's. */
  replacedAt: number | undefined
  code: Code | undefined
  /** How often each of its failpoints was reached. */
  readonly reached: Map<string, number>
}

/** Has something leave the object. */
export const leaveObject = (incarnation: Incarnation, send: () => void): void => {
  if (incarnation.holdsStorage) incarnation.object.state.whenFlushed(send) // I1
  else if (!incarnation.gateBroken) send() // I2
}

/** Whether an object may be put away: nothing of it is under way. */
export const isIdle = (incarnation: Incarnation): boolean =>
  incarnation.calls.size === 0 &&
  incarnation.kept === 0 &&
  incarnation.object.alarm.running !== incarnation &&
  incarnation.runner.tasks.length === 0 &&
  incarnation.runner.macrotasks.length === 0
