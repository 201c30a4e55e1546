/**
 * What the page of an owner shows, kept up to date by one stream: the lanes tell that they changed, and what is counted is
 * asked again then, not more often than it can be read.
 *
 * - V1 Nothing is asked while nothing changes, or nobody looks.
 * - V2 What is asked is bounded, however many lanes there are: what was not counted is said to be more.
 * - V3 Each thing that is asked has a failure of its own, which stands until that thing was answered.
 * - V4 What was told while the stream did not stand, or the reader was too slow, is looked for again.
 */
import { signal } from "@preact/signals"
import type {
  LaneStatus,
  MaintenancePassReport,
  MaintenanceStatus,
  RecoveryFault,
  ThreadPage,
  ThreadSummary,
  WatchFrame,
} from "../../client/sdk/index.ts"
import { begin, type Cloth, emptyCloth, weaveLane } from "../lib/Cloth.ts"
import { type Owed, owedOf } from "../lib/Owed.ts"
import { asking, heddle } from "./Deployment.ts"
import { type Live, startLive } from "./Live.ts"
import { present } from "./Now.ts"
import { paced } from "./Paced.ts"
import { onNewToken } from "./Session.ts"

const statusMillis = 1_000
const countsMillis = 6_000
const foundMax = 12
/** How many of the lanes that run are asked for. */
export const runningMax = 50
const owedPagesMax = 8

/** The conditions whose lanes the cloth begins with: all but that of those that rest. */
const found = [
  "condemned",
  "faulted",
  "unknown",
  "paused",
  "running",
  "ready",
  "suspended",
] as const

/** What is asked, each at its own pace. */
export type Asked = "status" | "running" | "owed" | "found"

export interface OwnerView {
  readonly ownerId: string
  readonly status: { readonly value: MaintenanceStatus | undefined }
  /** Those that the owner remembers and those that were told before, the newest first. */
  readonly passes: { readonly value: ReadonlyArray<MaintenancePassReport> }
  /** Why each was not answered the last time, where that was so. */
  readonly failures: Readonly<Record<Asked, { readonly value: unknown }>>
  readonly again: Readonly<Record<Asked, () => void>>
  readonly cloth: { readonly value: Cloth }
  /** Whether the lanes that owe something were read: before that nothing is known of them, or of faults. */
  readonly isFound: { readonly value: boolean }
  readonly faults: { readonly value: ReadonlyMap<string, RecoveryFault> }
  readonly running: { readonly value: ReadonlyArray<ThreadSummary> | undefined }
  readonly owed: { readonly value: Owed | undefined }
  readonly sinceAt: number
  readonly live: Live
  readonly stop: () => void
}

/** All that is owed, as far as some pages tell. // V2 */
const readOwed = async (ownerId: string, ended: AbortSignal): Promise<Owed> => {
  let owed = owedOf([], true)
  let after: string | undefined
  for (let page = 0; page < owedPagesMax; page++) {
    const asked = { ownerId, ...(after === undefined ? {} : { after }) }
    const { next, obligations } = await heddle.obligations(asked, { signal: ended })
    owed = owedOf(obligations, next === undefined, owed)
    if (next === undefined) break
    after = next
  }
  return owed
}

const makeSignals = () => ({
  status: signal<MaintenanceStatus | undefined>(undefined),
  passes: signal<ReadonlyArray<MaintenancePassReport>>([]),
  failures: {
    status: signal<unknown>(undefined),
    running: signal<unknown>(undefined),
    owed: signal<unknown>(undefined),
    found: signal<unknown>(undefined),
  },
  cloth: signal<Cloth>(emptyCloth),
  isFound: signal(false),
  faults: signal<ReadonlyMap<string, RecoveryFault>>(new Map()),
  running: signal<ReadonlyArray<ThreadSummary> | undefined>(undefined),
  owed: signal<Owed | undefined>(undefined),
})

type Signals = ReturnType<typeof makeSignals>

const passesMax = 400

/** An owner remembers few passes, and forgets them with its object: those that were seen are kept here. */
const takeStatus = ({ passes, status }: Signals, told: MaintenanceStatus): void => {
  status.value = told
  const { lastPass, passes: remembered = lastPass === undefined ? [] : [lastPass] } = told
  const newestAt = passes.value[0]?.endedAt ?? 0
  const fresh = remembered.filter(({ endedAt }) => endedAt > newestAt)
  if (fresh.length > 0) passes.value = [...fresh, ...passes.value].slice(0, passesMax)
}

const takeFault = ({ faults }: Signals, { fault, threadId }: LaneStatus): void => {
  if (fault === undefined && !faults.value.has(threadId)) return
  const after = new Map(faults.value)
  if (fault === undefined) after.delete(threadId)
  else after.set(threadId, fault)
  faults.value = after
}

