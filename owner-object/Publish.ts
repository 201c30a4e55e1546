/**
 * A turn of publishing: records of one thread are claimed, given to the sink and acknowledged, a batch at a time.
 *
 * There are no leases: a claim changes nothing, and the cursor is the thread's. A crash at any point is followed by
 * the same claim again, so that a sink may see records twice and never misses one.
 *
 * Invariants
 * - C1 A batch is acknowledged after the sink has taken it, and the next one claimed after that.
 * - C2 Each batch is charged its claim, its delivery and its acknowledgement before it starts; a further one begins only
 *   while the time of the turn, that of the pass that began it and its budget of calls last.
 * - C3 What passed the gate ends it, whoever stops waiting.
 * - C4 What a sink throws is told by its kind, never in its words.
 */
import { Effect, Exit } from "effect"
import type { Generation } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { type FullRecord, type HeddleSink, makeBatch } from "../contracts/Publication.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { failureOf, NoAnswer, within } from "./Call.ts"
import { forgottenAtOf } from "./Forgotten.ts"
import type { Lane } from "./Lane.ts"
import type { Life, RunningPass } from "./Life.ts"
import { withMutation } from "./Mutation.ts"
import { addressOf, type Owner } from "./Owner.ts"
import type { Publishing } from "./PublicationTurn.ts"

/** Calls that a batch is charged before it starts. // C2 */
export const callsOfBatch = 3

/** A lane whose records were given a slot. */
export interface PublicationPick {
  readonly lane: Lane
  readonly slow: boolean
  /** What its claims carry: a thread that was fenced since refuses it. */
  readonly generation: Generation
}

export interface PublicationEnd extends Publishing {
  /** Set when the thread said that it was forgotten. */
  readonly forgottenAt: number | undefined
}

interface Work {
  readonly owner: Owner
  readonly life: Life
  readonly lane: Lane
  readonly sink: HeddleSink
}

const failed: PublicationEnd = {
  claimed: undefined,
  refused: false,
  acknowledged: undefined,
  forgottenAt: undefined,
}

interface Claimed {
  readonly report: LaneReport
  readonly records: ReadonlyArray<FullRecord>
}

/** The next records; the end of the turn where there is no answer. */
const claim = ({ lane, life, owner }: Work, generation: Generation) =>
  Effect.gen(function* () {
    const { limits, threads } = owner
    const call = threads.claimPublication({
      ...addressOf(life, lane.threadId),
      limit: limits.publishRecords,
      bytes: limits.publishBytes,
      generation,
      now: owner.host.now(),
    })
    const exit = yield* Effect.exit(within(limits.claimMillis, call))
    if (Exit.isFailure(exit))
      return { ...failed, forgottenAt: forgottenAtOf(failureOf(exit)) } satisfies PublicationEnd
    const { report, result } = exit.value
    if (result._tag === "Failure") return failed
    return { report, records: result.value } satisfies Claimed
  })

/** The first refusal in a row is worth a line of its own. // C4 */
const tellRefused = ({ lane }: Work, cause: unknown) => {
  const why = cause instanceof NoAnswer ? "it did not answer in time" : describeThrown(cause)
  const line = `the sink did not take records of a thread; it gets them again: ${why}`
  const level = lane.marks.publication === undefined ? Effect.logError : Effect.logDebug
  return Effect.annotateLogs(level(line), { threadId: lane.threadId })
}

/** Gives a batch to the sink, between the failpoints. Tells whether it was taken. */
const give = (work: Work, records: ReadonlyArray<FullRecord>) =>
  Effect.gen(function* () {
    const { lane, life, owner, sink } = work
    const batch = makeBatch(addressOf(life, lane.threadId), records)
    yield* owner.failpoints.reach("publish:before")
    const call = Effect.tryPromise({
      // Also what is thrown at once is a refusal.
      try: async () => void (await sink.publish(batch)),
      catch: (cause) => cause,
    })
    const exit = yield* Effect.exit(within(owner.limits.publishMillis, call))
    yield* owner.failpoints.reach("publish:after")
    if (Exit.isSuccess(exit)) return true
    yield* tellRefused(work, failureOf(exit))
    return false
  })

/** Tells the thread up to which record the sink has all. Gives its report, unless there was no answer. // C3 */
const acknowledge = ({ lane, life, owner }: Work, through: number) =>
  Effect.gen(function* () {
    const { threadId } = lane
    let told: LaneReport | undefined
    const mutation = withMutation(owner, life, {
      threadId,
      bytes: 0,
      endsOnly: true,
      acknowledges: true,
      call: (generation, now) =>
        Effect.tap(
          owner.threads.acknowledgePublication({
            ...addressOf(life, threadId),
            through,
            generation,
            now,
          }),
          ({ report }) => Effect.sync(() => void (told = report)),
        ),
    })
    const exit = yield* Effect.exit(Effect.uninterruptible(mutation))
    return Exit.isSuccess(exit) ? told : undefined
  })

/** Whether the word moved the cursor, and there is something behind it. Without the first the same would come again. */
const hasMore = (claimed: LaneReport, acknowledged: LaneReport | undefined): boolean =>
  acknowledged !== undefined &&
  acknowledged.revision > claimed.revision &&
  acknowledged.publishAt !== undefined

/** One batch: how the turn would end with it, and whether there may be another. // C1 */
const publishOne = (work: Work, generation: Generation) =>
  Effect.gen(function* () {
    const claimed = yield* claim(work, generation)
    if (!("records" in claimed)) return { end: claimed, more: false }
    const { records, report } = claimed
    const end = { ...failed, claimed: report }
    const last = records.at(-1)
    if (last === undefined) return { end, more: false }
    if (!(yield* give(work, records))) return { end: { ...end, refused: true }, more: false }
    const acknowledged = yield* acknowledge(work, last.sequence)
    return { end: { ...end, acknowledged }, more: hasMore(report, acknowledged) }
  })

/** Whether one more batch may begin; it is charged. // C2 */
const begins = ({ owner }: Work, pass: RunningPass, startedAt: number): boolean => {
  const { host, limits } = owner
  const now = host.now()
  if (now >= pass.yieldAt || now >= startedAt + limits.publishSliceMillis) return false
  if (pass.calls >= limits.passCalls) return false
  pass.calls += callsOfBatch
  return true
}

/** One turn, from its first claim to its last acknowledgement. Fails only with its fiber. */
export const publish = (
  work: Work,
  pass: RunningPass,
  { generation }: PublicationPick,
): Effect.Effect<PublicationEnd> =>
  Effect.gen(function* () {
    const startedAt = work.owner.host.now()
    let one = yield* publishOne(work, generation)
    while (one.more && begins(work, pass, startedAt)) one = yield* publishOne(work, generation)
    return one.end
  })
