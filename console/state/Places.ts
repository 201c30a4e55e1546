/**
 * Where the reader was: a page that is gone back to is as it was left.
 *
 * - B1 A step forward begins at the top of its page; a step back ends where that page was left.
 * - B2 What is kept is kept in memory, by the step on the way back; a few of them, and none of another reader.
 */
import { effect } from "@preact/signals"
import { reader, token } from "./Session.ts"

interface Place {
  readonly scrollY: number
  /** The lists that were read, by their questions. */
  readonly lists: Map<string, unknown>
}

const placesMax = 20
const places = new Map<string, Place>()
/** No reload gives a name again: what an earlier load kept is gone. */
const load = `${performance.timeOrigin}`
let steps = 0

const nameIn = (state: unknown): string | undefined => {
  const name = (state as { readonly step?: unknown } | null)?.step
  return typeof name === "string" && name.startsWith(`${load}/`) ? name : undefined
}

/** The name of the present step, given to it when it is new. */
const nameStep = (): string => {
  const known = nameIn(history.state)
  if (known !== undefined) return known
  steps += 1
  const name = `${load}/${steps}`
  history.replaceState({ step: name }, "")
  return name
}

let present = nameStep()

const noteScroll = (scrollY: number): void => {
  const { lists } = places.get(present) ?? { lists: new Map<string, unknown>() }
  places.delete(present)
  places.set(present, { scrollY, lists })
  const [eldest] = places.keys()
  if (places.size > placesMax && eldest !== undefined) places.delete(eldest) // B2
}

/** The way has led elsewhere: called before the page changes. */
export const stepTaken = (): void => {
  noteScroll(window.scrollY)
  const isBack = nameIn(history.state) !== undefined
  present = nameStep()
  if (!isBack) scrollTo(0, 0) // B1
}

/** Of the present page: what a list had when it was left, and how to come to where it was. */
export interface Kept<A> {
  readonly list: A
  readonly scroll: () => void
}

/** What a list had when this page was left, if it was. */
export const keptList = <A>(question: string): Kept<A> | undefined => {
  const place = places.get(present)
  if (place?.lists.has(question) !== true) return undefined
  return {
    list: place.lists.get(question) as A,
    scroll: () => scrollTo(0, place.scrollY), // B1
  }
}

/** Keeps a list for when this page is gone back to. Gives what keeps it: the page may be another one by then. */
export const keeper = (): ((question: string, list: unknown) => void) => {
  const step = present
  return (question, list) => places.get(step)?.lists.set(question, list)
}

history.scrollRestoration = "manual"
let of = reader.peek()
effect(() => {
  if (token.value !== "" && reader.value === of) return
  of = reader.value
  places.clear() // B2
})
