/**
 * Keeps the Worker of wrangler.toml running on this machine, with its objects on disk, and tells where its console is and
 * how to submit a document to it. Ctrl-C ends every process it started; what was accepted stays.
 */
import { join, resolve } from "node:path"
import { callersFolder, flagsOf, runScript, UsageError } from "./flags.ts"
import { localSecret } from "./localSecret.ts"
import { openAddress } from "../cli/OpenAddress.ts"
import { stopOnSignals } from "./stopOnSignals.ts"
import { repositoryRoot } from "./workerBuild.ts"
import { startWorkerd } from "./workerd.ts"

const usage = `Usage: npm run dev [-- --port N] [--persist DIR] [--open]

Serves examples/worker.ts on 127.0.0.1 until Ctrl-C.

  --port N       the port (default 8787; 0 takes a free one)
  --persist DIR  where the objects' databases live (default .wrangler/heddle)
  --open         opens the console in your browser`

const portOf = (text: string): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port >= 0 && port <= 65_535) return port
  throw new UsageError(`--port ${text}: write a number from 0 to 65535`)
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const call = (url: string, request: { readonly tag: string; readonly payload: unknown }): string =>
  `curl -sS ${url}/rpc -H "authorization: Bearer $TOKEN" -H 'content-type: application/x-ndjson' \\
  --data-binary ${quoted(JSON.stringify({ _tag: "Request", id: "1", ...request }))}`

const consoleOf = (url: string): string => `${url}/console/`

/** What to paste into another terminal. */
const guide = (url: string): string => {
  const lane = { ownerId: "demo", threadId: "hello.md" }
  const submit = {
    ...lane,
    agent: "digest",
    idempotencyKey: "hello-1",
    title: "hello.md",
    input: { name: "hello.md", text: "# Hello\n\nA [loom](https://example.com) lifts threads." },
  }
  return `Heddle runs at ${url} (Ctrl-C ends it).

The console is at ${consoleOf(url)} and asks for the token that the next line makes (echo "$TOKEN").

In another terminal, submit a document (again, and you get the same receipt):

TOKEN=$(npm run --silent --prefix ${quoted(repositoryRoot)} token -- --principal me --owners demo)

${call(url, { tag: "submit", payload: submit })}

and read what became of it:

${call(url, { tag: "history", payload: lane })}

More to try, with the command line in place of curl: docs/try-the-examples.md
`
}

await runScript(usage, async () => {
  const stop = stopOnSignals()
  const flags = flagsOf({
    port: { type: "string", default: "8787" },
    persist: { type: "string", default: join(repositoryRoot, ".wrangler", "heddle") },
    open: { type: "boolean", default: false },
  })
  const port = portOf(flags.port)
  const persistDir = resolve(callersFolder(), flags.persist)
  const secret = await localSecret()
  console.log("Building…")
  const workerd = await startWorkerd({ port, persistDir, secret, logFile: "inherit", signal: stop })
  stop.addEventListener("abort", () => void workerd.stop())
  if (stop.aborted) await workerd.stop()
  else {
    console.log(guide(workerd.url))
    if (flags.open) openAddress(consoleOf(workerd.url))
  }
  await workerd.exited
  if (!stop.aborted) throw new Error("workerd ended by itself")
})
