/**
 * `npm run demo:caller`: two Workers in one session. `examples/caller` calls the Worker of wrangler.toml over its
 * service binding, once with Effect and once with the SDK, and what each saw is printed as it comes.
 *
 * - C1 Exit 0 only if both halves showed all that they should; 1 otherwise; 130 when it was told to end.
 * - C2 However it ends, its processes and its folder are gone before it exits.
 */
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import type { ReadableStream as NodeStream } from "node:stream/web"
import type { Shown } from "../examples/caller/shown.ts"
import { runScript } from "./flags.ts"
import { stopOnSignals } from "./stopOnSignals.ts"
import { withTemporaryFolder } from "./temporaryFolder.ts"
import { buildWorker, repositoryRoot } from "./workerBuild.ts"
import { startWorkerd } from "./workerd.ts"

const usage = `Usage: npm run demo:caller

Starts the examples and a Worker that calls them, and shows typed errors, live streams, a denied owner and a batch.`

/** In all; the calls of a half take about a second. */
const patienceMillis = 60_000

/** What a half has to have tried, and how often at least; a run writes more than one record. */
const expected: Readonly<Record<string, number>> = {
  "an order, and its settlement": 1,
  "a thread, live": 4,
  "one key for two orders": 1,
  "an owner that is not its own": 1,
  "20 orders in one call": 1,
}

const widest = Math.max(...Object.keys(expected).map((tried) => tried.length))

/** Prints what a half shows as it comes. Gives what is wrong with it. */
const show = async (url: string, signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const response = await fetch(url, { signal })
  if (!response.ok || response.body === null) return [`status ${response.status}`]
  const seen = new Map<string, number>()
  const wrong: Array<string> = []
  const input = Readable.fromWeb(response.body as unknown as NodeStream, { signal })
  for await (const line of createInterface({ input })) {
    const { isRight, saw, tried } = JSON.parse(line) as Shown
    console.log(`  ${isRight ? "✓" : "✗"} ${tried.padEnd(widest)}  ${saw}`)
    seen.set(tried, (seen.get(tried) ?? 0) + 1)
    if (!isRight) wrong.push(`${tried}: ${saw}`)
  }
  const missing = Object.entries(expected).filter(
    ([tried, times]) => (seen.get(tried) ?? 0) < times,
  )
  return [...wrong, ...missing.map(([tried]) => `not all was seen of: ${tried}`)]
}

const halves = { "With Effect": "/effect", "With the SDK": "/sdk" }

/** Both halves of the caller. Gives what is wrong. */
const showBoth = async (url: string, signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  for (const [title, path] of Object.entries(halves)) {
    console.log(`\n${title}:`)
    wrong.push(...(await show(`${url}${path}`, signal)).map((one) => `${title}: ${one}`))
  }
  return wrong
}

/** Builds and starts both Workers, and lends their address. */
const withWorkers = (stop: AbortSignal, use: (url: string) => Promise<void>): Promise<void> =>
  withTemporaryFolder("heddle-caller-", async (folder) => {
    const [build, front] = await Promise.all([
      buildWorker(undefined, stop),
      buildWorker(join(repositoryRoot, "examples", "caller", "wrangler.toml"), stop),
    ])
    const persistDir = join(folder, "objects")
    const workerd = await startWorkerd({ build, front, persistDir, signal: stop })
    try {
      await use(workerd.url)
    } finally {
      await workerd.stop() // C2
    }
  })

await runScript(usage, async () => {
  const stop = stopOnSignals()
  console.log("Building two Workers…")
  await withWorkers(stop, async (url) => {
    const wrong = await showBoth(url, AbortSignal.any([stop, AbortSignal.timeout(patienceMillis)]))
    for (const one of wrong) console.error(one)
    if (wrong.length > 0) process.exitCode = 1 // C1
    else console.log("\nBoth halves saw what they should.")
  })
})
