/**
 * What was done, and what was not, told once for everybody to hear and see.
 *
 * - N1 What was not done is told until somebody has taken note of it: whoever asked for it may look elsewhere.
 */
import { effect, signal } from "@preact/signals"
import { reader } from "./Session.ts"

/** What was done. It goes by itself. */
export const notice = signal<string>("")

/** What was not done, the eldest first. */
export const failures = signal<ReadonlyArray<string>>([])

const shownMillis = 8_000
let timer: ReturnType<typeof setTimeout> | undefined

export const tell = (text: string): void => {
  notice.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (notice.value = ""), shownMillis)
}

export const takeNote = (text: string): void => {
  failures.value = failures.peek().filter((one) => one !== text)
}

export const tellFailure = (text: string): void => {
  takeNote(text)
  failures.value = [...failures.peek(), text] // N1
}

effect(() => {
  if (reader.value > 0) failures.value = []
})
