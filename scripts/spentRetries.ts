/**
 * `npm run spent-retries`: the last net under the alarms, on the real platform and in its real time.
 *
 * An alarm whose handler fails is tried again for some two minutes, and then deleted for good. This has
 * a broken deploy do that to an owner that owes work, heals the owner without calling it, and looks at
 * what the Worker's `scheduled` handler alone makes of it. (The owner's own handler never fails; code
 * around it may. Where the constructor throws, this workerd keeps the alarm, and tries on for longer.)
 *
 * - Z1 Exit 0 only if the alarm was there, was given up, was not there when the owner was whole again,
 *   nothing ran until the cron, and after it everything that was owed settled once and in order.
 * - Z2 However it ends, its process and its folder are gone before it exits.
 * - Z3 Every wait has an end; all of them together stay below five minutes.
 */
import { readFile } from "node:fs/promises"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Cause, Context, Data, Effect, Exit, Layer, Schedule } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import {
  AgentId,
  IdempotencyKey,
  OwnerId,
  Principal,
  type Receipt,
  ThreadId,
} from "../contracts/index.ts"
import { verifyThread } from "./demo/Verify.ts"
import { flagsOf, runScript } from "./flags.ts"
import { mintToken } from "./mintToken.ts"
import { stopOnSignals } from "./stopOnSignals.ts"
import { temporaryFolder } from "./temporaryFolder.ts"
import { buildWorker, repositoryRoot, type WorkerBuild } from "./workerBuild.ts"
import { type RunningWorkerd, startWorkerd } from "./workerd.ts"

const usage = `Usage: npm run spent-retries

Has the platform give an owner's alarm up, and shows that the cron finds what is owed. Three minutes.`

const configFile = join(repositoryRoot, "test", "process", "spent-retries.toml")

/** For what takes seconds. */
const answerMillis = 20_000
/** The platform's tries were seen to take 144 s. */
const givingUpMillis = 210_000
/** How long nothing may happen without the cron. */
const stillMillis = 15_000
/** Z3 */
const patienceMillis = 290_000

const ownerId = OwnerId.make("shop")
const underWay = ThreadId.make("under-way")
/** One run is under way when the owner breaks, the others are to come. */
const errands = [
  { threadId: underWay, deferMillis: 0 },
  { threadId: ThreadId.make("to-come-1"), deferMillis: 6_000 },
  { threadId: ThreadId.make("to-come-2"), deferMillis: 8_000 },
]
const workMillis = 3_000

/** Something was not as promised, or did not come in time. */
class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

const say = (text: string) => Effect.sync(() => console.log(text))

const insist = (holds: boolean, message: string) =>
  holds ? Effect.void : Effect.fail(new Broken({ message }))

/** Asks until it holds; fails with what it waited for. // Z3 */
const until = <E>(what: string, millis: number, holds: Effect.Effect<boolean, E>) =>
  Effect.repeat(holds, { until: (held) => held, schedule: Schedule.spaced("200 millis") }).pipe(
    Effect.timeoutOrElse({
      duration: millis,
      orElse: () => Effect.fail(new Broken({ message: `waited in vain until ${what}` })),
    }),
  )

// Before there is anything to clean up.
const stop = stopOnSignals()

/** What becomes of an owner's alarm, as the Worker's variable tells it. */
type OwnerAlarm = "works" | "fails"

interface Server {
  readonly url: string
  /** A SIGKILL, and the same Worker on the same disk, as another deploy would be. */
  readonly deploy: (ownerAlarm: OwnerAlarm) => Effect.Effect<void>
  /** What the Worker has printed since the last deploy. */
  readonly log: Effect.Effect<string>
  /** The alarms of owners that the platform has on its disk. */
  readonly alarms: Effect.Effect<number>
}

/** The platform keeps alarms in a database of its own beside those of the objects. */
const countAlarms = (persistDir: string): number => {
  const database = new DatabaseSync(join(persistDir, "Owner", "metadata.sqlite"), {
    readOnly: true,
  })
  try {
    return Number(database.prepare("SELECT count(*) AS alarms FROM _cf_ALARM").get()?.["alarms"])
  } finally {
    database.close()
  }
}

