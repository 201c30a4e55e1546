/**
 * An agent that digests Markdown documents: one thread per document, one submission per revision.
 *
 * Its steps are recorded as they end. After a crash the run is entered again, recorded steps answer
 * without running, and the document is parsed again only if a step still has to run. The text itself
 * is in the submission's input and nowhere else: step results and state stay small.
 */
import { Effect, Schema } from "effect"
import { Agent } from "../heddle.ts"
import { Document, DocumentDigest } from "./digest/DocumentDigest.ts"
import { KeyTerm, keyTermsOf } from "./digest/KeyTerms.ts"
import { parse, UnreadableMarkdown } from "./digest/Markdown.ts"
import { Measure, measure, NothingToDigest } from "./digest/Prose.ts"
import { DocumentState, nextRevision } from "./digest/Revisions.ts"
import { Sketch, sketchOf } from "./digest/Sketch.ts"
import { Structure, structureOf } from "./digest/Structure.ts"

export const Digest = Agent.make("digest", {
  input: Document,
  output: DocumentDigest,
  error: Schema.Union([NothingToDigest, UnreadableMarkdown]),
  state: DocumentState,
})

const keyTermsMax = 12

/**
 * Objects share a process: what only computes holds up the calls of all the others, and its records are
 * on disk when it waits for something. So each long step begins with a moment's wait.
 */
const letOthersGoOn = Effect.sleep("1 millis")

export const DigestLive = Digest.handler(
  Effect.fn("Digest")(function* (document, run) {
    // Parsed at most once an attempt, and only when a step asks for it.
    const tree = yield* Effect.cached(parse(document))
    const treeInTurn = Effect.andThen(letOthersGoOn, tree)

    const structure = yield* run.step(
      "structure",
      Structure,
      Effect.map(tree, (root) => structureOf(document.name, root)),
      { error: UnreadableMarkdown },
    )
    yield* run.progress("outlined", {
      title: structure.title,
      headings: structure.headingCount,
      links: structure.linkCount,
    })

    const prose = yield* run.step(
      "prose",
      Measure,
      Effect.flatMap(treeInTurn, requireProse(document)),
      {
        error: Schema.Union([NothingToDigest, UnreadableMarkdown]),
      },
    )
    const keyTerms = yield* run.step(
      "key-terms",
      Schema.Array(KeyTerm),
      Effect.map(treeInTurn, (root) => keyTermsOf(root, keyTermsMax)),
      { error: UnreadableMarkdown },
    )
    yield* run.progress("measured", { words: prose.words, terms: keyTerms.map(({ term }) => term) })

    const sketch = yield* run.step("sketch", Sketch, Effect.map(treeInTurn, sketchOf), {
      error: UnreadableMarkdown,
    })
    const { revision } = yield* run.state.update("revision", (state) =>
      nextRevision(state, {
        headings: structure.outline.map(({ text }) => text),
        links: structure.links.map(({ url }) => url),
        words: prose.words,
        sketch,
      }),
    )
    return { name: document.name, ...structure, ...prose, keyTerms, revision }
  }),
)

const requireProse =
  (document: Document) =>
  (root: Parameters<typeof measure>[0]): Effect.Effect<Measure, NothingToDigest> => {
    const measured = measure(root)
    return measured.words === 0
      ? Effect.fail(new NothingToDigest({ name: document.name }))
      : Effect.succeed(measured)
  }
