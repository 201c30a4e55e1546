/**
 * `npm run demo [-- --open] [FILES…]`: real documents, processed in order by thread actors under one owner's
 * alarm, and beside them threads that wait for people, talk and remind, over a crash of the whole process. With `--open`
 * the console is opened in a browser, and the server stays up to look at until Enter.
 *
 * - D1 Exit 0 only if everything that was accepted is settled exactly once and in order, by what the
 *   histories say, and each scene came to what it must; 1 otherwise, or if no file could be used; 130 when it was told to end.
 * - D2 However it ends, the processes it started and its folder are gone before it exits.
 */
import { randomBytes } from "node:crypto"
import { Cause, Clock, Data, Effect, Exit } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import { OwnerId } from "../contracts/index.ts"
import { type CallFailure, describeFailure } from "./demo/Client.ts"
import { chooseDefault, type Documents, markdownFilesOf, readDocuments } from "./demo/Documents.ts"
import { gatherEvidence } from "./demo/Evidence.ts"
import { makeDemoClient, demoToken } from "./demo/HttpClient.ts"
import { Ledger } from "./demo/Ledger.ts"
import { planOf } from "./demo/Plan.ts"
import { progressLine, withProgress } from "./demo/Progress.ts"
import {
  documentsTable,
  isRight,
  type Summary,
  summarize,
  summaryTable,
  termsTable,
} from "./demo/Report.ts"
import { run } from "./demo/Run.ts"
import { playScenes, scenesTable } from "./demo/scenes/index.ts"
import { makeServer } from "./demo/Server.ts"
import { callersFolder } from "./flags.ts"
import { openAddress } from "../cli/OpenAddress.ts"
import { stoppedExitCode, stopOnSignals } from "./stopOnSignals.ts"
import { repositoryRoot } from "./workerBuild.ts"

/** In all, from the first submission to the last page of history. */
const patienceMillis = 180_000

const findingsShownMax = 20

/** A call failed in a way that no restart explains. */
class CallFailed extends Data.TaggedError("CallFailed")<{ readonly failure: CallFailure }> {}

const ownerId = OwnerId.make("demo")

// Before there is anything to clean up.
const stop = new AbortController()
stopOnSignals(stop)

const output = {
  isTTY: process.stdout.isTTY,
  columns: process.stdout.columns ?? 80,
  write: (text: string) => void process.stdout.write(text),
}

const opens = process.argv.includes("--open")
const filesGiven = process.argv.slice(2).filter((argument) => argument !== "--open")

const say = (text = "") => Effect.sync(() => console.log(text))
const complain = (text: string) => Effect.sync(() => console.error(text))

const chooseDocuments = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  if (files.length > 0) {
    return yield* Effect.promise(() => readDocuments(files, callersFolder()))
  }
  const chosen = chooseDefault(yield* Effect.promise(() => markdownFilesOf(repositoryRoot)))
  yield* say(`Taking the ${chosen.says}.`)
  return yield* Effect.promise(() => readDocuments(chosen.paths, repositoryRoot))
})

const sayLeftOut = Effect.fnUntraced(function* (leftOut: Documents["leftOut"]) {
  for (const { name, reason } of leftOut) yield* complain(`left out: ${name} ${reason}`)
})

const sayFailed = Effect.fnUntraced(function* ({ failed }: Summary) {
  for (const { name, revision, failure } of failed.slice(0, findingsShownMax)) {
    yield* complain(`failed: ${name}, revision ${revision}: ${failure}`)
  }
  const more = failed.length - findingsShownMax
  if (more > 0) yield* complain(`  and ${more} more`)
})

/** Says what has not come in time. */
const sayMissing = Effect.fnUntraced(function* (ledger: Ledger) {
  yield* complain(`Not done after ${patienceMillis / 1_000} s: ${progressLine(ledger)}. Missing:`)
  const missing = [...ledger.threads].flatMap(([threadId, { receipts, settlements }]) =>
    receipts
      .filter(({ submissionId }) => !settlements.has(submissionId))
      .map(({ sequence, submissionId }) => `  ${threadId} ${sequence} (${submissionId})`),
  )
  for (const line of missing.slice(0, findingsShownMax)) yield* complain(line)
  if (missing.length > findingsShownMax) {
    yield* complain(`  and ${missing.length - findingsShownMax} more`)
  }
  yield* complain(`  ${ledger.planned - ledger.accepted} submissions have no receipt`)
})

/** Where to look while it runs. */
const tellConsole = Effect.fnUntraced(function* (url: string, token: string) {
  const address = `${url}/console/#/owners/${ownerId}`
  yield* say(`Look at ${address} while it runs, with this token:\n\n${token}\n`)
  if (opens) yield* Effect.sync(() => openAddress(address))
})

