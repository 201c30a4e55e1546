/**
 * Coverage: which failpoints were reached and crashed at, which decisions recovery has made, which answers
 * turns have had, and which calls have landed.
 */
import type { WireExit, WireMessage } from "../contracts/transport/Wire.ts"
import type { ObjectKind } from "./Incarnation.ts"

export type Counts = Record<string, number>

export interface Covered {
  readonly points: Counts
  readonly crashes: Counts
  readonly decisions: Counts
  readonly answers: Counts
  readonly calls: Counts
}

export interface Coverage {
  readonly point: (kind: ObjectKind, point: string) => void
  readonly crash: (kind: ObjectKind, point: string) => void
  readonly land: (message: WireMessage) => void
  /** Gives the mistake that an answer tells of, if it tells of one. */
  readonly answer: (message: WireMessage, exit: WireExit) => string | undefined
  readonly covered: Covered
}

export const noCounts = (): Covered => ({
  points: {},
  crashes: {},
  decisions: {},
  answers: {},
  calls: {},
})

const add = (counts: Counts, name: string, by = 1): void => {
  counts[name] = (counts[name] ?? 0) + by
}

/** Adds what one run has covered to what others have. */
export const addCovered = (all: Covered, one: Covered): void => {
  for (const kind of Object.keys(all) as Array<keyof Covered>)
    for (const [name, count] of Object.entries(one[kind])) add(all[kind], name, count)
}

interface Tagged {
  readonly _tag?: string
  readonly decision?: string
}

export const makeCoverage = (): Coverage => {
  const covered = noCounts()
  return {
    point: (kind, point) => add(covered.points, `${kind} ${point}`),
    crash: (kind, point) => add(covered.crashes, `${kind} ${point}`),
    land: (message) => {
      if (message._tag === "Request") add(covered.calls, message.tag)
    },
    answer: (message, exit) => {
      if (message._tag !== "Request") return undefined
      if (exit._tag === "Failure") {
        const [reason] = exit.cause as ReadonlyArray<{ readonly error?: Tagged }>
        const tag = reason?.error?._tag
        add(covered.answers, `${message.tag} ${tag}`)
        return tag === "InternalDefect" ? `${message.tag} answered with a defect` : undefined
      }
      const { tag } = message
      if (tag !== "recover" && tag !== "processHead") return undefined
      const value = exit.value as { readonly result?: { readonly value?: ReadonlyArray<Tagged> } }
      for (const one of value.result?.value ?? []) {
        if (tag === "recover") add(covered.decisions, one.decision ?? "none")
        else add(covered.answers, `processHead ${one._tag}`)
      }
      return undefined
    },
    covered,
  }
}
