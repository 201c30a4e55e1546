/**
 * What the page of a thread shows: its records, the newest first and more on demand, kept up to date by one stream that goes
 * on from the last one; and what `explain` says of what is open.
 *
 * - T1 Every record is here once, however often the stream was opened.
 * - T2 What is open is explained again when records come, and at a slow pace while somebody looks on: a pause, a fault, a stall
 *   writes no record.
 * - T3 A thread that has nothing to tell is left alone: its stream ends, and it is looked at now and then.
 * - T4 What failed is told until the same question has an answer.
 */
import { signal } from "@preact/signals"
import type {
  Json,
  JournalRecord,
  LaneStatus,
  ObserveFrame,
  RecoveryExplanation,
} from "../../client/sdk/index.ts"
import { isFinal } from "../lib/Final.ts"
import { merged } from "../lib/Timeline.ts"
import { asking, heddle } from "./Deployment.ts"
import { type Live, startLive } from "./Live.ts"
import { visible } from "./Now.ts"
import { paced } from "./Paced.ts"
import { onNewToken } from "./Session.ts"

const pageRecords = 256
const explainMillis = 700
const lookMillis = 15_000
const chunksMax = 60

export interface ThreadView {
  readonly ownerId: string
  readonly threadId: string
  readonly records: { readonly value: ReadonlyArray<JournalRecord> }
  /** Where older records are; undefined once the first one is here, or before anything was read. */
  readonly older: { readonly value: number | undefined }
  readonly isRead: { readonly value: boolean }
  readonly lane: { readonly value: LaneStatus | undefined }
  readonly open: { readonly value: ReadonlyArray<RecoveryExplanation> | undefined }
  /** Why it could not be explained. */
  readonly error: { readonly value: unknown }
  readonly isReadingOlder: { readonly value: boolean }
  /** Why older records could not be read. */
  readonly olderError: { readonly value: unknown }
  /** What the present attempt shows to who looks on: it is on no record. */
  readonly chunks: { readonly value: ReadonlyArray<Json> }
  readonly live: Live
  readonly readOlder: () => void
  /** Asks for everything that has no stream of its own. */
  readonly reload: () => void
  readonly stop: () => void
}

const makeSignals = () => ({
  records: signal<ReadonlyArray<JournalRecord>>([]),
  older: signal<number | undefined>(undefined),
  isRead: signal(false),
  lane: signal<LaneStatus | undefined>(undefined),
  open: signal<ReadonlyArray<RecoveryExplanation> | undefined>(undefined),
  error: signal<unknown>(undefined),
  isReadingOlder: signal(false),
  olderError: signal<unknown>(undefined),
  chunks: signal<ReadonlyArray<Json>>([]),
})

type Signals = ReturnType<typeof makeSignals>
type Place = Pick<ThreadView, "ownerId" | "threadId">

/** Takes what comes within a moment together: a page of records is one change. */
const batching = <A>(take: (all: ReadonlyArray<A>) => void): ((one: A) => void) => {
  let waiting: Array<A> = []
  return (one) => {
    waiting.push(one)
    if (waiting.length > 1) return
    setTimeout(() => {
      const all = waiting
      waiting = []
      take(all)
    }, 16)
  }
}

/** The newest page, and then the stream from there on; again from the last record that is here. // T1 */
async function* openStream(
  place: Place,
  { isRead, older, records }: Signals,
  ended: AbortSignal,
): AsyncGenerator<ObserveFrame> {
  if (!isRead.value) {
    const asked = { ...place, before: Number.MAX_SAFE_INTEGER, limit: pageRecords }
    const page = await heddle.history(asked, { signal: ended })
    records.value = merged(records.value, page.records.toReversed())
    older.value = page.next
    isRead.value = true
  }
  const after = records.value.at(-1)?.sequence ?? 0
  yield* heddle.observe({ ...place, after }, { signal: ended, whenQuiet: "end" }) // T3
}

const taker = (signals: Signals, explain: () => void): ((frame: ObserveFrame) => void) => {
  const takeRecords = batching<JournalRecord>((all) => {
    signals.records.value = merged(signals.records.value, all)
    signals.chunks.value = []
    explain()
  })
  const takeChunks = batching<Json>((all) => {
    signals.chunks.value = [...signals.chunks.value, ...all].slice(-chunksMax)
  })
  return (frame) => {
    switch (frame._tag) {
      case "Opened":
        signals.lane.value = frame.lane
        return explain()
      case "Record":
        return takeRecords(frame.record)
      case "Emitted":
        return takeChunks(frame.chunk)
      case "Gap":
      case "Cursor":
    }
  }
}

const olderReader = (place: Place, signals: Signals, ended: AbortSignal): (() => void) => {
  const { isReadingOlder, older, olderError, records } = signals
  const read = async (before: number): Promise<void> => {
    const asked = { ...place, before, limit: pageRecords }
    try {
      const page = await asking(() => heddle.history(asked, { signal: ended }))
      records.value = merged(page.records.toReversed(), records.value)
      older.value = page.next
    } catch (error) {
      if (!ended.aborted) olderError.value = error // T4
    }
    isReadingOlder.value = false
  }
  return () => {
    const before = older.value
    if (before === undefined || isReadingOlder.value) return
    isReadingOlder.value = true
    olderError.value = undefined
    void read(before)
  }
}

/** Asks again now and then while the stream stands; while it rests, that looks. // T2 */
const lookingOn = (signals: Signals, live: Live, explain: () => void): (() => void) => {
  const timer = setInterval(() => {
    const { error, open } = signals
    const isOpen = open.value?.length !== 0 && !isFinal(error.value)
    if (isOpen && visible.value && live.state.value._tag === "Live") explain()
  }, lookMillis)
  return () => clearInterval(timer)
}

/** Whether there are records, or a word about what is open, that are not here. */
const anyNews = async (place: Place, { open, records }: Signals, ended: AbortSignal) => {
  const after = records.value.at(-1)?.sequence ?? 0
  const [page, explained] = await Promise.all([
    heddle.history({ ...place, after, limit: 1 }, { signal: ended }),
    heddle.explain(place, { signal: ended }),
  ])
  return page.records.length > 0 || JSON.stringify(explained) !== JSON.stringify(open.value)
}

/** Opens it; it is kept up to date until it is stopped. */
export const openThread = (place: Place): ThreadView => {
  const ending = new AbortController()
  const ended = ending.signal
  const signals = makeSignals()
  const explain = paced(explainMillis, async () => {
    if (ended.aborted) return
    try {
      signals.open.value = await asking(() => heddle.explain(place, { signal: ended }))
      signals.error.value = undefined
    } catch (error) {
      if (!ended.aborted) signals.error.value = error
    }
  })
  const live = startLive<ObserveFrame>({
    open: (leaving) => openStream(place, signals, leaving),
    take: taker(signals, explain),
    anyNews: (leaving) => anyNews(place, signals, leaving),
  })
  const readOlder = olderReader(place, signals, ended)
  const forget = onNewToken(() => {
    explain()
    if (signals.olderError.value !== undefined) readOlder()
  })
  const lookAway = lookingOn(signals, live, explain)
  return {
    ...signals,
    ...place,
    live,
    readOlder,
    reload: () => {
      explain()
      // Its first frame tells how the owner sees the lane now.
      live.again()
    },
    stop: () => {
      forget()
      lookAway()
      live.stop()
      ending.abort()
    },
  }
}
