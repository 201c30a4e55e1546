/** Waiting for what signals tell. */
import { effect } from "@preact/signals"
import { visible } from "./Now.ts"

/** Resolves once the condition holds, or the wait is ended. It is asked at each change of the signals it reads. */
export const until = (holds: () => boolean, ended?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const dispose = effect(() => {
      if (holds() || ended?.aborted === true) resolve()
    })
    ended?.addEventListener(
      "abort",
      () => {
        dispose()
        resolve()
      },
      { once: true },
    )
  })

/** Resolves once the page is looked at, or the wait is ended. */
export const untilVisible = (ended?: AbortSignal): Promise<void> =>
  until(() => visible.value, ended)
