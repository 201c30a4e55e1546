/**
 * A flight: one call of a thread in a pass, and the block that commits its end.
 *
 * Every end is committed by itself when it arrives; nothing waits for a sibling.
 *
 * Invariants
 * - G1 A visit clears the enrolment only if it was fenced, the enrolment is still the one it saw, and
 *   nothing became active meanwhile.
 * - G2 After its turn a lane that is still due goes behind all that wait.
 * - G3 A mark that was set while the call was under way outlives the call.
 * - G4 Whatever the call was: of a thread that says it was forgotten no lane is left.
 */
import { Effect, Exit } from "effect"
import { annotate, idsIn, spanned, spans } from "../contracts/observability/Spans.ts"
import type { ThreadUnreadable } from "../contracts/Errors.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { RecoveryFailure, RecoveryReport } from "../contracts/Recovery.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import { notStartedBy } from "./AgentLimits.ts"
import * as Answer from "./Answer.ts"
import { acceptReport } from "./AcceptReport.ts"
import { type Block, laneOrNew, openForWriting, writeLane } from "./Block.ts"
import { failureOf, within } from "./Call.ts"
import { tagOf } from "./CarryResult.ts"
import { attemptsOf, tallied } from "./Totals.ts"
import { commitForget } from "./Forget.ts"
import { forgottenAtOf, removeForgotten } from "./Forgotten.ts"
import { isRunning, type Lane, withoutBackoff, withoutHold, withoutUnseen } from "./Lane.ts"
import type { Life, RunningPass } from "./Life.ts"
import type { ThreadAnswer } from "./Mutation.ts"
import { addressOf, inBlock, type Owner, type OwnerFailpoint } from "./Owner.ts"
import * as RecoveryFaults from "./RecoveryFaults.ts"
import type { Picked } from "./Select.ts"
import { tellEnd } from "./Tell.ts"

const momentOf = (owner: Owner, block: Block): Answer.Moment => ({
  now: block.now,
  random: block.host.random(),
  limits: block.limits,
  codeVersion: owner.codeVersion,
  agentsDigest: owner.agentsDigest,
})

/** The pass whose report tells of this end: the one that runs now, though it need not have begun the call. */
const countedBy = ({ life }: Block, pass: RunningPass): RunningPass => life.pass ?? pass

/** The lane as its row is now, with what was marked during the flight kept. // G3 */
const landing = (block: Block, pass: RunningPass, pick: Picked) => {
  const { threadId } = pick.lane
  const found = laneOrNew(block, threadId)
  return { ...found, marked: pass.marked.has(threadId) }
}

const isTransport = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "Unavailable"

const commitSilence = (owner: Owner, block: Block, pick: Picked, transport: boolean): Lane => {
  const { before, lane } = laneOrNew(block, pick.lane.threadId)
  const silent = Answer.afterSilence(lane, momentOf(owner, block), transport)
  return writeLane(block, before, silent, { afterTurn: true })
}

/** A visit that failed: a backoff, and after so many in a row a fault, if there is no other. */
const commitUnseen = (owner: Owner, block: Block, pick: Picked, error: unknown): Lane => {
  const { before, lane: found } = laneOrNew(block, pick.lane.threadId)
  const moment = momentOf(owner, block)
  const transport = isTransport(error)
  const unseen = Answer.unseenAgain(found.marks, block.now)
  const lane: Lane = { ...found, marks: { ...found.marks, unseen } }
  const { faultRetryAt, faultVisit } = found.marks
  const outage = faultRetryAt === undefined && Answer.isOutage(unseen, moment, transport)
  if (!outage && faultVisit !== true) {
    return writeLane(block, before, Answer.afterSilence(lane, moment, transport), {
      afterTurn: true,
    })
  }
  const marks = withoutHold(withoutBackoff(lane.marks))
  const failure = RecoveryFaults.failureOf("inspect", error)
  return commitFault(block, before, { ...lane, mustVisit: true, marks }, failure)
}

/** A call to forget that failed: after so many in a row, as of visits, the lane takes nobody's place. */
const commitUnheard = (owner: Owner, block: Block, pick: Picked, error: unknown): Lane => {
  const { before, lane: found } = laneOrNew(block, pick.lane.threadId)
  const moment = momentOf(owner, block)
  const transport = isTransport(error)
  const unseen = Answer.unseenAgain(found.marks, block.now)
  const { condemned } = found.marks
  const unheard = condemned !== undefined && Answer.isOutage(unseen, moment, transport)
  const marks = {
    ...found.marks,
    unseen,
    ...(unheard ? { condemned: { ...condemned, unheard: true as const } } : {}),
  }
  const silent = Answer.afterSilence({ ...found, marks }, moment, transport)
  return writeLane(block, before, silent, { afterTurn: true })
}

