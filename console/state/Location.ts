/** Where the reader is: the page's address, which is that of the browser. */
import { computed, signal } from "@preact/signals"
import { hrefOf, parseRoute, type Route } from "../lib/Route.ts"
import { stepTaken } from "./Places.ts"

const hash = signal(location.hash)

addEventListener("hashchange", () => {
  stepTaken()
  hash.value = location.hash
})

export const route = computed((): Route => parseRoute(hash.value))

/** Goes to a page; the way back leads here. */
export const goTo = (to: Route): void => {
  location.hash = hrefOf(to)
}

/** Changes what the present page shows, without a step on the way back. */
export const replaceWith = (to: Route): void => {
  history.replaceState(history.state, "", hrefOf(to))
  hash.value = location.hash
}
