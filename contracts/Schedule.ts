/**
 * Schedules: inputs that a thread gives itself, by a cron expression of its own, until they are cancelled.
 */
import { Schema } from "effect"
import {
  AdmissionLimitExceeded,
  AgentNotRegistered,
  CommonErrors,
  InvalidInput,
  StorageFull,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { AgentId, Count, Millis, OwnerId, StepName, SubmissionId, ThreadId } from "./Identifiers.ts"
import { Title } from "./Submission.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }

const content = {
  name: StepName.annotateKey({ description: "Its name in the thread: it is cancelled by it." }),
  cron: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(128)).annotateKey({
    description: "Five fields (minute first), or six with seconds.",
  }),
  timeZone: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))).annotateKey({
    description: "An IANA name such as `Europe/Berlin`; UTC without it.",
  }),
  agent: AgentId,
  title: Schema.optionalKey(Title),
}

export const ScheduleFields = {
  ...Address,
  ...content,
  input: Schema.Json.annotateKey({
    description: "What each occurrence is given, as the agent's input schema encodes it.",
  }),
}

export const Schedule = Schema.Struct({
  ...content,
  input: Schema.Json,
  createdAt: Millis,
  nextAt: Schema.optionalKey(Millis).annotateKey({
    description: "The next occurrence; absent when there is none any more.",
  }),
  lastAt: Schema.optionalKey(Millis).annotateKey({
    description: "The last one that was accepted.",
  }),
  lastSubmissionId: Schema.optionalKey(SubmissionId),
  collapsed: Count.annotateKey({
    description:
      "Occurrences that were overdue together with a later one, and had no input of their own. " +
      "Of one long absence at most 128 are counted.",
  }),
  waitsFor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))).annotateKey({
    description:
      "Why an occurrence that is due was not accepted yet: the tag of the refusal. It is tried " +
      "again.",
  }),
}).annotate({ identifier: "Schedule", description: "A schedule of a thread, as it stands." })
export type Schedule = typeof Schedule.Type

/** `InvalidInput`: the expression or the zone means nothing. The same name again replaces it. */
export const ScheduleRefusal = Schema.Union([
  InvalidInput,
  AgentNotRegistered,
  AdmissionLimitExceeded,
  StorageFull,
  ThreadUnreadable,
  Unavailable,
])
export type ScheduleRefusal = typeof ScheduleRefusal.Type

export const ScheduleErrors = Schema.Union([...CommonErrors, ...ScheduleRefusal.members])

export const UnscheduleFields = { ...Address, name: content.name }

export const UnscheduleReply = Schema.Struct({
  removed: Schema.Boolean.annotateKey({ description: "Whether there was one of this name." }),
}).annotate({ identifier: "UnscheduleReply" })
export type UnscheduleReply = typeof UnscheduleReply.Type

export const UnscheduleRefusal = Schema.Union([ThreadUnreadable, Unavailable])
export type UnscheduleRefusal = typeof UnscheduleRefusal.Type
export const UnscheduleErrors = Schema.Union([
  ...CommonErrors,
  ...UnscheduleRefusal.members,
  StorageFull,
])

export const SchedulesFields = {
  ...Address,
  after: Schema.optionalKey(StepName).annotateKey({
    description: "The last name of the page before.",
  }),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Of this page, at most `pageSchedules`.",
  }),
}

export const SchedulePage = Schema.Struct({
  schedules: Schema.Array(Schedule),
  next: Schema.optionalKey(StepName),
}).annotate({
  identifier: "SchedulePage",
  description: "By name; `next` is the `after` of the next page, absent at the end.",
})
export type SchedulePage = typeof SchedulePage.Type
