/**
 * Memory: what an object tells is what its rows say, right after a block that failed and at any other time. Rows decide;
 * what a block did that was rolled back is nowhere.
 *
 * - M1 A thread's report tells nothing that its rows do not have: its revision is at most theirs, and where it is theirs
 *   all else is, too.
 * - M2 What an owner tells of itself and of a lane while its rows do not change is what they say.
 * - M3 What is answered as done is there: a receipt has its submission, a submission that is told has its state, and an
 *   owner that has entered its row.
 * - M4 One that was replaced has no rows; it answers nobody but who came before that.
 */
import type { WireExit, WireMessage } from "../../contracts/transport/Wire.ts"
import type { Said } from "../Network.ts"
import type { SimulatedObject } from "../Incarnation.ts"
import type { Violate } from "./Violate.ts"

const invariant = "Memory"

interface Reported {
  readonly born: string
  readonly revision: number
  readonly nonterminal: number
  readonly paused: boolean
  readonly tailSequence: number
  readonly outboxAt?: number
}

interface ThreadRows {
  readonly [column: string]: string | number | null
  readonly born: string
  readonly touches: number
  readonly paused: number
  readonly forgottenAt: number | null
  readonly accepted: number
  readonly nonterminal: number
  readonly tail: number
  readonly outboxAt: number | null
}

const threadRows = ({ state }: SimulatedObject): ThreadRows | undefined =>
  state.hasTable("meta")
    ? state.read<ThreadRows>(
        `SELECT born, revision AS touches, paused, forgottenAt,
          (SELECT COALESCE(MAX(sequence), 0) FROM submissions) AS accepted,
          (SELECT COUNT(*) FROM submissions WHERE state <> 'settled') AS nonterminal,
          (SELECT COALESCE(MAX(sequence), 0) FROM journal) AS tail,
          (SELECT MIN(nextAt) FROM outbox) AS outboxAt FROM meta`,
      )[0]
    : undefined

/** The report in an answer of a thread, if there is one. */
const reportIn = (value: unknown): Reported | undefined => {
  const { report } = (value ?? {}) as { readonly report?: Partial<Reported> }
  return typeof report?.revision === "number" ? (report as Reported) : undefined
}

const reportIsTrue = (thread: SimulatedObject, report: Reported, violate: Violate): void => {
  const rows = threadRows(thread)
  if (rows === undefined) {
    if (report.revision > 0 || report.born !== "")
      violate(invariant, `${thread.name} reports revision ${report.revision}, and has no rows`) // M1
    return
  }
  if (rows.forgottenAt !== null || report.born === "") return
  const revision = rows.touches + rows.accepted + rows.tail
  if (report.revision > revision)
    violate(invariant, `${thread.name} reports revision ${report.revision}, and has ${revision}`) // M1
  if (report.revision !== revision) return
  const truth: Record<string, string | number | boolean | undefined> = {
    born: rows.born,
    nonterminal: rows.nonterminal,
    paused: rows.paused === 1,
    tailSequence: rows.tail,
    outboxAt: rows.outboxAt ?? undefined,
  }
  for (const [key, value] of Object.entries(truth)) {
    const told = report[key as keyof Reported]
    if (told !== value)
      violate(invariant, `${thread.name} reports ${key} ${told}, and it is ${value}`) // M1
  }
}

interface Answered {
  readonly object: SimulatedObject
  readonly tag: string
  readonly payload: unknown
  readonly value: unknown
  readonly isUnchanged: boolean
}

/** What a mutation of a thread was told to have come to. */
const receiptIsThere = ({ object, tag, value }: Answered, violate: Violate): void => {
  if (tag !== "admit" && tag !== "resubmit") return
  const { result } = (value ?? {}) as {
    readonly result?: { readonly value?: { readonly submissionId?: string } }
  }
  const id = result?.value?.submissionId
  if (id === undefined) return
  const isThere =
    object.state.hasTable("submissions") &&
    object.state.read("SELECT 1 FROM submissions WHERE id = ?", id).length > 0
  if (!isThere && (threadRows(object)?.forgottenAt ?? null) === null)
    violate(invariant, `${object.name} gave a receipt for ${id}, and does not have it`) // M3
}

