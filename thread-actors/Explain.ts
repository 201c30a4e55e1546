/**
 * `explain`: what recovery would decide now for each open submission, by the same decision on the same evidence,
 * and what it waits for.
 *
 * - X1 It only reads, and classifies with nothing of its own.
 * - X2 Where recovery would find the thread unreadable, so does this.
 * - X3 Messages outlive their run: one that has settled is told of as long as one of them is parked.
 */
import { Result } from "effect"
import { SubmissionNotFound } from "../contracts/Errors.ts"
import type { ExplainedWait, RecoveryExplanation } from "../contracts/Explain.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { decide, type Evidence, isLive, isReconcilable, isUnknown } from "./Decision.ts"
import { checkRecords, evidenceOf } from "./Evidence.ts"
import {
  agentMessage,
  callMessage,
  deedOf,
  deferredMessage,
  evidenceLines,
  notAskedMessage,
  pauseMessage,
  publicationMessage,
  restMessage,
  type ToldCall,
  toolMessage,
  triedMessage,
  unknownMessage,
} from "./ExplainWords.ts"
import { explainParked, explainWaits } from "./ExplainWaits.ts"
import { readHead } from "./Head.ts"
import { type Header, readHeader } from "./Header.ts"
import { findPart } from "./Journal.ts"
import {
  abortOf,
  findRow,
  nonterminalRows,
  readRow,
  retriesOf,
  type SubmissionRow,
} from "./Ledger.ts"
import { callEnd, type OpenCall, recordIdOf } from "./OpenCalls.ts"
import { parkedOf, submissionsOfParked } from "./Outbox.ts"
import { pauseOf } from "./Pause.ts"
import { countUnpublished, publicationSince } from "./Publication.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { parsed } from "./Unreadable.ts"

/** What a thread's explanations share. */
interface Scene {
  readonly thread: Thread
  readonly sql: Sql
  readonly header: Header
  readonly head: SubmissionRow | undefined
  readonly now: number
}

/** What the record of a call's start holds. */
const preparedOf = (
  sql: Sql,
  call: OpenCall,
): { readonly request?: unknown; readonly timeoutMillis?: unknown } => {
  const part = isUnknown(call) ? call.part - 1 : call.part
  const prepared = findPart(sql, call.submission, { name: call.name, part })
  return prepared === undefined ? {} : (parsed(prepared.payload, "journal") ?? {})
}

/** What a call was given. */
const requestOf = (sql: Sql, call: OpenCall): string | undefined => {
  const { request } = preparedOf(sql, call)
  return request === undefined ? undefined : JSON.stringify(request)
}

/** Whether a call is looked at later than at its end: it is over, and was looked at before. */
const wasPutOff = ({ sql, thread }: Scene, call: OpenCall): boolean => {
  const { timeoutMillis } = preparedOf(sql, call)
  return call.deadlineAt > Math.ceil(callEnd(call.preparedAt, Number(timeoutMillis), thread.limits))
}

/** What is waited for about a call that this deployment knows: its end, or the next look. */
const lookWait = (scene: Scene, call: ToldCall): Pick<ExplainedWait, "whoCanAct" | "message"> => {
  if (call.tries > 0) {
    const message = triedMessage(call, scene.thread.limits.reconcileTries)
    return { whoCanAct: "deployer", message }
  }
  return wasPutOff(scene, call)
    ? { whoCanAct: "deployer", message: notAskedMessage(call) }
    : { whoCanAct: "nobody", message: callMessage(call) }
}

const callWait = (scene: Scene, row: SubmissionRow, call: ToldCall): ExplainedWait => {
  const { now, sql } = scene
  const { deadlineAt, name, preparedAt, unknownAt } = call
  if (unknownAt !== null) {
    const recordId = recordIdOf(row.id, call)
    const message = unknownMessage(call, recordId, requestOf(sql, call))
    const known = { blocker: "unknown", name, recordId, sinceAt: unknownAt } as const
    return { ...known, whoCanAct: "operator", message }
  }
  const until = deadlineAt > now ? { untilAt: deadlineAt } : {}
  return call.declared
    ? {
        blocker: "timer",
        name,
        sinceAt: preparedAt,
        ...until,
        ...lookWait(scene, call),
      }
    : {
        blocker: "binding",
        name: call.tool,
        sinceAt: preparedAt,
        ...until,
        whoCanAct: "deployer",
        message: toolMessage(call),
      }
}

/** The calls that something is waited for about: one that is over and can be asked about is not waited for. */
const callWaits = (scene: Scene, row: SubmissionRow, calls: ReadonlyArray<ToldCall>) =>
  calls
    .filter((call) => isUnknown(call) || !call.declared || call.deadlineAt > scene.now)
    .map((call) => callWait(scene, row, call))

/** The time that a ready one waits for. */
const timeWaits = (row: SubmissionRow, now: number): ReadonlyArray<ExplainedWait> => {
  if (row.state !== "ready") return []
  const timer = { blocker: "timer", whoCanAct: "nobody" } as const
  const waits: Array<ExplainedWait> = []
  if (row.notBefore !== null && row.notBefore > now)
    waits.push({
      ...timer,
      sinceAt: row.acceptedAt,
      untilAt: row.notBefore,
      message: deferredMessage,
    })
  if (row.dueAt !== null && row.dueAt > now)
    waits.push({ ...timer, untilAt: row.dueAt, message: restMessage })
  return waits
}