/** A call that failed: of a recovery it is a fault, of any other a backoff. */
const commitFailure = (
  owner: Owner,
  block: Block,
  pick: Picked,
  error: unknown,
): Lane | undefined => {
  const forgottenAt = forgottenAtOf(error)
  if (forgottenAt !== undefined) {
    const { threadId } = pick.lane
    return removeForgotten(block, threadId, { forgottenAt, underWay: false })
      ? undefined
      : commitSilence(owner, block, pick, false) // G4
  }
  if (pick.kind === "forget") return commitUnheard(owner, block, pick, error)
  if (pick.kind === "visit") return commitUnseen(owner, block, pick, error)
  if (pick.kind !== "recover") return commitSilence(owner, block, pick, isTransport(error))
  const { before, lane } = laneOrNew(block, pick.lane.threadId)
  return commitFault(block, before, lane, RecoveryFaults.failureOf("recover", error))
}

/** Whether no call would change anything until a mutation arrives: what failed before is over. */
const isAtRest = (report: LaneReport | undefined): boolean =>
  report !== undefined &&
  report.dueAt === undefined &&
  report.recoverAt === undefined &&
  report.outboxAt === undefined &&
  report.publishAt === undefined &&
  report.upkeepAt === undefined

/** Whether the thread has stored the fence that the visit carried: one that cannot be read stores none. */
const isFencedAs = ({ generation }: Picked, { fence }: LaneReport): boolean =>
  generation === undefined || (fence !== undefined && fence >= generation)

const commitVisit = (
  block: Block,
  pass: RunningPass,
  pick: Picked,
  answer: ThreadAnswer<void, never>,
): Lane => {
  const { before, lane, marked } = landing(block, pass, pick)
  const fenced = pick.generation !== undefined
  const accepted = acceptReport(block, lane, answer.report, {
    fenced,
    sentUnder: pick.lane.report,
  })
  const settled =
    fenced &&
    accepted.lane.enrolled === pick.generation &&
    !block.life.overlaps.has(accepted.lane.threadId) // G1
  const seen = RecoveryFaults.afterVisit(block, accepted.lane)
  const marks = withoutUnseen(seen.marks)
  const visited: Lane = {
    ...seen,
    enrolled: settled ? undefined : seen.enrolled,
    mustVisit: marked,
    marks: isAtRest(seen.report) ? withoutBackoff(marks) : marks,
  }
  return writeLane(block, before, visited, { afterTurn: true })
}

/** How the report of a call was asked for that carried no fence. */
const asked = ({ lane }: Picked) => ({ fenced: false, sentUnder: lane.report })

const commitRecovery = (
  owner: Owner,
  block: Block,
  pass: RunningPass,
  pick: Picked,
  answer: ThreadAnswer<ReadonlyArray<RecoveryReport>, ThreadUnreadable>,
): Lane => {
  const { before, lane } = laneOrNew(block, pick.lane.threadId)
  const accepted = acceptReport(block, lane, answer.report, asked(pick)).lane
  if (answer.result._tag === "Failure") {
    const failure = RecoveryFaults.failureOf("recover", answer.result.error)
    return commitFault(block, before, accepted, failure)
  }
  if (answer.result.value.some((report) => report.disposition === "repaired"))
    countedBy(block, pass).recovered += 1
  const healed = RecoveryFaults.afterRecovery(block, accepted)
  const moment = momentOf(owner, block)
  const recovered =
    healed === accepted ? Answer.afterRecovery(pick.lane.report, accepted, moment) : healed
  return writeLane(block, before, recovered, { afterTurn: true })
}

/** A recovery that failed: recorded before anything else happens for the lane. */
const commitFault = (
  block: Block,
  before: Lane | undefined,
  lane: Lane,
  failure: RecoveryFailure,
): Lane => {
  openForWriting(block)
  const faulted = RecoveryFaults.recordFault(block, { ...lane, suspect: true }, failure)
  return writeLane(block, before, faulted, { afterTurn: true })
}

const commitTurn = (
  owner: Owner,
  block: Block,
  pass: RunningPass,
  pick: Picked,
  answer: ThreadAnswer<ReadonlyArray<HeadAnswer>, ThreadUnreadable>,
): Lane => {
  const { before, lane } = laneOrNew(block, pick.lane.threadId)
  const accepted = acceptReport(block, lane, answer.report, asked(pick)).lane
  const moment = momentOf(owner, block)
  if (answer.result._tag === "Failure") {
    const failure = RecoveryFaults.failureOf("processHead", answer.result.error)
    return commitFault(block, before, accepted, failure)
  }
  const heads = answer.result.value
  if (heads.some((head) => head._tag === "Unrecognized")) {
    const silent = Answer.afterSilence(accepted, moment, false)
    return writeLane(block, before, silent, { afterTurn: true })
  }
  const readable = RecoveryFaults.clearFault(block, accepted)
  const runBefore = isRunning(pick.lane) ? pick.lane.report?.head?.submissionId : undefined
  block.tally = tallied(block.tally, { attempts: attemptsOf(heads, runBefore) })
  countedBy(block, pass).settled += heads.filter((head) => head._tag === "Settled").length
  const turned = Answer.afterTurn({
    sentUnder: pick.lane.report,
    lane: readable,
    heads,
    yieldAt: pass.yieldAt,
    moment,
  })
  return writeLane(block, before, turned, { afterTurn: true }) // G2
}

