/**
 * What runs have said to each other, and what became of it: the outside world's log of messages, children and taken
 * inputs, by which they are judged. Nothing here reads what the objects have recorded.
 *
 * - K1 A *mark* names one message or child: the run that asks for it, and its name for it there. Whoever works on it
 *   finds the mark in its input.
 * - K2 What is told counts from where it left its object; whose child a run is counts at once.
 */
import type { CallbackToken } from "../contracts/Callback.ts"

/** A message or a child, as its sender has asked for it. */
export interface Asked {
  readonly mark: string
  readonly kind: "message" | "child" | "detached"
  /** The run that asks, and its name for it. */
  readonly submissionId: string
  readonly name: string
  /** Names of threads, with their owners. Where a child works nobody knows before it does. */
  readonly from: string
  readonly to: string | undefined
  readonly isDeferred: boolean
  readonly joins: boolean
  /** The time to which its sender has asked to have it deferred. */
  readonly deferredTo?: number
  /** Places in the log: of the first time that somebody was about to ask, and that somebody was told it was done. */
  readonly askedAt: number
  toldAt: number
  /** The message's id as its sender was told. */
  id: string | undefined
}

/** A run that works on what it was sent. */
export interface Entered {
  readonly submissionId: string
  readonly thread: string
  readonly order: number
}

export interface Talk {
  readonly asked: ReadonlyMap<string, Asked>
  /** By mark, who has worked on it, each run once. */
  readonly entered: ReadonlyMap<string, ReadonlyArray<Entered>>
  /** By the id of a submission, the runs that it has joined. */
  readonly taken: ReadonlyMap<string, ReadonlySet<string>>
  /** By the id of a submission, what it works on, if somebody has sent it. // K2 */
  readonly works: ReadonlyMap<string, { readonly mark: string; readonly thread: string }>
  /** By the id of a run, its children that have begun and are waited for. */
  readonly children: ReadonlyMap<string, ReadonlyArray<Entered>>
  /** Messages that were seen parked, by their ids. */
  readonly parked: Set<string>
  /** By mark, the tokens that were given away for a wait. */
  readonly tokens: ReadonlyMap<string, ReadonlySet<CallbackToken>>
  readonly ask: (asked: Omit<Asked, "askedAt" | "toldAt" | "id">) => void
  readonly told: (mark: string, id: string) => void
  /** A run begins, and is one that was sent. */
  readonly begins: (mark: string, submissionId: string, thread: string) => void
  /** It has left its object. */
  readonly enters: (mark: string, submissionId: string, thread: string) => void
  readonly takes: (host: string, submissionId: string) => void
  /** A run gives somebody outside a token for one of its waits. */
  readonly gives: (mark: string, token: CallbackToken) => void
}

/** The mark of what a run sends under a name. // K1 */
export const markOf = (submissionId: string, name: string): string => `${submissionId} ${name}`

/** What a run that was sent gives as its output: by this its sender knows whose it is. */
export const outputOf = (mark: string): number => {
  let sum = 7
  for (let index = 0; index < mark.length; index++)
    sum = (Math.imul(sum, 31) + mark.charCodeAt(index)) | 0
  return sum
}

export const makeTalk = (): Talk => {
  const asked = new Map<string, Asked>()
  const entered = new Map<string, Array<Entered>>()
  const taken = new Map<string, Set<string>>()
  const works = new Map<string, { mark: string; thread: string }>()
  const children = new Map<string, Array<Entered>>()
  const tokens = new Map<string, Set<CallbackToken>>()
  let order = 0
  return {
    tokens,
    asked,
    entered,
    taken,
    works,
    children,
    parked: new Set(),
    ask: (one) => {
      if (!asked.has(one.mark))
        asked.set(one.mark, { ...one, askedAt: order++, toldAt: Infinity, id: undefined })
    },
    told: (mark, id) => {
      const one = asked.get(mark)
      if (one === undefined) return
      one.toldAt = Math.min(one.toldAt, order++)
      one.id = id
    },
    begins: (mark, submissionId, thread) => {
      if (works.has(submissionId)) return
      works.set(submissionId, { mark, thread })
      const by = asked.get(mark)
      if (by?.kind !== "child") return
      const all = children.get(by.submissionId) ?? []
      children.set(by.submissionId, all)
      all.push({ submissionId, thread, order: order++ })
    },
    enters: (mark, submissionId, thread) => {
      const all = entered.get(mark) ?? []
      entered.set(mark, all)
      if (!all.some((one) => one.submissionId === submissionId))
        all.push({ submissionId, thread, order: order++ })
    },
    gives: (mark, token) => {
      tokens.set(mark, (tokens.get(mark) ?? new Set()).add(token))
    },
    takes: (host, submissionId) => {
      taken.set(submissionId, (taken.get(submissionId) ?? new Set()).add(host))
    },
  }
}
