/**
 * The time, as the page shows it: once a second while somebody looks.
 *
 * - N1 It is the deployment's, which all times on the page are told in: a reader's clock may be wrong by minutes.
 * - N2 Everything asks here what time it is.
 */
import { signal } from "@preact/signals"
import { skewOf } from "../lib/Skew.ts"

let skewMillis = 0

/** The time of this moment. // N2 */
export const present = (): number => Date.now() + skewMillis // N1

export const now = signal(present())

/** Begins to time a call. What it gives hears the answer's `date`. */
export const timing = (): ((date: string | null) => void) => {
  const sentAt = Date.now()
  return (date) => {
    const dateMillis = Date.parse(date ?? "")
    const skew = skewOf(skewMillis, { dateMillis, sentAt, cameAt: Date.now() })
    if (skew === skewMillis) return
    skewMillis = skew
    now.value = present()
  }
}

/** Whether the page is looked at. */
export const visible = signal(document.visibilityState !== "hidden")

document.addEventListener("visibilitychange", () => {
  visible.value = document.visibilityState !== "hidden"
  now.value = present()
})

setInterval(() => {
  if (visible.value) now.value = present()
}, 1_000)
