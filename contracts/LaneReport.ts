/**
 * What a thread tells its owner about itself: all that an owner ever keeps about a thread.
 *
 * Property: if `dueAt`, `recoverAt`, `outboxAt`, `publishAt` and `upkeepAt` are all absent, no call, now or
 * later, would change anything until a mutation arrives; if `dueAt` is present, a call then would, unless a
 * run is live, the thread is paused, or its agent is missing.
 */
import { Schema } from "effect"
import {
  AgentId,
  Count,
  Generation,
  Millis,
  RecordId,
  SubmissionId,
  ThreadId,
} from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"
import { SubmissionState, Title } from "./Submission.ts"

export const Blocker = openLiterals([
  "approval",
  "signal",
  "unknown",
  "child",
  "timer",
  "binding",
  "fault",
  "stalled",
  "backoff",
  "held",
  "condemned",
  "paused",
  "outbox",
  "publication",
  "ready-aged",
  "running-aged",
]).annotate({
  identifier: "Blocker",
  description:
    "What a submission, or a whole lane, waits for. The owner alone tells of `fault`, " +
    "`stalled`, `backoff` (its thread does not answer), `held` (as many attempts run as " +
    "may) and `condemned`, and of `binding` where the head's agent is missing; a thread " +
    "tells `binding` of a tool without which a lost call cannot be asked about.",
})
export type Blocker = typeof Blocker.Type

export const LaneHead = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  state: SubmissionState,
  agent: AgentId,
  attempted: Schema.Boolean.annotateKey({ description: "Whether an attempt has ever claimed it." }),
  acceptedAt: Schema.optionalKey(Millis).annotateKey({
    description: "When it was accepted: the age of what is owed.",
  }),
  parent: Schema.optionalKey(ThreadId).annotateKey({
    description: "The thread of the run whose child it is.",
  }),
}).annotate({
  identifier: "LaneHead",
  description:
    "The open run if there is one, else the resolved unknown of lowest sequence, else the " +
    "first ready.",
})
export type LaneHead = typeof LaneHead.Type

export const LaneReport = Schema.Struct({
  threadId: ThreadId,
  /** Names the database: another one counts only as the answer to a fenced visit. Empty when untouched. */
  born: Schema.String.check(Schema.isMaxLength(64)),
  /** The newest generation a fenced visit carried; mutations of it or older ones are refused. */
  fence: Schema.optionalKey(Generation),
  /** Grows with every change of anything in a report. An owner ignores an older one. */
  revision: Count,
  /** Submissions without a settlement. */
  nonterminal: Count,
  /** Of these, `unknown` ones that hold nobody. */
  parked: Count,
  /** Submissions so far, and how many of them have failed or were aborted: for what an owner counts. */
  accepted: Schema.optionalKey(Count),
  failed: Schema.optionalKey(Count),
  aborted: Schema.optionalKey(Count),
  head: Schema.optionalKey(LaneHead),
  /** When `processHead` would next change something; 0 is now. */
  dueAt: Schema.optionalKey(Millis),
  /** When `recover` would next change something. */
  recoverAt: Schema.optionalKey(Millis),
  /** When outbox entries want delivery. */
  outboxAt: Schema.optionalKey(Millis),
  /** When records want to be published; 0 is now. No run begins before they were. */
  publishAt: Schema.optionalKey(Millis),
  /** The next schedule occurrence or retention batch. */
  upkeepAt: Schema.optionalKey(Millis),
  paused: Schema.Boolean,
  /** Since when it is paused. */
  pausedAt: Schema.optionalKey(Millis),
  /** The last journal sequence; 0 for an untouched thread. */
  tailSequence: Count,
  title: Schema.optionalKey(Title),
  /** The names and schemas of the agents this thread's code knows. */
  agentsDigest: Schema.String.check(Schema.isMaxLength(64)),
  /** Which deployment answered. */
  codeVersion: Schema.String.check(Schema.isMaxLength(128)),
  /** The oldest eight waits. */
  waits: Schema.Array(
    Schema.Struct({
      submissionId: SubmissionId,
      blocker: Blocker,
      name: Schema.optionalKey(Schema.String),
      /** What a decision about it names. */
      recordId: Schema.optionalKey(RecordId),
      sinceAt: Millis,
    }),
  ),
})
export type LaneReport = typeof LaneReport.Type
