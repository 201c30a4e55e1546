/**
 * What an object gets from where it runs: its name, storage, time, chance, and tasks that outlive a
 * call. The Durable Object adapter and the Node adapter (tests, simulation) implement it; nothing
 * else in an object touches a clock, a random source, a timer or the platform's state.
 */
import { Context, Effect } from "effect"
import type { ObjectStorage } from "./ObjectStorage.ts"

export interface ObjectHost {
  /** The name the object was made under; undefined where the platform does not tell it. */
  readonly name: string | undefined
  readonly storage: ObjectStorage
  /** Epoch milliseconds, an integer. Stands still between I/O. */
  readonly now: () => number
  /** A number in [0, 1). */
  readonly random: () => number
  /** A UUIDv7 of this instant. Within one object each is greater than the one before. */
  readonly uuid: () => string
  /** 128 bits of a source that nobody can guess, in hexadecimal digits. */
  readonly secret: () => string
  /** Keeps the object alive until the promise settles. */
  readonly waitUntil: (promise: Promise<unknown>) => void
  /** Runs a task after the current event's microtasks; not a timer of its own each. */
  readonly macrotask: (task: () => void) => void
  /**
   * What the object's effects run under besides their own: a clock and a scheduler of the host's. Absent
   * where the runtime's are meant.
   */
  readonly context?: Context.Context<never> | undefined
}

/** Has an effect run under what its host brings. */
export const underHost = <A, E, R>(
  { context }: ObjectHost,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  context === undefined ? effect : Effect.provideContext(effect, context)

/** The host of the object this code runs in. */
export class CurrentHost extends Context.Service<CurrentHost, ObjectHost>()(
  "heddle/platform/CurrentHost",
) {}
