/**
 * One command for every open submission that a filter means: `retry --all` and `abort --all`.
 *
 * - B1 Every page is gone through, each submission is told for itself, and what was not done is an exit code.
 * - B2 Pages that were done before one fails, or before Ctrl-C, are told all the same.
 */
import { Clock, Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import type { AgentId, OwnerId, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import type { AbortManyReply, BulkCursor, BulkFilter, RetryManyReply } from "../contracts/Bulk.ts"
import { ExitCode } from "./ExitCode.ts"
import { goesOn } from "./Pages.ts"
import { agent, given, submission, thread } from "./Parameters.ts"
import { type CallError, stoppedBy } from "./Remedies.ts"
import { durationFlag } from "./Root.ts"
import type { Session } from "./Session.ts"
import { Stopped, usage } from "./Stopped.ts"
import { listTable } from "./Table.ts"
import { durationOf } from "./Times.ts"

const states = ["ready", "running", "suspended", "unknown", "joined"] as const
const blockers = ["fault", "backoff", "stalled", "binding", "paused"] as const

/** The place of one submission, or with `--all` a filter. */
export const bulkFlags = {
  thread: thread.pipe(Argument.optional),
  submission: submission.pipe(Argument.optional),
  all: Flag.Boolean("all").pipe(
    Flag.withDescription("Every open submission, of the thread if one is named"),
    Flag.withDefault(false),
  ),
  agent: agent.pipe(Flag.withDescription("With --all: of this agent"), Flag.optional),
  state: Flag.Literals("state", states).pipe(
    Flag.withDescription("With --all: in this state"),
    Flag.optional,
  ),
  blocker: Flag.Literals("blocker", blockers).pipe(
    Flag.withDescription("With --all: of threads that this holds"),
    Flag.optional,
  ),
  olderThan: durationFlag("older-than", "With --all: accepted longer ago than this").pipe(
    Flag.optional,
  ),
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDescription("With --all: only tell what is meant, and what would be done"),
    Flag.withDefault(false),
  ),
}

export interface BulkFlags {
  readonly thread: Option.Option<ThreadId>
  readonly submission: Option.Option<SubmissionId>
  readonly all: boolean
  readonly agent: Option.Option<AgentId>
  readonly state: Option.Option<(typeof states)[number]>
  readonly blocker: Option.Option<(typeof blockers)[number]>
  readonly olderThan: Option.Option<number>
  readonly dryRun: boolean
}

const filters = ["agent", "state", "blocker", "olderThan"] as const

/** The thread and submission that a command without `--all` is about. */
export const oneOf = Effect.fnUntraced(function* (flags: BulkFlags) {
  if (Option.isNone(flags.thread) || Option.isNone(flags.submission)) {
    return yield* usage("Name a thread and a submission, or say --all")
  }
  if (flags.dryRun || filters.some((name) => Option.isSome<unknown>(flags[name]))) {
    return yield* usage("--agent, --state, --blocker, --older-than and --dry-run are for --all")
  }
  return { threadId: flags.thread.value, submissionId: flags.submission.value }
})

/** What `--all` and its flags mean. */
export const filterOf = Effect.fnUntraced(function* (flags: BulkFlags) {
  if (Option.isSome(flags.submission)) return yield* usage("Name a submission, or say --all")
  const now = yield* Clock.currentTimeMillis
  const filter: BulkFilter = {
    ...given(
      "threadIds",
      Option.map(flags.thread, (threadId) => [threadId]),
    ),
    ...given("agent", flags.agent),
    ...given("state", flags.state),
    ...given("blocker", flags.blocker),
    ...given(
      "acceptedBefore",
      Option.map(flags.olderThan, (millis) => Math.max(0, now - millis)),
    ),
  }
  return filter
})

type Page = RetryManyReply | AbortManyReply
type Result = Page["results"][number]

/** The request of a page, whichever command it is for. */
export interface BulkRequest {
  readonly ownerId: OwnerId
  readonly filter: BulkFilter
  readonly author: string
  readonly reason: string
  readonly dryRun: boolean
  readonly after?: BulkCursor
}

const effectOf = ({ effect }: Result, url: string): string => {
  if (effect._tag === "Planned") return `would ${effect.would}`
  if (effect._tag === "Refused") return `refused: ${stoppedBy(effect.error, { url }).what}`
  return "state" in effect.reply ? `now ${effect.reply.state}` : effect.reply._tag.toLowerCase()
}

const table = (results: ReadonlyArray<Result>, now: number, url: string): string =>
  listTable(
    ["thread", "submission", "agent", "state", "age", "effect"],
    results.map((result) => [
      result.threadId,
      result.submissionId,
      result.agent,
      result.state,
      durationOf(Math.max(now - result.acceptedAt, 0)),
      effectOf(result, url),
    ]),
  )

const problems = (results: ReadonlyArray<Result>, unanswered: Page["unanswered"]) => {
  const refused = results.filter(({ effect }) => effect._tag === "Refused").length
  return [
    ...(refused === 0 ? [] : [`${refused} of ${results.length} were refused`]),
    ...(unanswered.length === 0
      ? []
      : [
          `${unanswered.length} threads did not answer: ${unanswered.map((one) => one.threadId).join(", ")}`,
        ]),
  ]
}

/** Goes through every page and shows what came of it, also where it does not come to the end. */
export const runBulk = Effect.fnUntraced(function* (
  session: Session,
  request: BulkRequest,
  call: (request: BulkRequest) => Effect.Effect<Page, CallError>,
) {
  const { dryRun } = request
  const results: Array<Result> = []
  const unanswered: Array<Page["unanswered"][number]> = []
  let after: BulkCursor | undefined
  const told = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (session.json || results.length > 0) {
      const document = {
        dryRun,
        results,
        unanswered,
        ...(after === undefined ? {} : { next: after }),
      }
      yield* session.show(document, () => table(results, now, session.url))
    }
    if (session.json) return
    yield* session.output.note(
      `${results.length} submissions${dryRun ? "; nothing was done (--dry-run)" : ""}`,
    )
  })
  const brokenOff = Effect.andThen(
    told,
    session.output.note("It did not come to the end. The same command again is safe."),
  )
  yield* Effect.gen(function* () {
    do {
      const page: Page = yield* call({ ...request, ...(after === undefined ? {} : { after }) })
      results.push(...page.results)
      unanswered.push(...page.unanswered)
      after = yield* goesOn(after, page.next)
      yield* session.output.progress(`${results.length} submissions`)
    } while (after !== undefined) // B1
  }).pipe(
    Effect.onError(() => (after === undefined ? Effect.void : brokenOff)), // B2
  )
  yield* told
  const [what, ...more] = problems(results, unanswered)
  if (what === undefined) return
  return yield* new Stopped({
    exitCode: ExitCode.refused,
    what: [what, ...more].join("; "),
    next: "The others are done; the same command again is safe.",
  }) // B1
})
