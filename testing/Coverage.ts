/**
 * Coverage: which failpoints were reached and crashed at, which decisions recovery has made and after which
 * faults, which answers turns have had, and which calls have landed.
 *
 * - C1 A decision counts with every kind of fault that has happened in its run before it.
 * - C2 A crash at a failpoint is answered by the next recovery that reaches the thread, or, of an owner, any of
 *   its threads.
 */
import type { WireExit, WireMessage } from "../contracts/transport/Wire.ts"
import type { ObjectKind, SimulatedObject } from "./Incarnation.ts"

export type Counts = Record<string, number>

export interface Covered {
  readonly points: Counts
  readonly crashes: Counts
  readonly decisions: Counts
  readonly answers: Counts
  readonly calls: Counts
  /** `fault × decision`. // C1 */
  readonly after: Counts
  /** `failpoint × decision`. // C2 */
  readonly recovered: Counts
}

export interface Coverage {
  readonly point: (kind: ObjectKind, point: string) => void
  readonly crash: (object: SimulatedObject, point: string) => void
  readonly land: (message: WireMessage) => void
  /** Gives the mistake that an answer of an object tells of, if it tells of one. */
  readonly answer: (name: string, message: WireMessage, exit: WireExit) => string | undefined
  readonly covered: Covered
}

export const noCounts = (): Covered => ({
  points: {},
  crashes: {},
  decisions: {},
  answers: {},
  calls: {},
  after: {},
  recovered: {},
})

const add = (counts: Counts, name: string, by = 1): void => {
  counts[name] = (counts[name] ?? 0) + by
}

/** Adds what one run has covered to what others have. */
export const addCovered = (all: Covered, one: Covered): void => {
  for (const kind of Object.keys(all) as Array<keyof Covered>)
    for (const [name, count] of Object.entries(one[kind])) add(all[kind], name, count)
}

/** The names that points are counted under, each made once: they are counted hundreds of times in a run. */
const pointNames: Record<ObjectKind, Map<string, string>> = {
  owner: new Map(),
  thread: new Map(),
  registry: new Map(),
}

const pointName = (kind: ObjectKind, point: string): string => {
  const names = pointNames[kind]
  const known = names.get(point)
  if (known !== undefined) return known
  const made = `${kind} ${point}`
  names.set(point, made)
  return made
}

interface Tagged {
  readonly _tag?: string
  readonly decision?: string
}

/** The name of a pair. */
export const pairOf = (one: string, decision: string): string => `${one} × ${decision}`

/** `happened` gives the kinds of faults that there have been so far. */
export const makeCoverage = (happened: () => Iterable<string>): Coverage => {
  const covered = noCounts()
  /** Crashes that no recovery has followed yet, by the object's name. */
  const unanswered = new Map<string, Array<string>>()

  const recovered = (name: string, decisions: ReadonlyArray<string>): void => {
    for (const decision of decisions) {
      add(covered.decisions, decision)
      for (const kind of happened()) add(covered.after, pairOf(kind, decision)) // C1
    }
    if (decisions.length === 0) return
    for (const object of [name, name.slice(0, name.indexOf("/"))]) {
      const points = unanswered.get(object)
      if (points === undefined) continue
      for (const point of points)
        for (const decision of decisions) add(covered.recovered, pairOf(point, decision)) // C2
      unanswered.delete(object)
    }
  }

  return {
    point: (kind, point) => add(covered.points, pointName(kind, point)),
    crash: ({ kind, name }, point) => {
      const told = `${kind} ${point}`
      add(covered.crashes, told)
      const known = unanswered.get(name)
      if (known === undefined) unanswered.set(name, [told])
      else known.push(told)
    },
    land: (message) => {
      if (message._tag === "Request") add(covered.calls, message.tag)
    },
    answer: (name, message, exit) => {
      if (message._tag !== "Request") return undefined
      const { tag } = message
      if (exit._tag === "Failure") {
        const [reason] = exit.cause as ReadonlyArray<{ readonly error?: Tagged }>
        const error = reason?.error?._tag
        add(covered.answers, `${tag} ${error}`)
        return error === "InternalDefect" ? `${tag} answered with a defect` : undefined
      }
      if (tag !== "recover" && tag !== "processHead") return undefined
      const value = exit.value as { readonly result?: { readonly value?: ReadonlyArray<Tagged> } }
      const told = value.result?.value ?? []
      if (tag === "recover")
        recovered(
          name,
          told.map(({ decision }) => decision ?? "none"),
        )
      else for (const one of told) add(covered.answers, `processHead ${one._tag}`)
      return undefined
    },
    covered,
  }
}
