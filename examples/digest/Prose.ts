/**
 * What a reader reads: the running text of a document without code, markup and front matter.
 *
 * A passage is one heading, paragraph or table cell. Words are found by the rules of Unicode, so
 * that languages without spaces are counted too.
 */
import { Schema } from "effect"
import type { Nodes, Root } from "mdast"
import { nodes, plainText } from "./Markdown.ts"

/** One piece of text that belongs together. `headingDepth` is 0 for what is no heading. */
export interface Passage {
  readonly headingDepth: number
  /** Counts the headings before it: passages of one section share the number. */
  readonly section: number
  readonly text: string
}

export const Measure = Schema.Struct({
  words: Schema.Int,
  sentences: Schema.Int,
  /** At 230 words a minute, and two seconds for a line of code. */
  readingMillis: Schema.Int,
})
export type Measure = typeof Measure.Type

/** The document holds no word outside of code and markup. Remedy: none; there is nothing to say. */
export class NothingToDigest extends Schema.TaggedError<NothingToDigest>()("NothingToDigest", {
  name: Schema.String,
}) {}

const wordsPerMinute = 230
const millisPerCodeLine = 2_000

const isPassage = (node: Nodes): boolean =>
  node.type === "heading" || node.type === "paragraph" || node.type === "tableCell"

/** The passages of a document in their order. */
export const passagesOf = (tree: Root): ReadonlyArray<Passage> => {
  let section = 0
  return nodes(tree, (node) => !isPassage(node))
    .filter(isPassage)
    .map((node) => {
      const headingDepth = node.type === "heading" ? node.depth : 0
      if (headingDepth > 0) section += 1
      return { headingDepth, section, text: plainText(node) }
    })
    .filter((passage) => passage.text !== "")
}

const wordSegments = new Intl.Segmenter("en", { granularity: "word" })
const sentenceSegments = new Intl.Segmenter("en", { granularity: "sentence" })

/** The words of a text as they stand, with `undefined` wherever punctuation separates two of them. */
export const wordsOf = (text: string): ReadonlyArray<string | undefined> => {
  const words: Array<string | undefined> = []
  for (const { segment, isWordLike } of wordSegments.segment(text)) {
    if (isWordLike === true) words.push(segment)
    else if (segment.trim() !== "") words.push(undefined)
  }
  return words
}

const countWords = (text: string): number =>
  wordsOf(text).reduce((count, word) => (word === undefined ? count : count + 1), 0)

const countSentences = (text: string): number =>
  [...sentenceSegments.segment(text)].filter(({ segment }) => segment.trim() !== "").length

const codeLinesOf = (tree: Root): number =>
  nodes(tree).reduce(
    (lines, node) => (node.type === "code" ? lines + node.value.split("\n").length : lines),
    0,
  )

/** Counts what there is to read. Zero words is an answer here; the caller judges it. */
export const measure = (tree: Root): Measure => {
  const passages = passagesOf(tree)
  const words = passages.reduce((sum, passage) => sum + countWords(passage.text), 0)
  return {
    words,
    sentences: passages
      .filter((passage) => passage.headingDepth === 0)
      .reduce((sum, passage) => sum + countSentences(passage.text), 0),
    readingMillis: Math.round(
      (words / wordsPerMinute) * 60_000 + codeLinesOf(tree) * millisPerCodeLine,
    ),
  }
}
