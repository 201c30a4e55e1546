/**
 * What `npm run simulate` is asked to do: its flags, or a sentence about what is wrong with them.
 *
 * - F1 Nothing is taken for something else: a number that is none, or a flag that means nothing beside the others, is refused. A run of
 *   no seed would look like one that found nothing.
 */
import { UsageError } from "./flags.ts"

export const simulateFlags = {
  seeds: { type: "string" },
  seed: { type: "string" },
  workers: { type: "string" },
  trace: { type: "boolean" },
  controls: { type: "boolean" },
  only: { type: "string" },
  search: { type: "boolean" },
  json: { type: "boolean" },
  hashes: { type: "boolean" },
} as const

/** The flags as they were given. */
export type SimulateFlags = {
  readonly [Name in keyof typeof simulateFlags]?:
    | ((typeof simulateFlags)[Name]["type"] extends "string" ? string : boolean)
    | undefined
}

export interface Range {
  readonly from: number
  readonly to: number
}

export type Asked =
  | { readonly _tag: "One"; readonly seed: number; readonly trace: boolean; readonly json: boolean }
  | {
      readonly _tag: "Seeds"
      readonly seeds: Range
      readonly workers: number
      readonly json: boolean
      readonly hashes: boolean
    }
  | {
      readonly _tag: "Controls"
      readonly only: string | undefined
      readonly search: boolean
      readonly seeds: Range
      readonly workers: number
      readonly json: boolean
    }

const numberOf = (text: string, words: string): number => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new UsageError(words) // F1
  return number
}

const rangeOf = (text: string): Range => {
  const words = "--seeds takes A..B, such as 1..1000"
  const [, from = "", to = ""] = /^(\d+)\.\.(\d+)$/.exec(text) ?? []
  const range = { from: numberOf(from, words), to: numberOf(to, words) }
  if (range.from > range.to) throw new UsageError(words)
  return range
}

const workersOf = (text: string | undefined, cores: number): number => {
  if (text === undefined) return cores
  const words = "--workers takes a number of processes, from 1"
  const workers = numberOf(text, words)
  if (workers === 0) throw new UsageError(words)
  return Math.min(workers, cores)
}

/** What each way to run takes, besides its own flag. */
const takenBy = {
  "--seed": ["seed", "trace", "json"],
  "--controls": ["controls", "only", "search", "seeds", "workers", "json"],
  "--seeds": ["seeds", "workers", "json", "hashes"],
} as const satisfies Record<string, ReadonlyArray<keyof SimulateFlags>>

const refuseOthers = (flags: SimulateFlags, way: keyof typeof takenBy): void => {
  const taken: ReadonlyArray<string> = takenBy[way]
  for (const name of Object.keys(simulateFlags) as Array<keyof SimulateFlags>)
    if (flags[name] !== undefined && !taken.includes(name))
      throw new UsageError(`--${name} means nothing with ${way}`) // F1
}

/** What the flags ask for, on a machine of so many cores. Pure. */
export const askedOf = (flags: SimulateFlags, cores: number): Asked => {
  const json = flags.json === true
  if (flags.seed !== undefined) {
    refuseOthers(flags, "--seed")
    const seed = numberOf(flags.seed, "--seed takes a number, such as 274")
    if (json && flags.trace === true) throw new UsageError("--trace means nothing with --json") // F1
    return { _tag: "One", seed, trace: flags.trace === true, json }
  }
  const workers = workersOf(flags.workers, cores)
  if (flags.controls === true) {
    refuseOthers(flags, "--controls")
    const search = flags.search === true
    if (flags.seeds !== undefined && !search)
      throw new UsageError("--seeds means nothing with --controls but with --search") // F1
    const seeds = rangeOf(flags.seeds ?? "1..3000")
    return { _tag: "Controls", only: flags.only, search, seeds, workers, json }
  }
  refuseOthers(flags, "--seeds")
  const seeds = rangeOf(flags.seeds ?? "1..1000")
  if (flags.hashes === true && !json) throw new UsageError("--hashes means nothing without --json") // F1
  return { _tag: "Seeds", seeds, workers, json, hashes: flags.hashes === true }
}
