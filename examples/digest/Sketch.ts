/**
 * A sketch of a text: enough to tell how alike two revisions are without keeping either.
 *
 * Three-word shingles are hashed and the smallest hashes kept (bottom-k). Of two sketches, the
 * smallest hashes of their union are a fair sample of all shingles, and the share of them that both
 * hold estimates how much the texts share. Exact while both have at most `sketchSize` shingles.
 */
import { Schema } from "effect"
import type { Root } from "mdast"
import { passagesOf, wordsOf } from "./Prose.ts"

/** Distinct hashes in ascending order. */
export const Sketch = Schema.Array(Schema.Int)
export type Sketch = typeof Sketch.Type

/** 256 hashes are about 2.7 KB of JSON, and estimate within 0.06 most of the time. */
const sketchSize = 256
const shingleWords = 3

/** FNV-1a with a final mix, as an unsigned 32-bit number. */
const hash = (text: string): number => {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193)
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return (state ^ (state >>> 16)) >>> 0
}

const smallest = (hashes: Iterable<number>): ReadonlyArray<number> =>
  [...new Set(hashes)].sort((a, b) => a - b).slice(0, sketchSize)

/** The sketch of a list of words. Fewer than three words make one shingle; none make none. */
export const sketchWords = (words: ReadonlyArray<string>): Sketch => {
  const shingles: Array<number> = []
  for (let start = 0; start === 0 || start + shingleWords <= words.length; start += 1) {
    const shingle = words.slice(start, start + shingleWords)
    if (shingle.length > 0) shingles.push(hash(shingle.join(" ")))
  }
  return smallest(shingles)
}

/** The sketch of a document's running text. */
export const sketchOf = (tree: Root): Sketch =>
  sketchWords(
    passagesOf(tree)
      .flatMap((passage) => wordsOf(passage.text))
      .filter((word) => word !== undefined)
      .map((word) => word.toLowerCase()),
  )

/** Between 0 (nothing shared) and 1 (the same), three decimals. Two empty texts are the same. */
export const similarity = (one: Sketch, other: Sketch): number => {
  const sample = smallest([...one, ...other])
  if (sample.length === 0) return 1
  const ones = new Set(one)
  const others = new Set(other)
  const shared = sample.filter((value) => ones.has(value) && others.has(value)).length
  return Math.round((shared / sample.length) * 1_000) / 1_000
}