const tellForgotten = ({ threadId }: Lane) =>
  Effect.annotateLogs(Effect.logInfo("a thread is forgotten"), { threadId })

interface Ending {
  readonly failpoint: OwnerFailpoint
  /** Gives the lane as it was written, if there is still one. */
  readonly commit: (block: Block) => Lane | undefined
}

/** Who condemned the thread speaks for the forgetting, whichever call finishes it. */
const callForget = (owner: Owner, life: Life, { generation, lane }: Picked) =>
  Effect.suspend(() => {
    const { condemned } = lane.marks
    if (condemned === undefined || generation === undefined) return Effect.die("not condemned")
    const { abort, author, principal, reason } = condemned
    const now = owner.host.now()
    const address = addressOf(life, lane.threadId)
    return owner.threads.forget({ ...address, author, reason, principal, abort, generation, now })
  })

/** Tells the span of a call which failure ended it. */
const tellFailure = (exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Exit.isSuccess(exit) ? Effect.void : annotate(() => ({ "error.type": tagOf(failureOf(exit)) }))

/** Calls the thread and says how the end is to be committed. */
const call = (owner: Owner, life: Life, pass: RunningPass, pick: Picked): Effect.Effect<Ending> => {
  const { limits, threads } = owner
  const address = addressOf(life, pick.lane.threadId)
  const now = owner.host.now()
  const ending = <A, E>(
    failpoint: OwnerFailpoint,
    millis: number,
    effect: Effect.Effect<A, E>,
    commit: (block: Block, answer: A) => Lane | undefined,
  ): Effect.Effect<Ending> =>
    Effect.map(Effect.tap(Effect.exit(within(millis, effect)), tellFailure), (exit) => ({
      failpoint: pick.kind === "recover" && isFault(exit) ? "fault" : failpoint,
      commit: (block) =>
        Exit.isSuccess(exit)
          ? commit(block, exit.value)
          : commitFailure(owner, block, pick, failureOf(exit)),
    }))
  switch (pick.kind) {
    case "visit":
      return ending(
        "visit",
        limits.visitMillis,
        threads.inspect({
          ...address,
          now,
          ...(pick.generation === undefined ? {} : { fence: pick.generation }),
          ...(pick.lane.report === undefined ? { anew: true } : {}),
        }),
        (block, answer) =>
          isFencedAs(pick, answer.report)
            ? commitVisit(block, pass, pick, answer)
            : commitUnseen(owner, block, pick, { _tag: "ThreadUnreadable" }), // G1
      )
    case "recover":
      return ending(
        "recover",
        limits.recoverMillis,
        threads.recover({ ...address, now }),
        (block, answer) => commitRecovery(owner, block, pass, pick, answer),
      )
    case "dispatch":
      return ending(
        pick.lane.marks.binding === undefined ? "report" : "binding",
        limits.attentionMillis + limits.dispatchGraceMillis,
        threads.processHead({
          ...address,
          now,
          yieldAt: pass.yieldAt,
          maxHeads: limits.headsPerTurn,
          sliceMillis: limits.sliceMillis,
          attentionMillis: limits.attentionMillis,
          suspect: pick.lane.suspect,
          ...(life.maxRunning.size === 0
            ? {}
            : { notAgents: notStartedBy(life, pick.lane.report?.head?.agent) }),
        }),
        (block, answer) => commitTurn(owner, block, pass, pick, answer),
      )
    case "forget":
      return ending("forget", limits.forgetMillis, callForget(owner, life, pick), (block, answer) =>
        commitForget(block, pick, answer, momentOf(owner, block)),
      )
  }
}

/** Whether a recovery failed, in its call or as data of its reply. */
const isFault = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) || (exit.value as ThreadAnswer<unknown, unknown>).result._tag === "Failure"

/** The call as a span, with how it failed if it did. */
const called = (owner: Owner, life: Life, pass: RunningPass, pick: Picked) =>
  spanned(
    () => ({
      name: spans[pick.kind],
      attributes: idsIn({ ownerId: life.ownerId, threadId: pick.lane.threadId }),
    }),
    call(owner, life, pass, pick),
  )

/** One flight from call to commit. Fails only when the commit does. */
export const fly = (owner: Owner, life: Life, pass: RunningPass, pick: Picked) =>
  Effect.gen(function* () {
    const ending = yield* called(owner, life, pass, pick)
    const after = yield* inBlock(owner, life, ending.failpoint, ending.commit)
    yield* tellEnd(owner, pick, after)
    if (pick.kind === "forget" && after === undefined) yield* tellForgotten(pick.lane)
  })
