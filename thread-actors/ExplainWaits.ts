/**
 * What `explain` says of the waits of a run that is suspended: what it is, since when, until when, who can end it, and
 * the very command that does.
 *
 * - W1 What people wrote, and what names hold, is cut before what we say about it.
 */
import { commandLine } from "../contracts/CommandLine.ts"
import type { ExplainedWait } from "../contracts/Explain.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { bounded, quoted, timeOf } from "./ExplainWords.ts"
import { findOpenChild, openChildren } from "./ChildRows.ts"
import { findPart, findRecordedAt } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { recordIdOf } from "./OpenCalls.ts"
import { parkedOf } from "./Outbox.ts"
import { suspensionOf } from "./Suspension.ts"
import { parsed } from "./Unreadable.ts"
import { oldestWaits, type StoredWait, tokenPart } from "./WaitRows.ts"

/** How many are told. */
const waitsMax = 32

interface Place {
  readonly sql: Sql
  readonly row: SubmissionRow
  readonly threadId: string
}

/** The command that is about a wait. */
const about = (
  { row, threadId }: Place,
  command: string,
  name: string,
  flags: ReadonlyArray<string> = [],
): string => `\`${commandLine(command, [threadId, row.id, name], flags)}\``

const expiry = ({ dueAt }: StoredWait): string =>
  dueAt === null ? "" : ` It expires at ${timeOf(dueAt)}.`

const summaryOf = ({ row, sql }: Place, name: string): string => {
  const asked = findPart(sql, row.sequence, { name, part: 0 })
  const { summary } = (asked === undefined ? {} : (parsed(asked.payload, "journal") ?? {})) as {
    readonly summary?: unknown
  }
  return typeof summary === "string" ? quoted(summary) : "something"
}

const approvalMessage = (place: Place, wait: StoredWait): string => {
  const asked = `It asks ${summaryOf(place, wait.name)}.${expiry(wait)}`
  return `${asked} Say ${about(place, "approve", wait.name)} or ${about(place, "deny", wait.name)}.`
}

const signalMessage = (place: Place, wait: StoredWait): string => {
  const { row, sql } = place
  const hasToken = findPart(sql, row.sequence, { name: wait.name, part: tokenPart }) !== undefined
  const other = hasToken ? ", or whoever was given its callback token calls back" : ""
  const command = about(place, "signal", wait.name, ["--payload JSON"])
  return `It waits for a value from outside.${expiry(wait)} Say ${command}${other}.`
}

const childOf = ({ row, sql }: Place, name: string): string => {
  const child = findOpenChild(sql, row.sequence, name)
  return child === undefined ? "a child" : `the child on thread ${quoted(child.threadId)}`
}

const told = (
  place: Place,
  wait: StoredWait,
): Pick<ExplainedWait, "blocker" | "whoCanAct" | "message"> => {
  switch (wait.kind) {
    case "approval":
      return { blocker: "approval", whoCanAct: "caller", message: approvalMessage(place, wait) }
    case "signal":
      return { blocker: "signal", whoCanAct: "caller", message: signalMessage(place, wait) }
    case "timer":
      return {
        blocker: "timer",
        whoCanAct: "nobody",
        message: "Its agent has it sleep until then; it goes on by itself.",
      }
    case "child":
      return {
        blocker: "child",
        whoCanAct: "nobody",
        message: `It waits for ${childOf(place, wait.name)}, and goes on when that has settled: explain that thread.`,
      }
  }
}

const waitTold = (place: Place, wait: StoredWait): ExplainedWait => {
  const { message, ...rest } = told(place, wait)
  return {
    ...rest,
    name: wait.name,
    ...(wait.kind === "approval"
      ? { recordId: recordIdOf(place.row.id, { name: wait.name, part: 0 }) }
      : {}),
    sinceAt: wait.sinceAt,
    ...(wait.dueAt === null ? {} : { untilAt: wait.dueAt }),
    message: bounded(message), // W1
  }
}

/** The children that an end which is known waits for. */
const lastChildren = (place: Place): ReadonlyArray<ExplainedWait> =>
  openChildren(place.sql, place.row.sequence, waitsMax).map(({ name, threadId }) => ({
    blocker: "child",
    name,
    sinceAt:
      findRecordedAt(place.sql, place.row.sequence, { name, part: 0 }) ?? place.row.acceptedAt,
    whoCanAct: "nobody",
    message: bounded(
      `Its end is known; its child on thread ${quoted(threadId)} was told to end and settles first: explain that thread.`,
    ),
  }))

/** The messages of a run that nobody took in time. They hold up nothing of it. */
export const explainParked = ({ row, sql, threadId }: Place): ReadonlyArray<ExplainedWait> =>
  parkedOf(sql, row.sequence, waitsMax).map(({ name, parkedAt, parkedFor }) => ({
    blocker: "outbox",
    name,
    sinceAt: parkedAt,
    whoCanAct: "operator",
    message: bounded(
      `A message that it sent was not taken (${parkedFor}), and is carried no more. It holds up nothing. See to its target, then say \`${commandLine("retry", [threadId, row.id])}\`.`,
    ), // W1
  }))

/** What a suspended run waits for, the oldest first. */
export const explainWaits = (place: Place): ReadonlyArray<ExplainedWait> => {
  const { row, sql } = place
  const kind = suspensionOf(row)?.kind
  if (kind === "children") return lastChildren(place)
  if (kind !== "wait") return []
  const { dueAt } = suspensionOf(row) as { readonly dueAt: number | null }
  const waits = oldestWaits(sql, row.sequence, waitsMax).map((wait) => waitTold(place, wait))
  const isOurs = waits.some(({ untilAt }) => untilAt === dueAt)
  const retry = {
    blocker: "timer",
    whoCanAct: "nobody",
    message: "A step of it is tried again then; it goes on by itself.",
  } as const
  return dueAt === null || isOurs ? waits : [...waits, { ...retry, untilAt: dueAt }]
}