/** Starts it on a fresh disk; the scope's end leaves nothing. // Z2 */
const makeServer = Effect.fnUntraced(function* (build: WorkerBuild, secret: string) {
  const { folder } = yield* Effect.acquireRelease(
    Effect.promise(() => temporaryFolder("heddle-spent-retries-")),
    ({ remove }) => Effect.promise(remove),
  )
  const persistDir = join(folder, "objects")
  let deploys = 0
  const logFile = () => join(folder, `workerd-${deploys}.log`)
  const start = (port: number, ownerAlarm: OwnerAlarm) => {
    deploys += 1
    const vars = { OWNER_ALARM: ownerAlarm }
    const files = { persistDir, logFile: logFile() }
    return startWorkerd({ ...files, build, port, secret, vars, signal: stop })
  }
  const current: { process: RunningWorkerd } = yield* Effect.acquireRelease(
    Effect.map(
      Effect.promise(() => start(0, "works")),
      (process) => ({ process }),
    ),
    (running) => Effect.promise(() => running.process.stop()),
  )
  const deploy = (ownerAlarm: OwnerAlarm) =>
    Effect.uninterruptible(
      Effect.promise(async () => {
        await current.process.kill("SIGKILL")
        current.process = await start(current.process.port, ownerAlarm)
      }),
    )
  return {
    url: current.process.url,
    deploy,
    log: Effect.promise(() => readFile(logFile(), "utf8")),
    alarms: Effect.sync(() => countAlarms(persistDir)),
  } satisfies Server
})

type Client = HeddleClient["Service"]

const linesOf = (log: string, text: string): number => log.split(text).length - 1

/** Has the owner owe one run under way and two to come. */
const owe = Effect.fnUntraced(function* (client: Client) {
  const now = Date.now()
  const receipts = yield* Effect.forEach(errands, ({ threadId, deferMillis }) =>
    client.submit({
      ownerId,
      threadId,
      agent: AgentId.make("errand"),
      input: { workMillis },
      idempotencyKey: IdempotencyKey.make(threadId),
      ...(deferMillis === 0 ? {} : { notBefore: now + deferMillis }),
    }),
  )
  const registered = Effect.map(client.rpc.listOwners({}), ({ owners }) => owners.length === 1)
  yield* until("the registry knows the owner", answerMillis, registered)
  const history = client.rpc.history({ ownerId, threadId: underWay })
  const begun = Effect.map(history, ({ records }) =>
    records.some(({ kind }) => kind === "StepCompleted"),
  )
  yield* until("the first run is under way", answerMillis, begun)
  return receipts
})

const settledOf = (client: Client, receipts: ReadonlyArray<Receipt>) =>
  Effect.map(
    Effect.forEach(receipts, ({ threadId, submissionId }) =>
      client.rpc.status({ ownerId, threadId, submissionId }),
    ),
    (statuses) => statuses.filter(({ settlement }) => settlement !== undefined).length,
  )

/** Lets the platform spend its tries, telling each. */
const spend = Effect.fnUntraced(function* (server: Server) {
  let firstAt = 0
  let tries = 0
  const seconds = () => ((Date.now() - firstAt) / 1_000).toFixed(1)
  const look = Effect.gen(function* () {
    const seen = linesOf(yield* server.log, "owner: its alarm fails")
    if (tries === 0) firstAt = Date.now()
    for (; tries < seen; tries += 1) {
      yield* say(`    ${seconds().padStart(6)} s  try ${tries + 1}`)
    }
    return tries > 0 && (yield* server.alarms) === 0
  })
  yield* until("the platform gives the alarm up", givingUpMillis, look)
  yield* say(`  The platform has given the alarm up, after ${tries} tries in ${seconds()} s.`)
  yield* insist(tries > 1, "the platform did not try again")
})

