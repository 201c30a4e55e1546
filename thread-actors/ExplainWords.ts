/**
 * What `explain` says, in words an operator understands. Pure: everything that is told has been read before.
 *
 * - W1 No text is longer than the contract allows; what people wrote is cut before what we say about it.
 * - W2 A count says what has happened, never what was only charged for what is under way.
 */
import type { RecoveryDecision } from "../contracts/Recovery.ts"
import type { LiveAttempt } from "./LiveAttempt.ts"
import type { AbortIntent, StoredRetry, SubmissionRow } from "./Ledger.ts"
import type { OpenCall } from "./OpenCalls.ts"
import type { StoredPause } from "./Pause.ts"

const textMax = 1_024
const quoteMax = 256

/** Text as it may cross: bounded, and whole. // W1 */
export const bounded = (text: string, max: number = textMax): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`.toWellFormed()

/** What somebody wrote. */
export const quoted = (text: string): string => JSON.stringify(bounded(text, quoteMax))

/** A time in words. */
export const timeOf = (millis: number): string => new Date(millis).toISOString()

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** What recovery would do, by what it decides. */
const deeds: { readonly [D in Exclude<RecoveryDecision, "Unrecognized">]: string } = {
  NoAction: "Nothing: it has settled.",
  AwaitAttempt: "Nothing: its attempt runs in this object, and ends by itself.",
  SettleWithHost: "Settles it as the run that took its input has settled.",
  AwaitHost: "Nothing: it settles with the run that took its input.",
  AwaitChild: "Nothing until its children have settled.",
  SettleAborted: "Settles it as aborted, on the word that was given.",
  AwaitCall: "Nothing until its call is over; then its outcome is looked for.",
  Reconcile: "Asks the tool's reconciler what became of its call.",
  MarkUnknown: "Parks it until somebody says what became of its call; later input runs.",
  AwaitResolution: "Nothing until somebody says what became of its call.",
  Resume: "Makes it ready again: what it waited for is there.",
  AwaitApproval: "Nothing until somebody decides.",
  AwaitSignal: "Nothing until its signal is there.",
  AwaitTimer: "Nothing until its time has come.",
  ResumeRun: "Makes it ready again: its attempt was lost with its object.",
  AwaitDue: "Nothing until its time has come; then its next turn starts an attempt.",
  ApplyInput: "Nothing to repair: its next turn starts an attempt.",
}

export const deedOf = (decision: RecoveryDecision): string =>
  decision === "Unrecognized" ? "Nothing that is known here." : deeds[decision]

/** An open call, where `tries` counts those that are over. // W2 */
export interface ToldCall extends OpenCall {
  /** Whether its reconciler looks now. */
  readonly isAsked: boolean
}

/** What is told of one submission besides its row. */
export interface Told {
  readonly row: SubmissionRow
  /** The attempt of it that this object runs. */
  readonly live: Pick<LiveAttempt, "claimedAt" | "aborting"> | undefined
  readonly calls: ReadonlyArray<ToldCall>
  readonly abort: AbortIntent | undefined
  readonly retries: ReadonlyMap<string, StoredRetry>
  /** The first one in its thread's order. */
  readonly head: { readonly sequence: number } | undefined
  readonly now: number
}

/** Attempts that are gone: the one that runs here is counted as lost until it has written its end. // W2 */
const lostLines = ({ live, row }: Told): ReadonlyArray<string> => {
  if (row.state === "settled") return [] // The claim of the attempt that settled it was never taken back.
  const lost = row.vanished - (live === undefined ? 0 : 1)
  if (lost < 1) return []
  return lost === 1
    ? [`The attempt ${live === undefined ? "" : "before this one "}was lost with its object.`]
    : [`Its last attempts were lost with their object, ${times(lost)} in a row.`]
}

const attempts = (told: Told): ReadonlyArray<string> => {
  const { live, row } = told
  if (row.attempts === 0) return ["No attempt has claimed it yet."]
  const counted = [
    `It was claimed ${times(row.attempts)}.`,
    ...(row.ended > 0
      ? [`Its last attempts ended without a new result, ${times(row.ended)} in a row.`]
      : []),
    ...lostLines(told),
  ]
  if (live !== undefined)
    return [...counted, `Its attempt runs in this object since ${timeOf(live.claimedAt)}.`]
  return row.state === "running" ? [...counted, "No attempt of it runs in this object."] : counted
}

const callLine = (call: ToldCall, now: number): string => {
  const what = `Its call ${quoted(call.name)} of tool ${quoted(call.tool)} was begun at ${timeOf(call.preparedAt)} and has no recorded outcome`
  if (call.unknownAt !== null) return `${what}; that is unknown since ${timeOf(call.unknownAt)}.`
  const failed = call.tries === 0 ? "" : `; its reconciler has failed ${times(call.tries)}`
  const asked = call.isAsked ? `${failed}; its reconciler looks now` : failed
  const known = call.declared ? "" : "; this deployment lacks the tool"
  return call.deadlineAt > now
    ? `${what}; it is looked at from ${timeOf(call.deadlineAt)} on${asked}${known}.`
    : `${what}; it is over${asked}${known}.`
}

const placeLine = ({ head, row }: Told): ReadonlyArray<string> => {
  if (row.state !== "ready" || head === undefined) return []
  return head.sequence === row.sequence
    ? ["It is the next one of its thread."]
    : [`Submission ${head.sequence} is before it in its thread.`]
}

const timeLines = ({ now, retries, row }: Told): ReadonlyArray<string> => [
  ...(row.notBefore !== null && row.notBefore > now
    ? [`Its caller deferred it to ${timeOf(row.notBefore)}.`]
    : []),
  ...(row.dueAt !== null && row.dueAt > now ? [`It rests until ${timeOf(row.dueAt)}.`] : []),
  ...[...retries].map(([name, retry]) => {
    const what = name === "" ? "The run" : `Its step ${quoted(name)}`
    return `${what} has failed ${times(retry.tries)} and is tried again from ${timeOf(retry.dueAt)} on.`
  }),
]

const abortLine = ({ abort, live }: Told): ReadonlyArray<string> => {
  if (abort === undefined) return []
  const told = live?.aborting === true ? " Its attempt was told to end." : ""
  return [`${quoted(abort.author)} asked to abort it: ${quoted(abort.reason)}.${told}`]
}

/** What a decision is taken by, in words; the most telling first. */
export const evidenceLines = (told: Told): ReadonlyArray<string> =>
  [
    `It is ${told.row.state}, and was accepted at ${timeOf(told.row.acceptedAt)}.`,
    ...abortLine(told),
    ...told.calls.map((call) => callLine(call, told.now)),
    ...attempts(told),
    ...timeLines(told),
    ...placeLine(told),
  ].map((line) => bounded(line))

/** A pause, and the command that ends it. */
export const pauseMessage = (pause: StoredPause | undefined): string => {
  const end = "It accepts input and starts nothing; `resumeThread` lets it go on."
  return bounded(
    pause === undefined
      ? `The thread is paused; by whom cannot be read. ${end}`
      : `${quoted(pause.author)} paused the thread: ${quoted(pause.reason)}. ${end}`,
  )
}

/** Records that the sink of the deployment lacks. */
export const publicationMessage = (count: number): string =>
  `${count === 1 ? "1 record of the thread is" : `${count} records of the thread are`} on the way to the sink of the ` +
  "deployment; nothing starts here before it has them. If this lasts, the sink refuses them or is down."

/** A call of which nobody knows, what it was given, and the command that decides it. */
export const unknownMessage = (
  call: OpenCall,
  recordId: string,
  request: string | undefined,
): string => {
  const what = `The call ${quoted(call.name)} of tool ${quoted(call.tool)} may have happened: nobody knows.`
  const how =
    `Look, then say with \`resolveUnknown\` and recordId ${recordId}: CompletedWithResult, ` +
    "NeverHappened, SafeToRetry or AbortSubmission."
  if (request === undefined) return `${what} ${how}`
  const given = bounded(request, textMax - what.length - how.length - " It was given . ".length)
  return `${what} It was given ${given}. ${how}` // W1
}

