/**
 * How deep and how large a payload is, found out before anything that calls itself touches it:
 * decoding, encoding and the platform's serializer all do, and give up with the stack.
 *
 * - V1 The work is bounded whatever the value: it goes level by level, and through each object once
 *   per level, also when a value shares its parts or contains itself.
 * - V2 Values are counted as JSON would write them: what stands in two places counts twice.
 * - V3 The lists and objects that it remembers are bounded: with the payload they fit into an isolate of the platform.
 * - V4 So is its text: a binding carries 32 MiB, and what goes on is held by an object that others need.
 */
import { InvalidInput } from "../contracts/Errors.ts"
import type { Limits } from "../contracts/Limits.ts"

/** A body of 4 MiB cannot hold more: each takes a character and a comma. */
const valuesMax = 2 * 1024 * 1024

/**
 * Each takes many times the three bytes that it may have in a body: more of them could end the isolate, and with it the
 * calls of others.
 */
const containersMax = 512 * 1024

/** Characters of a payload besides its inputs: names, keys and titles. */
const envelopeCharacters = 2 * 1024 * 1024

/**
 * A payload is at most three containers around what has the limit for itself: an input (one of several in
 * `submitMany`), or the result of a resolution. The object that stores it looks exactly.
 */
const envelopeNesting = 3

const fault = (reason: string): InvalidInput => new InvalidInput({ path: "", reason })

const notPlain = fault("not a plain JSON value")
const tooMany = fault(`more than ${valuesMax} values`)
const tooManyContainers = fault(`more than ${containersMax} lists and objects`)
const tooLong = (charactersMax: number) => fault(`more than ${charactersMax} characters`)

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The containers of one level, with how often each stands there. */
type Level = Map<object, number>

const note = (level: Level, value: unknown, times: number): void => {
  if (typeof value === "object" && value !== null) {
    level.set(value, (level.get(value) ?? 0) + times) // V1
  }
}

const charactersOf = (value: unknown): number => (typeof value === "string" ? value.length : 0)

const charactersIn = (texts: ReadonlyArray<unknown>): number =>
  texts.reduce<number>((sum, text) => sum + charactersOf(text), 0)

interface Bounds {
  readonly nestingMax: number
  readonly charactersMax: number
}

const walk = (
  payload: unknown,
  { charactersMax, nestingMax }: Bounds,
): InvalidInput | undefined => {
  let values = 1
  let characters = charactersOf(payload)
  let containers = 0
  let level: Level = new Map()
  note(level, payload, 1)
  for (let nesting = 0; level.size > 0; nesting++) {
    if (nesting === nestingMax) return fault(`nested deeper than ${nestingMax - envelopeNesting}`)
    containers += level.size
    const next: Level = new Map()
    for (const [container, times] of level) {
      if (!isPlain(container)) return notPlain
      // An array is as long as it says, also where it has holes.
      values += times * (Array.isArray(container) ? container.length : 0) // V2
      if (values > valuesMax) return tooMany
      const inner: ReadonlyArray<unknown> = Object.values(container)
      const names = Array.isArray(container) ? [] : Object.keys(container)
      values += times * names.length // V2
      if (values > valuesMax) return tooMany
      characters += times * (charactersIn(inner) + charactersIn(names)) // V2
      if (characters > charactersMax) return tooLong(charactersMax) // V4
      for (const value of inner) {
        note(next, value, times)
        if (containers + next.size > containersMax) return tooManyContainers // V3
      }
    }
    level = next
  }
  return characters > charactersMax ? tooLong(charactersMax) : undefined // V4
}

/** Why a payload from outside goes no further; undefined when it may. Pure, total. */
export const shapeFault = (
  payload: unknown,
  { jsonNesting, submissionBytesPerCall }: Pick<Limits, "jsonNesting" | "submissionBytesPerCall">,
): InvalidInput | undefined => {
  try {
    return walk(payload, {
      nestingMax: jsonNesting + envelopeNesting,
      charactersMax: submissionBytesPerCall + envelopeCharacters,
    })
  } catch {
    return notPlain
  }
}
