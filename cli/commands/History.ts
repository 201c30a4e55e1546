/** `heddle history`: the records of a thread, by pages. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { JournalRecord } from "../../contracts/JournalRecord.ts"
import type { OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { ExitCode } from "../ExitCode.ts"
import { goesOn } from "../Pages.ts"
import { count, given, thread } from "../Parameters.ts"
import { recordTable } from "../Records.ts"
import { type Session, withSession } from "../Session.ts"
import { Stopped } from "../Stopped.ts"

interface Range {
  readonly after?: number
  readonly before?: number
  readonly limit?: number
}

const page = (session: Session, place: { ownerId: OwnerId; threadId: ThreadId }, range: Range) =>
  session.client.rpc.history({ ...place, ...range })

/** Every page, each shown as it comes; for machines all of them are one document. */
const showAll = Effect.fnUntraced(function* (
  session: Session,
  place: { ownerId: OwnerId; threadId: ThreadId },
  range: Range,
) {
  const records: Array<JournalRecord> = []
  let after: number | undefined = range.after ?? 0
  while (after !== undefined) {
    const found: Effect.Success<ReturnType<typeof page>> = yield* page(session, place, {
      ...range,
      after,
    })
    if (session.json) records.push(...found.records)
    else if (found.records.length > 0) {
      yield* session.output.print(recordTable(found.records, session.output.columns))
    }
    after = yield* goesOn(after, found.next)
  }
  if (session.json) yield* session.show({ records }, () => "")
})

const noBoth = new Stopped({
  exitCode: ExitCode.usage,
  what: "--before goes backwards, and --after and --all go forwards",
  next: "Give one of them.",
})

export const history = Command.make(
  "history",
  {
    thread,
    after: count("after", "Records after this sequence, oldest first").pipe(Flag.optional),
    before: count("before", "Records before this sequence, newest first").pipe(Flag.optional),
    limit: count("limit", "Records of a page (at most 1024)").pipe(
      Flag.withAlias("n"),
      Flag.optional,
    ),
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Every page to the end"),
      Flag.withDefault(false),
    ),
  },
  ({ after, all, before, limit, thread: threadId }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        if (Option.isSome(before) && (Option.isSome(after) || all)) return yield* noBoth
        const range: Range = {
          ...given("after", after),
          ...given("before", before),
          ...given("limit", limit),
        }
        if (all) return yield* showAll(session, { ownerId, threadId }, range)
        const found = yield* page(session, { ownerId, threadId }, range)
        yield* session.show(found, () => recordTable(found.records, session.output.columns))
        if (session.json) return
        if (found.records.length === 0) {
          yield* session.output.note("No records: nothing of this thread has run there yet.")
        }
        if (found.next !== undefined) {
          const flag = Option.isSome(before) ? "--before" : "--after"
          yield* session.output.note(`There are more: ${flag} ${found.next}, or --all.`)
        }
      }),
      threadId,
    ),
).pipe(
  Command.withDescription(
    "Show what a thread has recorded: inputs, steps, calls, settlements. A page at a time, or --all.",
  ),
  Command.withShortDescription("Show a thread's records"),
  Command.withExamples([
    { command: "heddle history order-12" },
    { command: "heddle history order-12 --before 1000000 -n 20", description: "The newest twenty" },
    { command: "heddle history order-12 --all --json > order-12.json" },
  ]),
)