/** A call that is not over. */
export const callMessage = (call: ToldCall): string =>
  bounded(
    `The call ${quoted(call.name)} of tool ${quoted(call.tool)} may still be under way until ${timeOf(call.deadlineAt)}. ` +
      "Then its outcome is looked for; nothing shortens that.",
  )

/** A call that is over, and about which its reconciler is asked again. */
export const triedMessage = (call: ToldCall, triesMax: number): string =>
  bounded(
    `The call ${quoted(call.name)} of tool ${quoted(call.tool)} is over. Its reconciler has failed ${times(call.tries)} and ` +
      `is asked again at ${timeOf(call.deadlineAt)}; after ${triesMax} failures the call waits for a word. Deploy a ` +
      "reconciler that answers, or abort the submission.",
  )

/** A call that is over, and about which its reconciler could not be asked. */
export const notAskedMessage = (call: ToldCall): string =>
  bounded(
    `The call ${quoted(call.name)} of tool ${quoted(call.tool)} is over. Its reconciler could not be asked, as the services ` +
      `of the agents do not start; that is tried again at ${timeOf(call.deadlineAt)}. Deploy services that start, or ` +
      "abort the submission.",
  )

/** A tool that this deployment lacks. */
export const toolMessage = (call: ToldCall): string =>
  bounded(
    `The outcome of the call ${quoted(call.name)} is looked for with the tool ${quoted(call.tool)}, which the agent of ` +
      "this deployment does not have. Deploy it, or abort the submission.",
  )

/** An agent that this deployment lacks. */
export const agentMessage = (agent: string): string =>
  bounded(
    `The agent ${quoted(agent)} is not in this deployment. Deploy it, or abort the submission with \`abort\`.`,
  )

export const restMessage =
  "It rests between two attempts and goes on by itself; `retry` has it go on at once."

export const deferredMessage = "Its caller deferred it; it takes its place by itself."
