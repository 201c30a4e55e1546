/**
 * A target over native stubs: of a Durable Object, or of a service binding's entrypoint.
 *
 * The stub is asked for at the first call and reused. A stub that has failed may be broken for good,
 * so the next call gets a fresh one. Keep a target no longer than its source is good for: in a
 * stateless Worker that is one invocation.
 *
 * - T1 A call after an error goes over a fresh stub; many calls that fail together replace it once.
 * - T2 At most two stubs live at a time: the one in use, and the one it replaced, until the calls
 *   under way on it have ended.
 * - T3 What was made is disposed: a replaced stub, and on `close` the last one; an answer at once.
 * - T4 A reader that refuses a push says `false` across the boundary: the platform would report a
 *   rejection there as an uncaught exception, and readers leave every day.
 */
import type { WireExit, WireMessage, WireSink, WireTarget } from "./Wire.ts"

/** Anything with the one native method. Stubs answer with promises of their own kind. */
export interface NativeStub {
  readonly call: (message: WireMessage, sink?: WireSink) => PromiseLike<WireExit>
}

export interface StubTarget extends WireTarget {
  /** Disposes the stubs. Calls under way lose them; later calls are refused. */
  readonly close: () => void
}

interface Held {
  readonly stub: NativeStub
  underWay: number
  disposed: boolean
}

const release = (value: unknown): void => {
  try {
    ;(value as Partial<Disposable> | null | undefined)?.[Symbol.dispose]?.()
  } catch {
    // A broken stub may refuse even that; there is nothing left to free.
  }
}

const dispose = (held: Held | undefined): void => {
  if (held === undefined || held.disposed) return
  held.disposed = true
  release(held.stub) // T3
}

const nativeSink =
  (sink: WireSink) =>
  (values: ReadonlyArray<unknown>): Promise<unknown> =>
    sink(values).then(
      () => true,
      () => false, // T4
    )

const closedError = (): Error =>
  Object.assign(new Error("the target is closed"), { retryable: false })

/** A target that takes its stubs from `source`, which makes a fresh one each time it is asked. */
export const stubTarget = (source: () => NativeStub): StubTarget => {
  let current: Held | undefined
  let replaced: Held | undefined
  let closed = false

  const acquire = (): Held => {
    current ??= { stub: source(), underWay: 0, disposed: false }
    return current
  }

  const retire = (held: Held): void => {
    if (held !== current) return // T1
    current = undefined
    dispose(replaced) // T2
    replaced = held
  }

  const settle = (held: Held): void => {
    held.underWay--
    if (held.underWay > 0 || held !== replaced) return
    replaced = undefined
    dispose(held)
  }

  const call = async (message: WireMessage, sink?: WireSink): Promise<WireExit> => {
    if (closed) throw closedError()
    const held = acquire()
    held.underWay++
    try {
      const exit = await (sink === undefined
        ? held.stub.call(message)
        : held.stub.call(message, nativeSink(sink) as WireSink))
      release(exit) // T3
      return exit
    } catch (error) {
      retire(held)
      throw error
    } finally {
      settle(held)
    }
  }

  return {
    call,
    close: () => {
      closed = true
      dispose(replaced)
      dispose(current)
      current = replaced = undefined
    },
  }
}
