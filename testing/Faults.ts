/**
 * Faults: what may go wrong, how often in this run, and what did.
 *
 * - F1 Every occasion draws, whether or not its fault is let happen: a run without some of its faults is
 *   the same run until the first that is missing. That is what makes a failing seed shorter.
 * - F2 After the world has healed nothing goes wrong any more.
 */
import type { Random } from "./Random.ts"
import type { Trace } from "./Trace.ts"

export const faultKinds = [
  "request lost",
  "reply lost",
  "request late",
  "request doubled",
  "request replayed",
  "reply late",
  "crash at a failpoint",
  "crash",
  "crash of several",
  "eviction",
  "replaced, the old one runs on",
  "start fails",
  "alarm late",
  "alarm lost",
  "storage fails",
  "storage is full",
  "no room in a block",
  "statement fails",
  "flush slow",
  "flush fails",
  "record corrupt",
  "deployment",
  "object slow",
  "client vanishes",
  "client sends twice",
  "owner lost",
  "lane rows deleted",
  "fault rows deleted",
  "list tables lost",
  "policy fails",
] as const
export type FaultKind = (typeof faultKinds)[number]

/** How often each kind happens at an occasion for it; those that are absent never do. */
export type FaultRates = Partial<Readonly<Record<FaultKind, number>>>

export interface Faults {
  /** Whether this fault happens here; `where` tells it to those who read what happened. */
  readonly strike: (kind: FaultKind, where?: () => string) => boolean
  /** Notes a fault that was planned; false if this run goes without it. */
  readonly planned: (kind: FaultKind, where: string) => boolean
  readonly heal: () => void
  readonly isHealed: () => boolean
  /** How often each kind has happened. */
  readonly counts: () => Readonly<Partial<Record<FaultKind, number>>>
  /** Those that have happened, in order: what each was, and when. */
  readonly happened: () => ReadonlyArray<Happened>
}

export interface Happened {
  /** Its place among all that would have happened. */
  readonly index: number
  readonly kind: FaultKind
  /** Of which object, at which failpoint, to which call; empty where there is nothing to tell. */
  readonly where: string
  readonly at: number
}

export interface FaultOptions {
  readonly random: Random
  readonly trace: Trace
  readonly now: () => number
  readonly rates: FaultRates
  /** Those that are left out, by their places. // F1 */
  readonly without: ReadonlySet<number>
}

export const makeFaults = (options: FaultOptions): Faults => {
  const { now, random, rates, trace, without } = options
  const counts: Partial<Record<FaultKind, number>> = {}
  const happened: Array<Happened> = []
  let healed = false
  let next = 0
  const happens = (kind: FaultKind, where: string): boolean => {
    const index = next++
    if (without.has(index)) return false // F1
    counts[kind] = (counts[kind] ?? 0) + 1
    happened.push({ index, kind, where, at: now() })
    trace.note("fault", kind, index)
    return true
  }
  return {
    strike: (kind, where) => {
      if (healed) return false // F2
      const rate = rates[kind]
      if (rate === undefined || !random.chance(rate)) return false
      return happens(kind, where?.() ?? "")
    },
    planned: (kind, where) => !healed && happens(kind, where), // F2
    heal: () => {
      healed = true
    },
    isHealed: () => healed,
    counts: () => counts,
    happened: () => happened,
  }
}
