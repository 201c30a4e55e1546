/** The time, as the page shows it: once a second while somebody looks. */
import { signal } from "@preact/signals"

export const now = signal(Date.now())

/** Whether the page is looked at. */
export const visible = signal(document.visibilityState !== "hidden")

document.addEventListener("visibilitychange", () => {
  visible.value = document.visibilityState !== "hidden"
  now.value = Date.now()
})

setInterval(() => {
  if (visible.value) now.value = Date.now()
}, 1_000)
