/**
 * What a thread remembers of its document, and what a new revision changed.
 *
 * The memory is small and of bounded size: headings, link targets, counts, and a sketch of the text
 * instead of the text. Pure, so that the thread may apply `nextRevision` in the block that records it.
 */
import { Option, Schema } from "effect"
import { Sketch, similarity } from "./Sketch.ts"

/** One revision as the thread keeps it. */
export const Snapshot = Schema.Struct({
  headings: Schema.Array(Schema.String),
  links: Schema.Array(Schema.String),
  words: Schema.Int,
  sketch: Sketch,
})
export type Snapshot = typeof Snapshot.Type

/** How a revision stands to the one before it. `number` counts the thread's revisions from 1. */
export const Revision = Schema.Union([
  Schema.TaggedStruct("First", { number: Schema.Int }),
  Schema.TaggedStruct("Changed", {
    number: Schema.Int,
    addedHeadings: Schema.Array(Schema.String),
    removedHeadings: Schema.Array(Schema.String),
    addedLinks: Schema.Array(Schema.String),
    removedLinks: Schema.Array(Schema.String),
    /** Negative if it got shorter. */
    wordsDelta: Schema.Int,
    /** 1 for the same text, 0 for nothing in common. */
    similarity: Schema.Number,
  }),
])
export type Revision = typeof Revision.Type

/** The thread's state: the newest revision, and what it changed. */
export const DocumentState = Schema.Struct({ revision: Revision, snapshot: Snapshot })
export type DocumentState = typeof DocumentState.Type

/** What `after` has more often than `before`, in the order of `after`: a heading may stand twice. */
export const added = (
  before: ReadonlyArray<string>,
  after: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const left = new Map<string, number>()
  for (const text of before) left.set(text, (left.get(text) ?? 0) + 1)
  return after.filter((text) => {
    const count = left.get(text) ?? 0
    if (count > 0) left.set(text, count - 1)
    return count === 0
  })
}

/** The state after one more revision. */
export const nextRevision = (
  state: Option.Option<DocumentState>,
  snapshot: Snapshot,
): DocumentState => {
  if (Option.isNone(state)) return { revision: { _tag: "First", number: 1 }, snapshot }
  const { revision, snapshot: last } = state.value
  return {
    revision: {
      _tag: "Changed",
      number: revision.number + 1,
      addedHeadings: added(last.headings, snapshot.headings),
      removedHeadings: added(snapshot.headings, last.headings),
      addedLinks: added(last.links, snapshot.links),
      removedLinks: added(snapshot.links, last.links),
      wordsDelta: snapshot.words - last.words,
      similarity: similarity(last.sketch, snapshot.sketch),
    },
    snapshot,
  }
}
