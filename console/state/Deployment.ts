/**
 * The deployment that serves this page, through the SDK, and whether it can be reached.
 *
 * - D1 Everything goes to `/rpc` of the page's own origin, with the token of the moment.
 * - D2 A refused token is told to the session, whichever call it was.
 */
import { signal } from "@preact/signals"
import { createHeddle, HeddleError, isHeddleError } from "../../client/sdk/index.ts"
import { present, timing } from "./Now.ts"
import { refuse, token } from "./Session.ts"

/** Since when the deployment cannot be reached; undefined while it can. */
export const unreachableSince = signal<number | undefined>(undefined)

const watchedFetch: typeof fetch = async (...given) => {
  const hear = timing()
  try {
    const response = await fetch(...given)
    hear(response.headers.get("date"))
    unreachableSince.value = undefined
    return response
  } catch (error) {
    // One that was given up by the page itself says nothing about the deployment.
    const isOwn = error instanceof DOMException && error.name === "AbortError"
    if (!isOwn) unreachableSince.value ??= present()
    throw error
  }
}

export const heddle = createHeddle({
  url: location.origin, // D1
  token: () => token.value,
  fetch: watchedFetch,
})

/** Notices what a failure says about the session. // D2 */
export const noticed = (error: unknown, used: string): unknown => {
  if (isHeddleError(error) && error.tag === "Unauthenticated") refuse(error.reason, used)
  return error
}

/** Runs a call, and notices a refused token. */
export const asking = async <A>(call: () => Promise<A>): Promise<A> => {
  const used = token.value
  try {
    return await call()
  } catch (error) {
    throw noticed(error, used)
  }
}

export const isRefusal = (error: unknown, tag: string): boolean =>
  error instanceof HeddleError && error.tag === tag
