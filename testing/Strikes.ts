/**
 * Strikes: faults with a place instead of a time. What happens when something comes by there for the nth time:
 * a failpoint of an object, a request on its way to one, or an alarm that is due.
 *
 * They tell a coincidence exactly, where a time could only hope for it.
 *
 * - K1 Counting draws nothing: a plan without strikes is the same run as before there were any.
 */
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

/** `object` is a place in the list of objects: owners first, then threads. `nth` counts from 1. */
export type Strike = { readonly object: number; readonly nth: number } & (
  | { readonly _tag: "AtPoint"; readonly point: string; readonly does: PointDoes }
  | { readonly _tag: "OfRequest"; readonly tag: string; readonly does: RequestDoes }
  | { readonly _tag: "OfAlarm"; readonly does: AlarmDoes }
)

export interface Strikes {
  readonly atPoint: (name: string, point: string) => PointDoes | undefined
  readonly ofRequest: (name: string, tag: string) => RequestDoes | undefined
  readonly ofAlarm: (name: string) => AlarmDoes | undefined
}

/** The objects of a plan, and what it has in store for them. */
interface Places {
  readonly owners: ReadonlyArray<string>
  readonly threads: ReadonlyArray<{ readonly ownerId: string; readonly threadId: string }>
  readonly strikes?: ReadonlyArray<Strike>
}

/** The name of the object at a place. */
export const nameAt = ({ owners, threads }: Places, place: number): string => {
  const owner = owners[place]
  if (owner !== undefined) return owner
  const thread = threads[place - owners.length]
  return `${thread?.ownerId}/${thread?.threadId}`
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
  readonly name: string
  left: number
}

/** Where it strikes, as those read it who look for what went wrong. */
const whereOf = ({ name, strike }: Counted): string => {
  if (strike._tag === "AtPoint") return `${name} at ${strike.point}`
  return strike._tag === "OfRequest" ? `${strike.tag} to ${name}` : name
}

/** `planned` notes a fault, and says whether this run has it. */
export const makeStrikes = (
  plan: Places,
  planned: (kind: FaultKind, where: string) => boolean,
): Strikes => {
  const all = (plan.strikes ?? []).map((strike): Counted => ({
    strike,
    name: nameAt(plan, strike.object),
    left: strike.nth,
  }))
  /** The strike whose turn has come, of those that are meant. */
  const come = (isMeant: (one: Counted) => boolean): Strike | undefined => {
    let found: Strike | undefined
    for (const one of all) {
      if (!isMeant(one) || --one.left !== 0) continue
      if (planned(kindOf(one.strike), whereOf(one))) found ??= one.strike
    }
    return found
  }
  const of = (name: string, isMeant: (strike: Strike) => boolean): Strike | undefined =>
    all.length === 0 ? undefined : come((one) => one.name === name && isMeant(one.strike)) // K1
  return {
    atPoint: (name, point) => {
      const strike = of(name, (one) => one._tag === "AtPoint" && one.point === point)
      return strike?._tag === "AtPoint" ? strike.does : undefined
    },
    ofRequest: (name, tag) => {
      const strike = of(name, (one) => one._tag === "OfRequest" && one.tag === tag)
      return strike?._tag === "OfRequest" ? strike.does : undefined
    },
    ofAlarm: (name) => {
      const strike = of(name, (one) => one._tag === "OfAlarm")
      return strike?._tag === "OfAlarm" ? strike.does : undefined
    },
  }
}
