/** `heddle submit`: has one input processed, or a batch of them. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { makeIdempotencyKey, type Submission } from "../../client/HeddleClient.ts"
import { IdempotencyKey, type ThreadId } from "../../contracts/Identifiers.ts"
import { pathFlag } from "../Paths.ts"
import { readBatch } from "../batch/BatchFile.ts"
import { noCheckpoint, openCheckpoint } from "../batch/Checkpoint.ts"
import { makeReport } from "../batch/Report.ts"
import { submitBatch } from "../batch/SubmitBatch.ts"
import { hasInput, type InputFlags, inputFlags, readInput } from "../Input.ts"
import { agent, count, given, key, moment, thread } from "../Parameters.ts"
import { afterReceipt, tellingKey, timeoutOfWait } from "../Receipts.ts"
import { durationFlag, paragraphs } from "../Root.ts"
import { attempt, type Session, withSession } from "../Session.ts"
import { usage } from "../Stopped.ts"

const concurrencyDefault = 4

const allFlags = {
  thread: thread.pipe(Argument.optional),
  agent: agent.pipe(Flag.optional),
  ...inputFlags,
  key,
  title: Flag.String("title").pipe(
    Flag.withDescription("A title, for people and search"),
    Flag.optional,
  ),
  delivery: Flag.Literals("delivery", ["queue", "join"]).pipe(
    Flag.withDescription("queue waits its turn; join is offered to the open run first"),
    Flag.optional,
  ),
  notBefore: moment("not-before", "Keep it out of the queue until then").pipe(Flag.optional),
  wait: Flag.Boolean("wait").pipe(
    Flag.withAlias("w"),
    Flag.withDescription("Wait for its settlement"),
    Flag.withDefault(false),
  ),
  timeout: durationFlag("timeout", "How long to wait at most").pipe(Flag.optional),
  jsonl: pathFlag("jsonl").pipe(
    Flag.withDescription("Submit every line of this file; - is standard input"),
    Flag.optional,
  ),
  checkpoint: pathFlag("checkpoint").pipe(
    Flag.withDescription("With --jsonl: remember here what was submitted, and go on from it"),
    Flag.optional,
  ),
  concurrency: count("concurrency", "With --jsonl: calls at a time (default 4)").pipe(
    Flag.filter(
      (value) => value >= 1 && value <= 64,
      () => "a number from 1 to 64",
    ),
    Flag.optional,
  ),
}

interface Flags extends InputFlags {
  readonly thread: Option.Option<ThreadId>
  readonly agent: Option.Option<Submission["agent"]>
  readonly key: Option.Option<string>
  readonly title: Option.Option<string>
  readonly delivery: Option.Option<"queue" | "join">
  readonly notBefore: Option.Option<number>
  readonly wait: boolean
  readonly timeout: Option.Option<number>
  readonly jsonl: Option.Option<string>
  readonly checkpoint: Option.Option<string>
  readonly concurrency: Option.Option<number>
}

const submitOne = Effect.fnUntraced(function* (session: Session, flags: Flags) {
  const ownerId = yield* session.ownerId
  if (Option.isNone(flags.thread)) return yield* usage("Name the thread, or a batch with --jsonl")
  if (Option.isNone(flags.agent)) return yield* usage("Name the agent with --agent")
  if (Option.isSome(flags.checkpoint) || Option.isSome(flags.concurrency)) {
    return yield* usage("--checkpoint and --concurrency are for --jsonl")
  }
  yield* timeoutOfWait(flags)
  const input = yield* readInput(flags)
  const idempotencyKey = Option.isSome(flags.key)
    ? IdempotencyKey.make(flags.key.value)
    : yield* makeIdempotencyKey
  const submission: Submission = {
    ownerId,
    threadId: flags.thread.value,
    agent: flags.agent.value,
    input,
    idempotencyKey,
    ...given("title", flags.title),
    ...given("delivery", flags.delivery),
    ...given("notBefore", flags.notBefore),
  }
  const receipt = yield* tellingKey(session, idempotencyKey, session.client.submit(submission))
  yield* afterReceipt(session, receipt, {
    key: idempotencyKey,
    wait: flags.wait,
    timeout: flags.timeout,
  })
})

/** Flags that say something of one input. */
const ofOne = ["key", "title", "delivery", "notBefore", "timeout"] as const

const submitLines = Effect.fnUntraced(function* (session: Session, flags: Flags, path: string) {
  const ownerId = yield* session.ownerId
  if (hasInput(flags) || flags.wait || ofOne.some((name) => Option.isSome<unknown>(flags[name]))) {
    return yield* usage("With --jsonl each line brings its own input, title, key and time")
  }
  const checkpointPath = Option.getOrUndefined(flags.checkpoint)
  const batch = yield* readBatch(path, ownerId, {
    ...given("threadId", flags.thread),
    ...given("agent", flags.agent),
  })
  const { address, principal, url } = session
  const total = batch.lines.length
  const checkpoint = yield* Effect.acquireRelease(
    attempt(() =>
      checkpointPath === undefined
        ? noCheckpoint()
        : openCheckpoint(checkpointPath, {
            digest: batch.digest,
            lines: total,
            ownerId,
            url,
            address,
            principal,
          }),
    ),
    (opened) => Effect.sync(opened.close),
  )
  const about = { url, ownerId }
  const report = yield* makeReport({ session, about, total, checkpoint, checkpointPath })
  const ended = yield* submitBatch({
    session,
    ownerId,
    lines: batch.lines,
    checkpoint,
    concurrency: Option.getOrElse(flags.concurrency, () => concurrencyDefault),
    onOutcome: report.onOutcome,
    onPause: report.onPause,
  }).pipe(Effect.onInterrupt(() => report.interrupted))
  yield* report.end(ended)
})

export const submit = Command.make("submit", allFlags, (flags) =>
  withSession(
    (session) =>
      Option.isSome(flags.jsonl)
        ? Effect.scoped(submitLines(session, flags, flags.jsonl.value))
        : submitOne(session, flags),
    Option.getOrUndefined(flags.thread),
  ),
).pipe(
  Command.withDescription(
    paragraphs(`Have an input processed by an agent, after all that its thread accepted before it. The receipt says that it is
durable. A key is made for it; whoever repeats it with that --key gets the first receipt.

With --jsonl every line of a file is submitted, those of one thread in their order. A line is a JSON object:
threadId, agent and input; and idempotencyKey, title, delivery, notBefore if wanted. The thread and the --agent of
the command are for lines without one. All lines are checked before the first is sent. With --checkpoint a batch
that was broken off goes on when the command is repeated, and submits each line once.`),
  ),
  Command.withShortDescription("Submit an input, or a batch of them"),
  Command.withExamples([
    { command: 'heddle submit order-12 --agent refund --input \'{"order":"12"}\' --wait' },
    { command: "heddle submit hello.md --agent digest --file big.json" },
    { command: "jq -c . big.json | heddle submit hello.md --agent digest --stdin" },
    {
      command: "heddle submit --agent refund --jsonl batch.jsonl --checkpoint batch.checkpoint",
      description: "Repeat it until it ends with 0",
    },
  ]),
)
