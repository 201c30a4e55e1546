/**
 * What the texts in the owner's rows say. A text that does not decode says nothing: it is never the reason
 * why a read, a pass or a start fails. Whoever reads it decides what nothing means there.
 */
import { Schema } from "effect"
import { AgentId, Principal, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import { LaneReport } from "../contracts/LaneReport.ts"
import { MaintenancePassReport } from "../contracts/Maintenance.ts"
import { RecoveryFailure } from "../contracts/Recovery.ts"
import type { Entry } from "./Entry.ts"
import type { HostRow } from "./HostRow.ts"
import type { Marks } from "./Lane.ts"
import type { Projections } from "./Projections.ts"

const optionalNumber = Schema.optionalKey(Schema.Finite)
const optionalTrue = Schema.optionalKey(Schema.Literal(true))

const BindingWait = Schema.Struct({
  submissionId: SubmissionId,
  attempts: Schema.Finite,
  sinceAt: optionalNumber,
  notBefore: Schema.Finite,
  reportedAt: Schema.Finite,
  agentsDigest: Schema.String,
  name: Schema.optionalKey(Schema.String),
  ofTool: optionalTrue,
})

const CarryWait = Schema.Struct({
  failures: Schema.Finite,
  sinceAt: Schema.Finite,
  untilAt: Schema.Finite,
})

const Condemned = Schema.Struct({
  author: Schema.String,
  reason: Schema.String,
  principal: Principal,
  abort: Schema.Boolean,
  sinceAt: Schema.Finite,
  refusals: Schema.Finite,
  retryAt: Schema.Finite,
  unheard: optionalTrue,
})

const isMarks: (value: unknown) => value is Marks = Schema.is(
  Schema.Struct({
    failures: optionalNumber,
    failingSinceAt: optionalNumber,
    unchanged: optionalNumber,
    backoffUntilAt: optionalNumber,
    stalls: optionalNumber,
    stalledSinceAt: optionalNumber,
    stalledUntilAt: optionalNumber,
    binding: Schema.optionalKey(BindingWait),
    watches: optionalNumber,
    watchAt: optionalNumber,
    faultRetryAt: optionalNumber,
    faultTrial: optionalTrue,
    faultVisit: optionalTrue,
    unseen: Schema.optionalKey(Schema.Struct({ visits: Schema.Finite, sinceAt: Schema.Finite })),
    condemned: Schema.optionalKey(Condemned),
    held: optionalTrue,
    heldOf: Schema.optionalKey(AgentId),
    mayRun: Schema.optionalKey(AgentId),
    outbox: Schema.optionalKey(CarryWait),
    publication: Schema.optionalKey(CarryWait),
  }),
)

const isEntry: (value: unknown) => value is Entry = Schema.is(
  Schema.Union([
    Schema.TaggedStruct("None", {}),
    Schema.TaggedStruct("Owed", { tries: Schema.Finite, dueAt: Schema.Finite }),
    Schema.TaggedStruct("Entered", {}),
  ]),
)

const isProjections: (value: unknown) => value is Projections = Schema.is(
  Schema.Struct({
    version: Schema.Finite,
    built: Schema.Finite,
    sweptTo: Schema.optionalKey(Schema.String),
    behind: Schema.Boolean,
  }),
)

const isHostRows: (value: unknown) => value is Readonly<Record<string, HostRow>> = Schema.is(
  Schema.Record(
    Schema.String,
    Schema.Struct({
      nextAt: optionalNumber,
      notBeforeAt: optionalNumber,
      failures: Schema.Finite,
      offences: Schema.Finite,
      stopped: Schema.optionalKey(Schema.String),
    }),
  ),
)

const said =
  <A>(is: (value: unknown) => value is A) =>
  (text: unknown): A | undefined => {
    if (typeof text !== "string") return undefined
    try {
      const value: unknown = JSON.parse(text)
      return is(value) ? value : undefined
    } catch {
      return undefined
    }
  }

/** The few lanes at work are read over and over. Their texts are short, and longer ones would take memory. */
const remembered = { texts: 256, length: 1_024 }

/** Remembers what texts said: a value is never changed, so that all who read its text may share it. */
const remembering = <A>(read: (text: unknown) => A | undefined) => {
  const known = new Map<unknown, A | undefined>()
  return (text: unknown): A | undefined => {
    if (known.has(text)) return known.get(text)
    const value = read(text)
    if (typeof text !== "string" || text.length > remembered.length) return value
    if (known.size >= remembered.texts) known.clear()
    known.set(text, value)
    return value
  }
}

export const reportOf = remembering(said(Schema.is(LaneReport)))
export const marksOf = remembering(said(isMarks))
export const agentCountsOf = said(Schema.is(Schema.Record(Schema.String, Schema.Finite)))
export const entryOf = said(isEntry)
export const projectionsOf = said(isProjections)
export const hostRowsOf = said(isHostRows)
export const passReportOf = said(Schema.is(MaintenancePassReport))
export const threadIdsOf = said(Schema.is(Schema.Array(ThreadId)))
export const recoveryFailureOf = said(Schema.is(RecoveryFailure))
