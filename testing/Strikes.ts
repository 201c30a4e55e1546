/**
 * Strikes: faults with a place instead of a time. What happens when something comes by there for the nth time:
 * a failpoint of an object, a request on its way to one, an alarm that is due, or a statement of a block.
 *
 * They tell a coincidence exactly, where a time could only hope for it.
 *
 * - K1 Counting draws nothing: a plan without strikes is the same run as before there were any.
 */
import { registryName } from "../contracts/RegistryRpc.ts"
import type { BlockStatement } from "./DurableState.ts"
import type { FaultKind } from "./Faults.ts"
import type { Random } from "./Random.ts"

/** What an object does at a failpoint. `waits`: its fiber goes on so much later. */
export type PointDoes =
  | { readonly _tag: "Crashes" }
  /** It dies with others: a machine that fails takes all that it runs. */
  | { readonly _tag: "CrashesWith"; readonly others: ReadonlyArray<number> }
  | { readonly _tag: "IsReplaced" }
  | { readonly _tag: "Waits"; readonly millis: number }

/** What becomes of a request. `Replayed`: it lands, and once more so much later. */
export type RequestDoes =
  | { readonly _tag: "Lost" | "ReplyLost" }
  | { readonly _tag: "Late" | "ReplyLate" | "Replayed"; readonly millis: number }

/** What becomes of an alarm that is due. One that is lost never rings, and nobody hears of it. */
export type AlarmDoes =
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Late"; readonly millis: number }

/** What becomes of a statement of a block. Where there is no room, there is none for so much longer, too. */
export type StatementDoes =
  | { readonly _tag: "Errs" }
  | { readonly _tag: "HasNoRoom"; readonly millis: number }

/**
 * `object` is a place in the list of objects: owners first, then threads, then the registry, then children's.
 * `nth` counts from 1: of statements the blocks that come so far.
 */
export type Strike = { readonly object: number; readonly nth: number } & (
  | { readonly _tag: "AtPoint"; readonly point: string; readonly does: PointDoes }
  | { readonly _tag: "OfRequest"; readonly tag: string; readonly does: RequestDoes }
  | { readonly _tag: "OfAlarm"; readonly does: AlarmDoes }
  | {
      readonly _tag: "OfStatement"
      readonly statement: number | "commit"
      readonly does: StatementDoes
    }
)

export interface Strikes {
  readonly atPoint: (name: string, point: string) => PointDoes | undefined
  readonly ofRequest: (name: string, tag: string) => RequestDoes | undefined
  readonly ofAlarm: (name: string) => AlarmDoes | undefined
  readonly ofStatement: (name: string, statement: BlockStatement) => StatementDoes | undefined
  /** Whether any is of statements. */
  readonly areOfStatements: boolean
}

/** The objects of a plan, and what it has in store for them. */
interface Places {
  readonly owners: ReadonlyArray<string>
  readonly threads: ReadonlyArray<{ readonly ownerId: string; readonly threadId: string }>
  readonly strikes?: ReadonlyArray<Strike>
}

/** The first place of a child's thread among the objects: after the registry's. */
export const firstChild = ({ owners, threads }: Pick<Places, "owners" | "threads">): number =>
  owners.length + threads.length + 1

/** The name of the object at a place; in words where it comes to be only in the run. */
export const nameAt = ({ owners, threads }: Places, place: number): string => {
  const owner = owners[place]
  if (owner !== undefined) return owner
  if (place === owners.length + threads.length) return registryName
  const thread = threads[place - owners.length]
  return thread === undefined
    ? `the thread of child ${place - firstChild({ owners, threads })}`
    : `${thread.ownerId}/${thread.threadId}`
}

/** Now and then a platform loses an alarm of an owner: nothing rings until somebody comes. */
export const withLostAlarms = <P extends Places>(random: Random, plan: P): P => {
  if (!random.chance(0.25)) return plan
  const lost: Strike = {
    _tag: "OfAlarm",
    object: random.below(plan.owners.length),
    nth: random.pick([1, 1, 2, 3, 8]),
    does: { _tag: "Lost" },
  }
  return { ...plan, strikes: [...(plan.strikes ?? []), lost] }
}

/** The fault that a strike counts as. */
const kindOf = (strike: Strike): FaultKind => {
  switch (strike._tag) {
    case "OfAlarm":
      return strike.does._tag === "Lost" ? "alarm lost" : "alarm late"
    case "AtPoint":
      return pointKinds[strike.does._tag]
    case "OfRequest":
      return requestKinds[strike.does._tag]
    case "OfStatement":
      return strike.does._tag === "Errs" ? "statement fails" : "no room in a block"
  }
}

const pointKinds = {
  Crashes: "crash at a failpoint",
  CrashesWith: "crash of several",
  IsReplaced: "replaced, the old one runs on",
  Waits: "object slow",
} as const

const requestKinds = {
  Lost: "request lost",
  ReplyLost: "reply lost",
  Late: "request late",
  ReplyLate: "reply late",
  Replayed: "request replayed",
} as const

interface Counted {
  readonly strike: Strike
  left: number
}

/** A statement of a block in words. */
export const statementWords = (statement: number | "commit"): string =>
  statement === "commit" ? "the commit of a block" : `statement ${statement} of a block`

/** Where it strikes, as those read it who look for what went wrong. */
const whereOf = (name: string, strike: Strike): string => {
  if (strike._tag === "AtPoint") return `${name} at ${strike.point}`
  if (strike._tag === "OfStatement") return `${name} at ${statementWords(strike.statement)}`
  return strike._tag === "OfRequest" ? `${strike.tag} to ${name}` : name
}

/** `planned` notes a fault, and says whether this run has it; `nameOf` gives the name of the object at a place. */
export const makeStrikes = (
  strikes: ReadonlyArray<Strike>,
  nameOf: (place: number) => string,
  planned: (kind: FaultKind, where: string) => boolean,
): Strikes => {
  const all = strikes.map((strike): Counted => ({ strike, left: strike.nth }))
  /** The strike whose turn has come, of those that are meant for this object. */
  const of = (name: string, isMeant: (strike: Strike) => boolean): Strike | undefined => {
    let found: Strike | undefined
    for (const one of all) {
      const { strike } = one
      if (!isMeant(strike) || nameOf(strike.object) !== name || --one.left !== 0) continue // K1
      if (planned(kindOf(strike), whereOf(name, strike))) found ??= strike
    }
    return found
  }
  return {
    atPoint: (name, point) => {
      const strike = of(name, (one) => one._tag === "AtPoint" && one.point === point)
      return strike?._tag === "AtPoint" ? strike.does : undefined
    },
    ofRequest: (name, tag) => {
      const strike = of(name, (one) => one._tag === "OfRequest" && one.tag === tag)
      return strike?._tag === "OfRequest" ? strike.does : undefined
    },
    ofStatement: (name, { does, nth }) => {
      const at = does === "commits" ? "commit" : nth
      const strike = of(name, (one) => one._tag === "OfStatement" && one.statement === at)
      return strike?._tag === "OfStatement" ? strike.does : undefined
    },
    areOfStatements: all.some(({ strike }) => strike._tag === "OfStatement"),
    ofAlarm: (name) => {
      const strike = of(name, (one) => one._tag === "OfAlarm")
      return strike?._tag === "OfAlarm" ? strike.does : undefined
    },
  }
}
