/**
 * Repeating what got lost: bounded, with growing jittered pauses, never what is overloaded.
 */
import { type Curve, jitteredMillis } from "../../contracts/Backoff.ts"
import { canRepeat } from "./HeddleError.ts"

/** How often in a row, and how long to wait between. */
export interface Repetition {
  readonly times: number
  readonly curve: Curve
}

/** Resolves after a while; rejects with the signal's reason, at once. */
export const sleep = (millis: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason)
      return
    }
    const leave = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave)
      resolve()
    }, millis)
    signal?.addEventListener("abort", leave, { once: true })
  })

/** The jittered pause before the nth repetition. */
export const pause = (curve: Curve, nth: number, signal: AbortSignal | undefined): Promise<void> =>
  sleep(jitteredMillis(curve, nth, Math.random()), signal)

/** Tries, and tries again for as long as it may help. */
export const repeating = async <A>(
  attempt: () => Promise<A>,
  { times, curve }: Repetition,
  signal: AbortSignal | undefined,
): Promise<A> => {
  for (let nth = 1; ; nth++) {
    try {
      return await attempt()
    } catch (error) {
      if (!canRepeat(error) || nth > times) throw error
      await pause(curve, nth, signal)
    }
  }
}
