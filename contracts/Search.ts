/**
 * `search`: full text over the titles of an owner's threads and, where the deployment says so, over the outcomes of
 * their submissions.
 */
import { Schema } from "effect"
import { Count, Millis, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { Outcome, Title } from "./Submission.ts"

export const SearchCursor = Schema.String.check(Schema.isMaxLength(64)).annotate({
  identifier: "SearchCursor",
  description: "Where a search goes on: the `next` of the page before, of the same query.",
})

export const SearchFields = {
  ownerId: OwnerId,
  query: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(512)).annotateKey({
    description:
      "Words, all of which must occur, in any order; the last one may be the beginning of a word. Words in double " +
      "quotes must occur as they stand. Nothing else has a meaning.",
  }),
  after: Schema.optionalKey(SearchCursor),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Hits of this page, at most `pageHits`.",
  }),
}

export const SearchHit = Schema.Struct({
  threadId: ThreadId,
  submissionId: Schema.optionalKey(SubmissionId).annotateKey({
    description: "Whose outcome it is; absent where the title of the thread was found.",
  }),
  title: Schema.optionalKey(Title).annotateKey({ description: "The present title of the thread." }),
  outcome: Schema.optionalKey(Outcome).annotateKey({
    description: "How the submission ended; only where its outcome was found.",
  }),
  snippet: Schema.String.annotateKey({
    description: "What was found and what stands around it; found words are between `[` and `]`.",
  }),
  at: Schema.optionalKey(Millis).annotateKey({
    description: "When the submission settled; only where its outcome was found.",
  }),
}).annotate({ identifier: "SearchHit", description: "One place where a search found its words." })
export type SearchHit = typeof SearchHit.Type

export const SearchPage = Schema.Struct({
  hits: Schema.Array(SearchHit),
  next: Schema.optionalKey(SearchCursor),
  behind: Schema.optionalKey(Schema.Literal(true)).annotateKey({
    description: "The index is being built, or outcomes are still to be read: hits may be missing.",
  }),
}).annotate({
  identifier: "SearchPage",
  description:
    "Hits, those last taken into the index first; `next` is the `after` of the next page, absent at the end.",
})
export type SearchPage = typeof SearchPage.Type

export const RebuildProjectionsReply = Schema.Struct({
  lanes: Count.annotateKey({ description: "The threads that will be looked at again." }),
}).annotate({
  identifier: "RebuildProjectionsReply",
  description:
    "The directory and the search index are empty now, and are built anew, a batch at a time.",
})