const statusIsTrue = ({ isUnchanged, object, tag, value }: Answered, violate: Violate): void => {
  if (tag !== "status" || !isUnchanged) return
  const { state, submissionId } = value as { readonly state: string; readonly submissionId: string }
  const [row] = object.state.hasTable("submissions")
    ? object.state.read<{ state: string }>(
        "SELECT state FROM submissions WHERE id = ?",
        submissionId,
      )
    : []
  if (row?.state !== state)
    violate(invariant, `${object.name} tells ${submissionId} as ${state}, and it is ${row?.state}`) // M3
}

interface Counted {
  readonly [column: string]: number
  readonly lanes: number
  readonly nonterminal: number
  readonly running: number
  readonly faulted: number
  readonly unfinished: number
}

const ownerIsTrue = ({ object, value }: Answered, violate: Violate): void => {
  const [row] = object.state.hasTable("maintenance")
    ? object.state.read<Counted>(
        "SELECT lanes, nonterminal, running, faulted, unfinished FROM maintenance",
      )
    : []
  const told = value as Record<string, number>
  const truth: Record<string, number> = {
    lanes: row?.lanes ?? 0,
    nonterminal: row?.nonterminal ?? 0,
    runningLanes: row?.running ?? 0,
    faultedLanes: row?.faulted ?? 0,
    unfinishedPasses: row?.unfinished ?? 0,
  }
  for (const [key, is] of Object.entries(truth))
    if (told[key] !== is)
      violate(invariant, `${object.name} tells ${key} ${told[key]}, and it is ${is}`) // M2
}

const laneIsTrue = ({ object, value }: Answered, violate: Violate): void => {
  const told = value as {
    readonly threadId: string
    readonly known: boolean
    readonly enrolled?: string
    readonly mustVisit: boolean
  }
  const [row] = object.state.hasTable("lanes")
    ? object.state.read<{ enrolled: string | null; must_visit: number }>(
        "SELECT enrolled, must_visit FROM lanes WHERE thread_id = ?",
        told.threadId,
      )
    : []
  const isTrue =
    told.known === (row !== undefined) &&
    (told.enrolled ?? null) === (row?.enrolled ?? null) &&
    told.mustVisit === (row?.must_visit === 1)
  if (!isTrue) violate(invariant, `${object.name} tells the lane of ${told.threadId} otherwise`) // M2
}

const ownersAnswer = (answered: Answered, violate: Violate): void => {
  if (!answered.isUnchanged) return
  if (answered.tag === "maintenanceStatus") ownerIsTrue(answered, violate)
  if (answered.tag === "laneStatus") laneIsTrue(answered, violate)
}

const registrysAnswer = ({ object, payload, tag }: Answered, violate: Violate): void => {
  if (tag !== "enter") return
  const { ownerId } = payload as { readonly ownerId: string }
  const isThere =
    object.state.hasTable("owners") &&
    object.state.read("SELECT 1 FROM owners WHERE owner_id = ?", ownerId).length > 0
  if (!isThere) violate(invariant, `${ownerId} has entered the registry, and is not there`) // M3
}

const answeredIn = (
  object: SimulatedObject,
  message: WireMessage,
  exit: WireExit,
): Omit<Answered, "isUnchanged"> | undefined =>
  message._tag === "Request" && exit._tag === "Success"
    ? { object, tag: message.tag, payload: message.payload, value: exit.value }
    : undefined

/** Looks at an answer as soon as its object has it. */
export const memoryIsTrue = (
  { exit, isUnchanged, message, server }: Said,
  violate: Violate,
): void => {
  if (!server.holdsStorage) return // M4
  const found = answeredIn(server.object, message, exit)
  if (found === undefined) return
  const answered = { ...found, isUnchanged }
  switch (answered.object.kind) {
    case "owner":
      return ownersAnswer(answered, violate)
    case "registry":
      return registrysAnswer(answered, violate)
    case "thread": {
      const report = reportIn(answered.value)
      if (report !== undefined) reportIsTrue(answered.object, report, violate)
      receiptIsThere(answered, violate)
      return statusIsTrue(answered, violate)
    }
  }
}
