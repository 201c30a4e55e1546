/**
 * Keeps a list of threads as their owner tells their lanes.
 *
 * - K1 Rows that are here change as their lanes do; lanes that are not here are counted, up to a bound.
 * - K2 What was not told, since the stream did not stand or the reader was too slow, is read again.
 */
import { type Signal, signal } from "@preact/signals"
import { useEffect, useMemo, useRef } from "preact/hooks"
import type { LaneStatus, ThreadSummary, WatchFrame } from "../../client/sdk/index.ts"
import { toldOf } from "../lib/ThreadRow.ts"
import { heddle } from "./Deployment.ts"
import { type Live, startLive } from "./Live.ts"
import { present } from "./Now.ts"
import { ownerNews } from "./OwnerNews.ts"
import { paced } from "./Paced.ts"
import type { PagedList } from "./Pages.ts"

export const elsewhereMax = 1_000

/** What comes within a moment is one change of the list. */
const momentMillis = 250
const refreshMillis = 6_000

export interface ListOfThreads {
  readonly rows: ReadonlyArray<ThreadSummary>
  readonly change: PagedList<ThreadSummary>["change"]
  readonly refresh: () => Promise<void>
}

export interface Lanes {
  readonly live: Live
  /** The threads that changed and are not in the list, as many as are kept apart. */
  readonly elsewhere: Signal<ReadonlySet<string>>
}

/** Watches them until the stream is stopped. `list` gives the list as it is by then. */
export const watchLanes = (ownerId: string, list: () => ListOfThreads): Lanes => {
  const elsewhere = signal<ReadonlySet<string>>(new Set())
  let waiting = new Map<string, LaneStatus>()
  const flush = () => {
    const all = waiting
    waiting = new Map()
    const { change, rows } = list()
    const at = present()
    change((row) => {
      const lane = all.get(row.threadId)
      return lane === undefined ? row : toldOf(row, lane, at)
    })
    const here = new Set(rows.map(({ threadId }) => threadId))
    const others = [...all.keys()].filter((threadId) => !here.has(threadId))
    if (others.length === 0) return
    elsewhere.value = new Set([...elsewhere.value, ...others].slice(0, elsewhereMax)) // K1
  }
  const refresh = paced(refreshMillis, () => {
    elsewhere.value = new Set()
    return list().refresh()
  })
  const live = startLive<WatchFrame>({
    open: (leaving) => heddle.watch({ ownerId }, { signal: leaving }),
    take: (frame) => {
      if (frame._tag === "Gap") refresh() // K2
      if (frame._tag !== "Lane") return
      if (waiting.size === 0) setTimeout(flush, momentMillis)
      waiting.set(frame.lane.threadId, frame.lane)
    },
    regained: refresh, // K2
    anyNews: ownerNews(ownerId),
  })
  return { live, elsewhere }
}

export const useLanes = (ownerId: string, list: PagedList<ThreadSummary>) => {
  const latest = useRef(list)
  latest.current = list
  const { elsewhere, live } = useMemo(() => watchLanes(ownerId, () => latest.current), [ownerId])
  useEffect(() => live.stop, [live])
  // A list that is begun anew is another one: what changed before is in it.
  useEffect(() => void (elsewhere.value = new Set()), [elsewhere, list.change])
  return { live, elsewhere: elsewhere.value.size }
}
