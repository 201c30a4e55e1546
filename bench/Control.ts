/**
 * What the load from outside may tell a Worker under measurement: hold its owners before their next pass, let them go,
 * and answer once so many submissions have settled. Both Workers have the same.
 *
 * Nothing here runs while work is processed but two counters and a look at a flag.
 */

const state = { held: false, settled: 0 }

/** A millisecond of the real clock: promises of other requests cannot be waited for. */
const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

/** Waits while passes are held. */
export const whileHeld = async (): Promise<void> => {
  while (state.held) await moment()
}

/** One more submission has its settlement. */
export const countSettled = (count = 1): void => {
  state.settled += count
}

const settledIn = async (count: number): Promise<void> => {
  while (state.settled < count) await moment()
}

/** The bytes of all spaces of the JavaScript heap, by the statistics of its engine. */
const heapBytes = (): number => {
  const { getV8Statistics } = globalThis as {
    getV8Statistics?: () => Readonly<Record<string, number>>
  }
  return Object.entries(getV8Statistics?.() ?? {})
    .filter(([name]) => name.endsWith("_live_bytes"))
    .reduce((sum, [, bytes]) => sum + bytes, 0)
}

/** Answers a request to `/bench/…`; undefined for one that is not known here. */
export const control = async (url: URL): Promise<Response | undefined> => {
  const count = Number(url.searchParams.get("settled") ?? 0)
  switch (url.pathname) {
    case "/bench/noop":
      return new Response("")
    case "/bench/hold":
      state.held = true
      state.settled = 0
      return new Response("")
    case "/bench/count":
      state.settled = 0
      return new Response("")
    case "/bench/release":
      state.held = false
      await settledIn(count)
      return new Response("")
    case "/bench/gc":
      ;(globalThis as { gc?: () => void }).gc?.()
      return Response.json(heapBytes())
    case "/bench/settled":
      return Response.json(state.settled)
    default:
      return undefined
  }
}
