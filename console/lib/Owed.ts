/** What an owner owes, counted by what is in the way. Pure. */
import type { Obligation } from "../../client/sdk/index.ts"
import { isHuman } from "./Condition.ts"

export interface OwedKind {
  readonly blocker: string
  readonly count: number
  /** Since when the oldest of them waits. */
  readonly oldestAt: number
  readonly overdue: number
}

export interface Owed {
  /** Those that somebody can end first, then the most frequent. */
  readonly kinds: ReadonlyArray<OwedKind>
  readonly count: number
  /** Whether every lane was looked at; the numbers are "at least" otherwise. */
  readonly isComplete: boolean
}

const added = (kind: OwedKind | undefined, one: Obligation): OwedKind => ({
  blocker: one.blocker,
  count: (kind?.count ?? 0) + 1,
  oldestAt: Math.min(kind?.oldestAt ?? one.sinceAt, one.sinceAt),
  overdue: (kind?.overdue ?? 0) + (one.severity === "overdue" ? 1 : 0),
})

/** Counts a page, beside those that were counted before. */
export const owedOf = (
  page: ReadonlyArray<Obligation>,
  isComplete: boolean,
  before?: Owed,
): Owed => {
  const kinds = new Map((before?.kinds ?? []).map((kind) => [kind.blocker, kind]))
  for (const one of page) kinds.set(one.blocker, added(kinds.get(one.blocker), one))
  return {
    kinds: [...kinds.values()].toSorted(
      (a, b) => Number(isHuman(b.blocker)) - Number(isHuman(a.blocker)) || b.count - a.count,
    ),
    count: (before?.count ?? 0) + page.length,
    isComplete,
  }
}