/** Faults that nobody told to be over, and are not in the list of all of them. // V4 */
const dropFaults = (
  { faults }: Signals,
  before: ReadonlyMap<string, RecoveryFault>,
  faulted: ThreadPage,
): void => {
  if (faulted.next !== undefined || faulted.behind === true) return
  const still = new Set(faulted.threads.map(({ threadId }) => threadId))
  const isOver = ([threadId, fault]: readonly [string, RecoveryFault]) =>
    before.get(threadId) === fault && !still.has(threadId)
  const left = [...faults.value].filter((entry) => !isOver(entry))
  if (left.length < faults.value.size) faults.value = new Map(left)
}

/** Begins the cloth with the lanes that owe something, and finds again what was missed. */
const readFound = async (ownerId: string, signals: Signals, ended: AbortSignal): Promise<void> => {
  const at = present()
  const before = signals.faults.value
  const ask = (state: (typeof found)[number]) =>
    heddle.listThreads({ ownerId, state, limit: foundMax }, { signal: ended })
  const [faulted, ...others] = await Promise.all([
    ask("faulted"),
    ...found.filter((state) => state !== "faulted").map(ask),
  ])
  const pages = [faulted, ...others]
  const threads = pages.flatMap((page) => page.threads)
  const lanes = threads.map(({ activeAt = at, state = "idle", threadId }) => ({
    threadId,
    condition: state,
    at: activeAt,
  }))
  const isWhole = pages.every(({ behind, next }) => next === undefined && behind !== true)
  signals.cloth.value = begin(signals.cloth.value, { lanes, isWhole, at }) // V4
  dropFaults(signals, before, faulted)
  signals.isFound.value = true
}

/** Asks what is counted, at their own paces. */
const readers = (
  ownerId: string,
  signals: Signals,
  ended: AbortSignal,
): Readonly<Record<Asked, () => void>> => {
  const reading = (asked: Asked, millis: number, read: () => Promise<void>) =>
    paced(millis, async () => {
      const failure = signals.failures[asked]
      if (ended.aborted) return
      try {
        await asking(read)
        failure.value = undefined // V3
      } catch (error) {
        if (!ended.aborted) failure.value = error
      }
    })
  return {
    status: reading("status", statusMillis, async () => {
      takeStatus(signals, await heddle.maintenanceStatus({ ownerId }, { signal: ended }))
    }),
    running: reading("running", countsMillis, async () => {
      const running = { ownerId, state: "running", limit: runningMax } as const
      signals.running.value = (await heddle.listThreads(running, { signal: ended })).threads
    }),
    owed: reading("owed", countsMillis, async () => {
      signals.owed.value = await readOwed(ownerId, ended)
    }),
    found: reading("found", countsMillis, () => readFound(ownerId, signals, ended)),
  }
}

/** What has come in a frame's time is woven at once. */
const weaver = (signals: Signals): ((lane: LaneStatus) => void) => {
  let waiting: Array<{ readonly lane: LaneStatus; readonly at: number }> = []
  const flush = () => {
    const all = waiting
    waiting = []
    let cloth = signals.cloth.value
    for (const { at, lane } of all) cloth = weaveLane(cloth, lane, at)
    signals.cloth.value = cloth
  }
  return (lane) => {
    takeFault(signals, lane)
    waiting.push({ lane, at: present() })
    if (waiting.length === 1) setTimeout(flush, 50)
  }
}

/** Opens it; it is kept up to date until it is stopped. */
export const openOwner = (ownerId: string): OwnerView => {
  const ending = new AbortController()
  const signals = makeSignals()
  const read = readers(ownerId, signals, ending.signal)
  const take = weaver(signals)
  const reload = () => {
    read.status()
    read.running()
    read.owed()
  }
  const live = startLive<WatchFrame>({
    open: (leaving) => heddle.watch({ ownerId }, { signal: leaving }),
    take: (frame) => {
      if (frame._tag === "Opened") {
        // The faults that there are come behind it.
        signals.faults.value = new Map()
        read.found() // V4
      }
      if (frame._tag === "Gap") read.found() // V4
      if (frame._tag === "Lane") take(frame.lane)
      if (frame._tag !== "Ended") reload() // V1
    },
    anyNews: async (leaving) => {
      const before = signals.status.value
      const status = await heddle.maintenanceStatus({ ownerId }, { signal: leaving })
      takeStatus(signals, status)
      return JSON.stringify(before) !== JSON.stringify(status)
    },
  })
  reload()
  const forget = onNewToken(() => {
    reload()
    if (signals.failures.found.value !== undefined) read.found()
  })
  return {
    ...signals,
    ownerId,
    sinceAt: present(),
    live,
    again: read,
    stop: () => {
      forget()
      live.stop()
      ending.abort()
    },
  }
}
