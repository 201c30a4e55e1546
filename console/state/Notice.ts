/** What was done, told once for everybody to hear and see. */
import { signal } from "@preact/signals"

export const notice = signal<string>("")

const shownMillis = 8_000
let timer: ReturnType<typeof setTimeout> | undefined

export const tell = (text: string): void => {
  notice.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (notice.value = ""), shownMillis)
}
