/**
 * Names and ids. All are branded strings, so that two of them cannot be swapped unnoticed.
 *
 * Users choose `OwnerId`, `ThreadId`, `AgentId`, `IdempotencyKey` and the names inside a run. The
 * system makes `SubmissionId` and `AttemptId` (UUIDv7 text, sortable by time). Everything else is a
 * pure function of what it names, so that the same fact can never get two ids.
 */
import { Schema } from "effect"

const identifier = (maximum: number) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^[A-Za-z0-9._:-]{1,${maximum}}$`, "u")))

export const OwnerId = identifier(128)
  .pipe(Schema.brand("OwnerId"))
  .annotate({
    identifier: "OwnerId",
    description:
      "One tenant: 1–128 characters out of `A-Z a-z 0-9 . _ : -`. It is the owner object's " +
      "name.",
  })
export type OwnerId = typeof OwnerId.Type

export const ThreadId = identifier(128)
  .pipe(Schema.brand("ThreadId"))
  .annotate({
    identifier: "ThreadId",
    description:
      "One conversation, order or document of an owner: 1–128 characters out of `A-Z a-z " +
      "0-9 . _ : -`.",
  })
export type ThreadId = typeof ThreadId.Type

export const AgentId = identifier(64).pipe(Schema.brand("AgentId")).annotate({
  identifier: "AgentId",
  description: "The registered name of an agent: 1–64 characters out of `A-Z a-z 0-9 . _ : -`.",
})
export type AgentId = typeof AgentId.Type

const uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u),
)

export const SubmissionId = uuid.pipe(Schema.brand("SubmissionId")).annotate({
  identifier: "SubmissionId",
  description: "One accepted input. UUIDv7 text, made by the thread at admission.",
})
export type SubmissionId = typeof SubmissionId.Type

export const AttemptId = uuid.pipe(Schema.brand("AttemptId")).annotate({
  identifier: "AttemptId",
  description: "One ownership period of a run. UUIDv7 text, made by the thread at the claim.",
})
export type AttemptId = typeof AttemptId.Type

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u),
)
  .pipe(Schema.brand("IdempotencyKey"))
  .annotate({
    identifier: "IdempotencyKey",
    description:
      "The caller's name for one intent: 1–256 printable characters. Scoped by thread and " +
      "principal.",
  })
export type IdempotencyKey = typeof IdempotencyKey.Type

/** Who calls, as an edge has verified it: 1–256 printable characters. Never taken from a payload. */
export const Principal = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u),
).pipe(Schema.brand("Principal"))
export type Principal = typeof Principal.Type

/** The name of a step, tool call or wait, unique in its run: 1–128 printable characters. */
export const StepName = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,128}$/u),
).pipe(Schema.brand("StepName"))
export type StepName = typeof StepName.Type

export const RecordId = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/u))
  .pipe(Schema.brand("RecordId"))
  .annotate({
    identifier: "RecordId",
    description:
      "One record of a thread: 32 hexadecimal digits, a hash of (submission, name, part).",
  })
export type RecordId = typeof RecordId.Type

export const MessageId = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/u))
  .pipe(Schema.brand("MessageId"))
  .annotate({
    identifier: "MessageId",
    description:
      "One message, or child, of a run: 32 hexadecimal digits, a hash of (submission, name).",
  })
export type MessageId = typeof MessageId.Type

export const Generation = Schema.String.check(Schema.isPattern(/^\d{15}-\d{10}$/u))
  .pipe(Schema.brand("Generation"))
  .annotate({
    identifier: "Generation",
    description:
      "The owner's mark of one mutation: `iiiiiiiiiiiiiii-cccccccccc`, incarnation then " +
      "counter, both of fixed width, so that generations compare as text and stay ordered " +
      "across incarnations.",
  })
export type Generation = typeof Generation.Type

/** Builds a generation. `incarnation` and `counter` are non-negative integers. */
export const makeGeneration = (mark: { incarnation: number; counter: number }): Generation =>
  `${String(mark.incarnation).padStart(15, "0")}-${String(mark.counter).padStart(10, "0")}` as Generation

/** The incarnation inside a generation. */
export const incarnationOf = (generation: Generation): number => Number(generation.slice(0, 15))

/** The last millisecond whose thousandths are exact in a double: in June 2255. */
export const millisMax = 9_007_199_254_740

/** Epoch milliseconds, an integer up to `millisMax`. Fields of this schema end in `At`. */
export const Millis = Schema.Int.check(
  Schema.isGreaterThanOrEqualTo(0),
  Schema.isLessThanOrEqualTo(millisMax),
)

/** A duration or count that cannot be negative. Fields that are durations end in `Millis`. */
export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The name of a thread's Durable Object. Neither id contains a slash, so the pair is recoverable. */
export const threadObjectName = (ownerId: OwnerId, threadId: ThreadId): string =>
  `${ownerId}/${threadId}`