/** Lets somebody look at what came of it, where somebody is there. */
const stayOpen = Effect.suspend(() => {
  if (!opens || !process.stdin.isTTY) return Effect.void
  const enter = Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    process.stdin.once("data", done)
    process.stdin.resume()
    return Effect.sync(() => {
      process.stdin.off("data", done)
      process.stdin.pause()
    })
  })
  return Effect.andThen(say("\nThe console stays up until you press Enter."), enter)
})

/** Runs the documents through a server, over its crash. Gives the exit code. */
const demonstrate = Effect.fnUntraced(function* ({ documents, leftOut }: Documents) {
  const plan = planOf(documents)
  const ledger = new Ledger(plan)
  const secret = randomBytes(32).toString("hex")
  yield* say(`Starting workerd, then ${ledger.planned} submissions of ${plan.length} documents.`)
  const server = yield* makeServer({ secret, signal: stop.signal })
  let restarts = 0
  const restart = Effect.gen(function* () {
    ledger.news.push(`workerd killed (SIGKILL) at ${progressLine(ledger)}`)
    yield* Effect.orDie(server.restart)
    ledger.news.push("workerd started again on the same disk")
    restarts += 1
  })

  const work = Effect.gen(function* () {
    const client = yield* makeDemoClient
    const startedAt = yield* Clock.currentTimeMillis
    const [, scenes] = yield* Effect.all(
      [run({ client, ownerId, plan, ledger, restart }), playScenes(ownerId)],
      { concurrency: "unbounded" },
    )
    const elapsedMillis = (yield* Clock.currentTimeMillis) - startedAt
    const evidence = yield* gatherEvidence({ client, ownerId, ledger })
    const { interruption } = ledger
    return { ...summarize(evidence, { restarts, interruption, elapsedMillis }), scenes }
  })
  const token = yield* Effect.promise(() => demoToken({ secret, ownerId }))
  yield* tellConsole(server.url, token)
  const summary = yield* work.pipe(
    Effect.provide(HeddleClient.layerHttp({ url: server.url, token })),
    Effect.mapError((failure) => new CallFailed({ failure })),
    Effect.raceFirst(server.watch),
    (watched) =>
      withProgress(watched, output, { line: () => progressLine(ledger), news: ledger.news }),
    Effect.timeoutOption(patienceMillis),
  )
  yield* sayLeftOut([...leftOut, ...ledger.refused])
  if (summary._tag === "None") {
    yield* sayMissing(ledger)
    return 1
  }
  const tables = [summaryTable, documentsTable, termsTable].map((show) => show(summary.value))
  yield* say(`\n${tables.filter((text) => text !== "").join("\n")}`)
  yield* say(scenesTable(summary.value.scenes))
  yield* sayFailed(summary.value)
  for (const { kind, threadId, what } of summary.value.findings.slice(0, findingsShownMax)) {
    yield* complain(`${kind} in ${threadId}: ${what}`)
  }
  const wrong = summary.value.scenes.flatMap(({ findings }) => findings)
  for (const finding of wrong.slice(0, findingsShownMax)) yield* complain(finding)
  const isFine = isRight(summary.value) && wrong.length === 0
  if (isFine) {
    yield* say("Everything accepted was settled exactly once and in order, as the histories show.")
  }
  yield* stayOpen
  return isFine ? 0 : 1 // D1
})

const main = Effect.gen(function* () {
  const found = yield* chooseDocuments(filesGiven)
  if (found.documents.length > 0) return yield* Effect.scoped(demonstrate(found)) // D2
  yield* sayLeftOut(found.leftOut)
  yield* complain("No file could be used: name UTF-8 text files, for example README.md.")
  return 1
}).pipe(
  Effect.catchTags({
    ServerFailed: ({ reason, log }) =>
      stop.signal.aborted
        ? Effect.succeed(stoppedExitCode)
        : Effect.as(complain(log === "" ? reason : `${reason}; it printed last:\n${log}`), 1),
    CallFailed: ({ failure }) =>
      Effect.as(complain(`A call failed: ${describeFailure(failure)}`), 1),
  }),
)

const fiber = Effect.runFork(main)
stop.signal.addEventListener("abort", () => fiber.interruptUnsafe()) // D2
// Whoever read along has gone away (`| head`): nobody is told the verdict.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stop.abort())

fiber.addObserver((exit) => {
  if (stop.signal.aborted) process.exit(stoppedExitCode)
  if (Exit.isSuccess(exit)) process.exit(exit.value)
  console.error(Cause.pretty(exit.cause))
  process.exit(1)
})