/** Nothing calls the owner; only its threads are read. */
const staysStill = Effect.fnUntraced(function* (
  server: Server,
  client: Client,
  receipts: ReadonlyArray<Receipt>,
) {
  yield* Effect.sleep(stillMillis)
  const constructed = linesOf(yield* server.log, "owner: constructed")
  const settled = yield* settledOf(client, receipts)
  const alarms = yield* server.alarms
  const seen = `${alarms} alarms, ${constructed} owners constructed`
  const seconds = stillMillis / 1_000
  yield* say(`  ${seconds} s later: ${seen}, ${settled} of ${receipts.length} settled.`)
  yield* insist(alarms + constructed + settled === 0, "something ran without the cron") // Z1
})

/** Has the platform deliver the cron's event. */
const runCron = Effect.fnUntraced(function* (server: Server) {
  const answer = yield* Effect.promise(() =>
    fetch(`${server.url}/scheduled`).then((response) => response.text()),
  )
  yield* say(`  The platform says: ${answer}`)
  yield* insist(answer.includes(`"outcome":"ok"`), "the cron's event failed")
  yield* say(`  ${(yield* server.alarms) === 0 ? "No alarm stands." : "An alarm stands again."}`)
})

/** Waits for the settlements, and judges each thread's history. // Z1 */
const judge = Effect.fnUntraced(function* (client: Client, receipts: ReadonlyArray<Receipt>) {
  const all = Effect.map(settledOf(client, receipts), (settled) => settled === receipts.length)
  yield* until("everything has settled", answerMillis, all)
  for (const receipt of receipts) {
    const { threadId, submissionId } = receipt
    const settlement = yield* client.awaitSettled(receipt)
    const { records } = yield* client.rpc.history({ ownerId, threadId })
    const statuses = [yield* client.rpc.status({ ownerId, threadId, submissionId })]
    const settlements = new Map([[submissionId, settlement]])
    const thread = { threadId, name: threadId, receipts: [receipt] }
    const findings = verifyThread({ ...thread, settlements, statuses, records })
    const { outcome, attempts } = settlement
    yield* say(`    ${threadId}  ${outcome}, attempts: ${attempts}, findings: ${findings.length}`)
    const right = findings.length === 0 && outcome === "completed"
    yield* insist(right, `${threadId}: ${JSON.stringify(findings)}`)
  }
})

const demonstrate = Effect.gen(function* () {
  const secret = randomBytes(32).toString("hex")
  yield* say("1 Building and starting a Worker; an owner gets work.")
  const build = yield* Effect.promise(() => buildWorker(configFile, stop))
  const server = yield* makeServer(build, secret)
  const token = yield* Effect.promise(() =>
    mintToken({
      grants: { principal: Principal.make("operator"), owners: ["*"] },
      secret,
      expiresInSeconds: 600,
    }),
  )
  const context = yield* Layer.build(HeddleClient.layerHttp({ url: server.url, token }))
  const client = Context.get(context, HeddleClient)
  const receipts = yield* owe(client)
  const alarms = yield* server.alarms
  yield* say(`  One run under way, two to come; the registry knows the owner; alarms: ${alarms}.`)
  yield* insist(alarms === 1, "an owner that owes work has one alarm") // Z1
  yield* say("2 A broken deploy: the owner's alarm fails. The platform tries it again:")
  yield* server.deploy("fails")
  yield* spend(server)
  yield* say("3 A deploy that is whole again. Nobody calls the owner.")
  yield* server.deploy("works")
  yield* staysStill(server, client, receipts)
  yield* say("4 The cron: the Worker's scheduled() is called.")
  yield* runCron(server)
  yield* judge(client, receipts)
  yield* say("All that was owed has settled once and in order, by the last net alone.")
})

const main = demonstrate.pipe(
  Effect.scoped, // Z2
  Effect.timeoutOrElse({
    duration: patienceMillis,
    orElse: () => Effect.fail(new Broken({ message: `not done after ${patienceMillis} ms` })), // Z3
  }),
)

await runScript(usage, async () => {
  flagsOf({})
  const exit = await Effect.runPromiseExit(main, { signal: stop })
  stop.throwIfAborted()
  if (Exit.isSuccess(exit)) return
  const error = Cause.squash(exit.cause)
  throw new Error(`Not as promised: ${error instanceof Error ? error.message : String(error)}`)
})