const agentWaits = (thread: Thread, row: SubmissionRow): ReadonlyArray<ExplainedWait> =>
  row.state !== "ready" || thread.options.agents.has(row.agent)
    ? []
    : [
        {
          blocker: "binding",
          name: row.agent,
          whoCanAct: "deployer",
          message: agentMessage(row.agent),
        },
      ]

/** The records that a sink is to have before anything starts here. */
const publicationHold = ({ header, thread }: Scene): ReadonlyArray<ExplainedWait> => {
  const since = publicationSince(thread, header)
  return since === undefined
    ? []
    : [
        {
          blocker: "publication",
          sinceAt: since,
          whoCanAct: "deployer",
          message: publicationMessage(countUnpublished(thread, header)),
        },
      ]
}

const pauseHold = ({ header }: Scene): ReadonlyArray<ExplainedWait> => {
  if (!header.paused) return []
  const pause = pauseOf(header)
  return [
    {
      blocker: "paused",
      ...(pause === undefined ? {} : { sinceAt: pause.sinceAt }),
      whoCanAct: "operator",
      message: pauseMessage(pause),
    },
  ]
}

/** The open calls as they are told: a try is charged before it is made. */
const toldCalls = (
  thread: Thread,
  row: SubmissionRow,
  { calls, now }: Evidence,
): ReadonlyArray<ToldCall> =>
  calls.map((call) => {
    const isAsked = thread.asking.has(row.sequence) && isReconcilable(call, now)
    return { ...call, isAsked, tries: isAsked ? Math.max(0, call.tries - 1) : call.tries }
  })

/** What holds the whole thread. */
const heldBy = (scene: Scene): ReadonlyArray<ExplainedWait> => [
  ...pauseHold(scene),
  ...publicationHold(scene),
]

const explainRow = (scene: Scene, row: SubmissionRow): RecoveryExplanation => {
  const { head, header, now, sql, thread } = scene
  const isOver = row.state === "settled"
  if (!isOver) checkRecords(sql, row) // X2
  const evidence = evidenceOf(thread, row, now)
  const decided = decide(evidence) // X1
  const calls = toldCalls(thread, row, evidence)
  const live = row.state === "running" && isLive(row, thread.live) ? thread.live : undefined
  const place = { sql, row, threadId: header.threadId }
  return {
    submissionId: row.id,
    sequence: row.sequence,
    agent: row.agent,
    state: row.state,
    acceptedAt: row.acceptedAt,
    attempts: row.attempts,
    ...decided,
    evidence: evidenceLines({
      row,
      live,
      calls,
      abort: abortOf(row),
      retries: retriesOf(row),
      head,
      now,
    }),
    wouldDo: deedOf(decided.decision),
    waits: [
      ...(live === undefined && !isOver
        ? [
            ...callWaits(scene, row, calls),
            ...timeWaits(row, now),
            ...explainWaits(place),
            ...agentWaits(thread, row),
          ]
        : []),
      ...explainParked(place),
    ],
    heldBy: heldBy(scene),
  }
}

type Explained = Result.Result<ReadonlyArray<RecoveryExplanation>, SubmissionNotFound>

/** How many that have settled are told of. */
const settledMax = 32

/** Those that have settled and sent messages that nobody took, of these or of all. // X3 */
const settledWithParked = (
  thread: Thread,
  row: SubmissionRow | undefined,
): ReadonlyArray<SubmissionRow> => {
  const { sql } = thread.host.storage
  if (row !== undefined) {
    const isTold = !thread.outboxEmpty && parkedOf(sql, row.sequence, 1).length > 0
    return row.state === "settled" && isTold ? [row] : []
  }
  return submissionsOfParked(thread, settledMax)
    .flatMap((sequence) => readRow(sql, sequence) ?? [])
    .filter(({ state }) => state === "settled")
}

/** Explains one submission, or all of them by sequence; of one that has settled only what it still has to be carried. */
export const explain = (
  thread: Thread,
  { submissionId }: { readonly submissionId?: SubmissionId | undefined },
): Explained => {
  const { sql } = thread.host.storage
  const row =
    submissionId === undefined || !thread.hasTables ? undefined : findRow(sql, submissionId)
  if (submissionId !== undefined && row === undefined)
    return Result.fail(new SubmissionNotFound({ submissionId }))
  if (!thread.hasTables) return Result.succeed([])
  const header = readHeader(sql)
  const now = clockOf(thread)
  const { head } = readHead(sql, header, now)
  const open = row === undefined ? nonterminalRows(sql, header.tail) : [row]
  const rows = [
    ...open.filter(({ state }) => state !== "settled"),
    ...settledWithParked(thread, row),
  ].toSorted((one, other) => one.sequence - other.sequence)
  const scene: Scene = { thread, sql, header, head, now }
  return Result.succeed(rows.map((one) => explainRow(scene, one)))
}
