/**
 * Threads that come to be while a run goes on, in their order: those of children. A plan knows them by their places in it,
 * which come after all that it has itself.
 *
 * - B1 Who waits for one that never comes to be waits for good: nothing happens then.
 * - B2 What is done to one is done in a turn of its own, never in the block that made it.
 */
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { ObjectKind } from "./Incarnation.ts"
import type { Address } from "./Plan.ts"
import type { Queue, Runner } from "./Queue.ts"
import { firstChild, nameAt } from "./Strikes.ts"

export interface Births {
  /** Their names, with their owners. */
  readonly names: ReadonlyArray<string>
  readonly comes: (name: string) => void
  /** Does something once there are more than `nth`; at once where there are. */
  readonly whenThere: (nth: number, then: () => void) => void
}

export const makeBirths = (): Births => {
  const names: Array<string> = []
  const waiting = new Map<number, Array<() => void>>()
  return {
    names,
    comes: (name) => {
      const nth = names.push(name) - 1
      const all = waiting.get(nth) ?? []
      waiting.delete(nth)
      for (const then of all) then()
    },
    whenThere: (nth, then) => {
      if (nth < names.length) return then()
      waiting.set(nth, [...(waiting.get(nth) ?? []), then]) // B1
    },
  }
}

/** What has places: a plan's threads, and those that come to be. */
interface Placed {
  readonly plan: {
    readonly owners: ReadonlyArray<string>
    readonly threads: ReadonlyArray<Address>
  }
  readonly births: Pick<Births, "names">
}

const addressOf = (name: string): Address => {
  const [ownerId, threadId] = name.split("/") as [OwnerId, ThreadId]
  return { ownerId, threadId }
}

/** The thread at a place among the threads; none where it has not come to be. */
export const threadAt = ({ births, plan }: Placed, place: number): Address | undefined => {
  const name = births.names[place - plan.threads.length]
  return plan.threads[place] ?? (name === undefined ? undefined : addressOf(name))
}

/** Every thread there is: those of the plan first, then those that children have. */
export const threadsOf = ({ births, plan }: Placed): ReadonlyArray<Address> => [
  ...plan.threads,
  ...births.names.map(addressOf),
]

/** Tells of each object that comes to be, if it is the thread of a child. */
export const tellingOf = ({ births, plan }: Pick<Placed, "plan"> & { readonly births: Births }) => {
  const planned = new Set(plan.threads.map(({ ownerId, threadId }) => `${ownerId}/${threadId}`))
  return ({ kind, name }: { readonly kind: ObjectKind; readonly name: string }): void => {
    if (kind === "thread" && !planned.has(name)) births.comes(name)
  }
}

/** The place of a thread among the threads; -1 where it has none. */
export const placeOf = ({ births, plan }: Placed, name: string): number => {
  const place = plan.threads.findIndex((one) => `${one.ownerId}/${one.threadId}` === name)
  const nth = place < 0 ? births.names.indexOf(name) : -1
  return nth < 0 ? place : plan.threads.length + nth
}

/** The name of the object at a place among all objects; in words where it has not come to be. */
export const objectNameAt = ({ births, plan }: Placed, place: number): string =>
  births.names[place - firstChild(plan)] ?? nameAt(plan, place)

/** Does something at once, or to a child so long after that is there. // B2 */
export const onceThere = (
  { births, queue }: { readonly births: Births; readonly queue: Queue },
  {
    lateMillis,
    nth,
    runner,
  }: {
    readonly nth: number
    readonly lateMillis: number | undefined
    readonly runner: Runner | undefined
  },
  then: () => void,
): void => {
  if (nth < 0) return then()
  births.whenThere(nth, () => {
    queue.at(queue.now() + (lateMillis ?? 0), runner, `to child ${nth}`, then) // B2
  })
}
