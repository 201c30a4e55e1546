/**
 * `listThreads`: the threads of an owner, by id or by their last activity, narrowed by what a person asks for.
 */
import { Schema } from "effect"
import { Count, Millis, OwnerId, ThreadId } from "./Identifiers.ts"
import { LaneHead } from "./LaneReport.ts"
import { openLiterals } from "./Open.ts"
import { Title } from "./Submission.ts"

/** Every condition, the one that most wants a person first: where several hold, the first is told. */
export const threadConditions = [
  "condemned",
  "faulted",
  "paused",
  "unknown",
  "running",
  "suspended",
  "ready",
  "idle",
] as const

export const ThreadCondition = openLiterals(threadConditions).annotate({
  identifier: "ThreadCondition",
  description:
    "How a thread stands; of several that hold the first is told: `condemned` it is to be forgotten · `faulted` its " +
    "recovery is blocked · `paused` · `unknown` somebody must decide about a call · `running` · `suspended` it waits " +
    "for something outside · `ready` it has work that has not started, or waits for its time · `idle` it owes nothing.",
})
export type ThreadCondition = typeof ThreadCondition.Type

export const ThreadOrder = Schema.Literals(["thread", "activity"]).annotate({
  identifier: "ThreadOrder",
  description:
    "`thread` (default): by thread id. `activity`: by the last activity, the newest first.",
})
export type ThreadOrder = typeof ThreadOrder.Type

/** By thread id it is the id itself; by activity a time and an id. */
export const ThreadCursor = Schema.String.check(Schema.isMaxLength(160)).annotate({
  identifier: "ThreadCursor",
  description: "Where a list of threads goes on: the `next` of the page before, in the same order.",
})

export const ListThreadsFields = {
  ownerId: OwnerId,
  after: Schema.optionalKey(ThreadCursor),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Threads of this page, at most `pageThreads`.",
  }),
  state: Schema.optionalKey(Schema.Literals(threadConditions)).annotateKey({
    description: "Only threads that stand so.",
  }),
  text: Schema.optionalKey(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256)),
  ).annotateKey({
    description:
      "Only threads whose title or id contains it; small and capital letters are the same.",
  }),
  activeAfter: Schema.optionalKey(Millis).annotateKey({
    description: "Only threads whose last activity is later than this, to the minute.",
  }),
  activeBefore: Schema.optionalKey(Millis).annotateKey({
    description: "Only threads whose last activity is earlier than this, to the minute.",
  }),
  order: Schema.optionalKey(ThreadOrder),
}

export const ThreadSummary = Schema.Struct({
  threadId: ThreadId,
  title: Schema.optionalKey(Title),
  state: Schema.optionalKey(ThreadCondition).annotateKey({
    description: "Absent where an older deployment answered.",
  }),
  activeAt: Schema.optionalKey(Millis).annotateKey({
    description: "When its owner last heard of an input, a record or a settlement of it.",
  }),
  nonterminal: Count,
  parked: Count,
  paused: Schema.Boolean,
  tailSequence: Count,
  head: Schema.optionalKey(LaneHead),
}).annotate({ identifier: "ThreadSummary", description: "A row of the list of threads." })
export type ThreadSummary = typeof ThreadSummary.Type

export const ThreadPage = Schema.Struct({
  threads: Schema.Array(ThreadSummary),
  next: Schema.optionalKey(ThreadCursor),
  behind: Schema.optionalKey(Schema.Literal(true)).annotateKey({
    description: "The directory is being built anew: threads may be missing. Ask again later.",
  }),
}).annotate({
  identifier: "ThreadPage",
  description:
    "A page of threads; `next` is the `after` of the next page, absent at the end. A page may be short, or " +
    "empty, and have a `next`: what it passed does not match. No thread is told twice; one that changes meanwhile " +
    "may be passed.",
})
export type ThreadPage = typeof ThreadPage.Type
