/**
 * Draining microtasks, at once and to the last: what a real event loop does after every task.
 *
 * The engine does it on demand behind a flag. So a whole run is one synchronous piece of work: nothing
 * foreign runs in the middle of it, and there is no waiting that might be too short.
 *
 * - D1 It only works outside microtasks: whoever drains is called by a task of the real event loop.
 */
import { setFlagsFromString } from "node:v8"

let checkpoint: (() => void) | undefined

const load = (): (() => void) => {
  setFlagsFromString("--allow-natives-syntax")
  // The engine's own name for it; no other syntax reaches it.
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function("%PerformMicrotaskCheckpoint()") as () => void
}

/** Runs every microtask that waits, and those that they make. */
export const drainMicrotasks = (): void => {
  checkpoint ??= load()
  checkpoint()
}

const captured = setImmediate

/** Runs work in a task of the real event loop, where microtasks can be drained. // D1 */
export const inTask = <A>(work: () => A): Promise<A> =>
  new Promise((resolve, reject) => {
    captured(() => {
      try {
        let drained = false
        void Promise.resolve().then(() => {
          drained = true
        })
        drainMicrotasks()
        if (!drained) throw new Error("this engine does not drain microtasks on demand")
        resolve(work())
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    })
  })
