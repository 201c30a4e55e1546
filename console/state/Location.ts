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

const ownerOf = (at: Route): string | undefined => ("ownerId" in at ? at.ownerId : undefined)

const isSamePage = (one: Route, other: Route): boolean =>
  one.page === other.page && ownerOf(one) === ownerOf(other)

/**
 * Changes what the page shows that asks, without a step on the way back. Where somebody has gone elsewhere it does nothing:
 * a page that has been left may not know of it yet.
 */
export const replaceWith = (to: Route, asking: Route = to): void => {
  if (!isSamePage(parseRoute(location.hash), asking)) return
  history.replaceState(history.state, "", hrefOf(to))
  hash.value = location.hash
}
