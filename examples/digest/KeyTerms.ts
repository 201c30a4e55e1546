/**
 * What a document is about: the words and pairs of words that carry it.
 *
 * A term's score is the sum over the sections it occurs in of the logarithm of its weight there, so
 * that a word used throughout beats one repeated in a single list. Headings weigh more than running
 * text, the title most. A pair must occur twice (or head the document), and takes the place of its
 * words where they rarely stand alone.
 */
import { Schema } from "effect"
import type { Root } from "mdast"
import { clip } from "./Clip.ts"
import { passagesOf, wordsOf, type Passage } from "./Prose.ts"
import { stopWords } from "./StopWords.ts"

/** `score` has two decimals and compares terms of one document only; `count` is of occurrences. */
export const KeyTerm = Schema.Struct({
  term: Schema.String,
  count: Schema.Int,
  score: Schema.Number,
})
export type KeyTerm = typeof KeyTerm.Type

interface Tally {
  readonly words: number
  count: number
  readonly weightBySection: Map<number, number>
}

/** Pairs are rarer than words; without this factor none would ever rank. */
const pairFactor = 1.6

/** A word that stands outside of a chosen pair less often than this says nothing beyond it. */
const aloneShareMin = 0.4

/** By heading depth: running text, title, chapter, section, and everything below. */
const headingWeights = [1, 6, 3, 2] as const

const weightOf = (passage: Passage): number => headingWeights[passage.headingDepth] ?? 1.5

/** Whether a word can name a subject: not too common, not a number, not a single Latin letter. */
export const carriesMeaning = (word: string): boolean =>
  word.length <= 40 &&
  /^\p{L}/u.test(word) &&
  (word.length >= 3 || /[^\p{ASCII}]/u.test(word)) &&
  !stopWords.has(word)

/** Folds a plural into its singular where the document uses both. */
const singularIn =
  (vocabulary: ReadonlySet<string>) =>
  (word: string): string => {
    if (word.length < 4 || !word.endsWith("s")) return word
    if (word.endsWith("ies") && vocabulary.has(`${word.slice(0, -3)}y`))
      return `${word.slice(0, -3)}y`
    if (word.endsWith("es") && vocabulary.has(word.slice(0, -2))) return word.slice(0, -2)
    return vocabulary.has(word.slice(0, -1)) ? word.slice(0, -1) : word
  }

type Passages = ReadonlyArray<{
  readonly weight: number
  readonly section: number
  readonly words: ReadonlyArray<string | undefined>
}>

const normalized = (passages: ReadonlyArray<Passage>): Passages => {
  const lower = passages.map((passage) => ({
    weight: weightOf(passage),
    section: passage.section,
    words: wordsOf(passage.text).map((word) => word?.toLowerCase().replace(/['’]s$/, "")),
  }))
  const singular = singularIn(
    new Set(lower.flatMap(({ words }) => words.filter((word) => word !== undefined))),
  )
  return lower.map((passage) => ({
    ...passage,
    words: passage.words.map((word) => (word === undefined ? word : singular(word))),
  }))
}

const tally = (passages: Passages): ReadonlyMap<string, Tally> => {
  const tallies = new Map<string, Tally>()
  const add = (term: string, words: number, section: number, weight: number) => {
    const known = tallies.get(term) ?? { words, count: 0, weightBySection: new Map() }
    known.count += 1
    known.weightBySection.set(section, (known.weightBySection.get(section) ?? 0) + weight)
    tallies.set(term, known)
  }
  for (const { words, section, weight } of passages) {
    let before: string | undefined
    for (const word of words) {
      // A stop word or punctuation ends a pair: "state of the art" has none.
      const carried = word !== undefined && carriesMeaning(word) ? word : undefined
      if (carried !== undefined) {
        add(carried, 1, section, weight)
        if (before !== undefined && before !== carried)
          add(`${before} ${carried}`, 2, section, weight)
      }
      before = carried
    }
  }
  return tallies
}

const score = (one: Tally): number => {
  let sum = 0
  for (const weight of one.weightBySection.values()) sum += Math.log2(1 + weight)
  return sum * (one.words === 2 ? pairFactor : 1)
}

/** The best terms of a document, best first, at most `termsMax`; ties in alphabetical order. */
export const keyTermsOf = (tree: Root, termsMax: number): ReadonlyArray<KeyTerm> => {
  const tallies = tally(normalized(passagesOf(tree)))
  const ranked = [...tallies]
    .filter(
      ([, one]) =>
        one.words === 1 || one.count > 1 || Math.max(...one.weightBySection.values()) >= 6,
    )
    .map(([term, one]) => ({ term, words: one.words, count: one.count, score: score(one) }))
    .sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1))
  const chosen: Array<KeyTerm> = []
  const inPairs = new Map<string, number>()
  for (const candidate of ranked) {
    if (chosen.length === termsMax) break
    if (candidate.words === 1) {
      const alone = candidate.count - (inPairs.get(candidate.term) ?? 0)
      if (alone < candidate.count * aloneShareMin) continue
    } else {
      for (const word of candidate.term.split(" ")) {
        inPairs.set(word, (inPairs.get(word) ?? 0) + candidate.count)
      }
    }
    chosen.push({
      term: clip(candidate.term, 80),
      count: candidate.count,
      score: Math.round(candidate.score * 100) / 100,
    })
  }
  return chosen
}
