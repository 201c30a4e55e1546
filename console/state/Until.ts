/**
 * Waiting for what signals tell.
 *
 * - U1 A wait that is over listens to nothing any more: pages wait again and again, for as long as they are open.
 */
import { effect, untracked } from "@preact/signals"
import { visible } from "./Now.ts"

/** Resolves once the condition holds, or the wait is ended. It is asked at each change of the signals it reads. */
export const until = async (holds: () => boolean, ended?: AbortSignal): Promise<void> => {
  if (ended?.aborted === true || untracked(holds)) return
  await new Promise<void>((resolve) => {
    const over = () => {
      dispose()
      ended?.removeEventListener("abort", over) // U1
      resolve()
    }
    // It does not hold yet: its first run ends nothing.
    const dispose = effect(() => {
      if (holds()) over() // U1
    })
    ended?.addEventListener("abort", over)
  })
}

/** Resolves once the page is looked at, or the wait is ended. */
export const untilVisible = (ended?: AbortSignal): Promise<void> =>
  until(() => visible.value, ended)
