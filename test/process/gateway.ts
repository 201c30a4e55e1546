/** A way to a server that tells what is asked of it. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { Effect } from "effect"

export interface Gateway {
  readonly url: string
  /** Until a request with this text has come by. */
  readonly seen: (text: string) => Promise<void>
}

/** Passes on what it is sent, and ends a connection with its other side. Lives as long as its scope. */
export const startGateway = Effect.fnUntraced(function* (to: string) {
  const { hostname, port } = new URL(to)
  const waiting = new Map<string, () => void>()
  const server = createServer((caller) => {
    const called = connect(Number(port), hostname)
    const end = () => {
      caller.destroy()
      called.destroy()
    }
    for (const side of [caller, called]) side.on("error", end).on("close", end)
    caller.on("data", (bytes) => {
      for (const [text, tell] of waiting) if (bytes.includes(text)) tell()
    })
    caller.pipe(called).pipe(caller)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () => Effect.sync(() => server.close()),
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: (text) => new Promise<void>((resolve) => waiting.set(text, resolve)),
  } satisfies Gateway
})
