/** `heddle tail`: the records of a thread as they come, over lost connections. */
import { Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import type { OwnerId, SubmissionId, ThreadId } from "../../contracts/Identifiers.ts"
import type { ObserveFrame } from "../../contracts/JournalRecord.ts"
import { count, submissionFlag, thread } from "../Parameters.ts"
import { frameLines } from "../Records.ts"
import { renewing } from "../Renewing.ts"
import { type Session, withSession } from "../Session.ts"
import { endAs } from "../Settled.ts"

/** Beyond every sequence. */
const beyond = Number.MAX_SAFE_INTEGER

interface Place {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** The sequence after which the last `lines` records begin. */
const startOf = Effect.fnUntraced(function* (session: Session, place: Place, lines: number) {
  const { records } = yield* session.client.rpc.history({
    ...place,
    before: beyond,
    limit: Math.max(lines, 1),
  })
  if (lines === 0) return records[0]?.sequence ?? 0
  return (records.at(-1)?.sequence ?? 1) - 1
})

/** Every record after `start` once, also those that come when the token has been renewed. */
const observing = (session: Session, place: Place, start: number) => {
  let after = start
  return renewing(session, () =>
    Stream.tap(session.client.observe({ ...place, after }), (frame) =>
      Effect.sync(() => {
        if (frame._tag === "Record") after = frame.record.sequence
      }),
    ),
  )
}

/** Shows each frame; a frame that is no record is for machines, or a remark. */
const shower = (session: Session) => {
  let shown: string | undefined
  return (frame: ObserveFrame): Effect.Effect<void> => {
    if (session.json) return session.showLine(frame, () => "")
    if (frame._tag === "Gap") {
      return session.output.note(`${frame.dropped} chunks were dropped: this reader is too slow.`)
    }
    const lines = frameLines(frame, shown, session.output.columns)
    if (frame._tag === "Record") shown = frame.record.submissionId
    if (frame._tag === "Emitted") shown = frame.submissionId
    return lines.length === 0 ? Effect.void : session.output.print(lines.join("\n"))
  }
}

/** Whether a frame is the last one that somebody who waits for this submission wants to see. */
const lastFor = (submissionId: SubmissionId, hasSettled: boolean, start: number) => {
  let tail = start
  return (frame: ObserveFrame): boolean => {
    if (frame._tag === "Opened") {
      tail = frame.tailSequence
      return hasSettled && tail <= start
    }
    if (frame._tag !== "Record") return false
    const { kind, sequence } = frame.record
    if (hasSettled) return sequence >= tail
    return kind === "Settled" && frame.record.submissionId === submissionId
  }
}

export const tail = Command.make(
  "tail",
  {
    thread,
    lines: count("lines", "How many records to begin with (default 10, at most 1024)").pipe(
      Flag.withAlias("n"),
      Flag.withDefault(10),
    ),
    after: count("after", "Begin after this sequence; 0 begins with the first").pipe(Flag.optional),
    until: submissionFlag("until", "End when this submission has settled").pipe(Flag.optional),
  },
  ({ after, lines, thread: threadId, until }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const place = { ownerId, threadId }
        const start = Option.isSome(after) ? after.value : yield* startOf(session, place, lines)
        const show = shower(session)
        const frames = observing(session, place, start)
        if (Option.isNone(until)) return yield* Stream.runForEach(frames, show)
        const submitted = { ...place, submissionId: until.value }
        const { settlement } = yield* session.client.rpc.status(submitted)
        const isLast = lastFor(until.value, settlement !== undefined, start)
        yield* Stream.runForEach(Stream.takeUntil(frames, isLast), show)
        yield* endAs(settlement ?? (yield* session.client.awaitSettled(submitted)))
      }),
      threadId,
    ),
).pipe(
  Command.withDescription(
    "Follow what a thread records, live: every record once and in order, over lost connections and " +
      "restarts of the deployment, until Ctrl-C or --until. With --json every frame is a line.",
  ),
  Command.withShortDescription("Follow a thread live"),
  Command.withExamples([
    { command: "heddle tail order-12" },
    {
      command: "heddle tail order-12 --until 01a2296d-d875-7000-acd4-19af00000001",
      description: "End when it has settled: 0 completed, 6 failed or aborted",
    },
    {
      command: "heddle tail order-12 --after 0 --json | jq -c 'select(._tag == \"Record\").record'",
    },
  ]),
)
