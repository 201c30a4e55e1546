/**
 * A list that comes in pages: those that were read, one after the other, and whether there are more.
 *
 * - P1 Pages are read one at a time, each from where the last one ended, and only while somebody wants more.
 * - P2 Rows of an earlier question are never shown for a later one.
 * - P3 A page that is gone back to has the rows it had, where they were, and reads them once more.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { asking } from "./Deployment.ts"
import { useNewToken } from "./NewToken.ts"
import { keeper, keptList } from "./Places.ts"

export interface Page<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly next: string | undefined
  /** The list is being built anew: rows may be missing. */
  readonly behind?: boolean | undefined
}

interface Pages<Row> extends Page<Row> {
  readonly key: string
  readonly isReading: boolean
  readonly isWhole: boolean
  readonly error: unknown
}

export interface PagedList<Row> extends Omit<Pages<Row>, "key" | "next"> {
  /** Reads the next page, unless one is being read. */
  readonly more: () => void
  /** Begins anew. */
  readonly reload: () => void
  /** Reads what is here once more, and shows it when all of it has come; a list that is long stays as it is. */
  readonly refresh: () => Promise<void>
  /** Changes rows that are here. */
  readonly change: (changed: (row: Row) => Row) => void
}

const emptyPagesMax = 20

const startOf = <Row>(key: string): Pages<Row> => ({
  key,
  rows: [],
  next: undefined,
  isReading: false,
  isWhole: false,
  error: undefined,
})

type Ask<Row> = (after: string | undefined, signal: AbortSignal) => Promise<Page<Row>>

/** A page, or the first behind it that has a row: one may be empty and have a next. */
const askFor = async <Row>(
  ask: Ask<Row>,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Page<Row>> => {
  let page = await ask(after, signal)
  for (let looks = 1; page.rows.length === 0 && page.next !== undefined; looks++) {
    if (looks >= emptyPagesMax) break
    page = await ask(page.next, signal)
  }
  return page
}

const refreshedRowsMax = 1_024

/** As many rows as there were, and not fewer than a page. // P1 */
const readAgain = async <Row>(
  ask: Ask<Row>,
  count: number,
  signal: AbortSignal,
): Promise<Page<Row>> => {
  let whole = await askFor(ask, undefined, signal)
  while (whole.rows.length < count && whole.next !== undefined) {
    const page = await askFor(ask, whole.next, signal)
    whole = { ...page, rows: [...whole.rows, ...page.rows] }
  }
  return whole
}

/** With one more page behind those that are here. */
const grown = <Row>(before: Pages<Row>, page: Page<Row>): Pages<Row> => ({
  ...before,
  ...page,
  rows: [...before.rows, ...page.rows],
  isReading: false,
  isWhole: page.next === undefined,
})

/** What the page begins with, and what it is when it is left. // P3 */
const useKept = <Row>(key: string) => {
  const [kept] = useState(() => keptList<Pages<Row>>(key))
  const [keep] = useState(keeper)
  const [first] = useState(() => kept?.list ?? startOf<Row>(key))
  const current = useRef(first)
  useLayoutEffect(() => {
    kept?.scroll()
    return () => {
      const left = current.current
      // What is too long to be read once more begins anew: it would show what it was.
      if (left.rows.length > 0 && left.rows.length <= refreshedRowsMax)
        keep(left.key, { ...left, isReading: false, error: undefined })
    }
  }, [])
  return { current, first }
}

/** What has been read is kept by the question; a later one starts anew. // P2 */
export const usePages = <Row>(key: string, ask: Ask<Row>): PagedList<Row> => {
  const { current, first } = useKept<Row>(key)
  const [state, setState] = useState<Pages<Row>>(first)
  const [round, setRound] = useState(0)
  current.current = state
  const asks = useRef(ask)
  asks.current = ask
  const busy = useRef<AbortSignal | undefined>(undefined)
  const leaving = useRef(new AbortController())
  const more = useCallback(() => {
    const { signal } = leaving.current
    const { isWhole, next } = current.current
    if (busy.current === signal || isWhole) return // P1
    busy.current = signal
    setState((before) => ({ ...before, isReading: true, error: undefined }))
    asking(() => askFor(asks.current, next, signal)).then(
      ({ behind, next: following, rows }) => {
        if (signal.aborted) return
        busy.current = undefined
        setState((before) => grown(before, { rows, behind, next: following }))
      },
      (error: unknown) => {
        if (signal.aborted) return
        busy.current = undefined
        setState((before) => ({ ...before, isReading: false, error }))
      },
    )
  }, [])
  const refresh = useCallback(async () => {
    const { signal } = leaving.current
    const { isReading, rows } = current.current
    if (isReading || rows.length > refreshedRowsMax || busy.current === signal) return
    const fresh = await asking(() => readAgain(asks.current, rows.length, signal)).catch(
      () => undefined,
    )
    // Somebody has asked for more meanwhile: the next change is soon enough.
    if (fresh === undefined || signal.aborted || busy.current === signal) return
    setState((before) => ({ ...before, ...fresh, isWhole: fresh.next === undefined }))
  }, [])
  useEffect(() => {
    // The list may have asked for its end before it knew of its beginning.
    leaving.current.abort()
    leaving.current = new AbortController()
    const own = leaving.current
    if (round === 0 && current.current === first && first.rows.length > 0) void refresh() // P3
    else {
      const start = startOf<Row>(key)
      current.current = start
      setState(start)
      more()
    }
    return () => own.abort()
  }, [key, round])
  useNewToken(() => {
    if (current.current.error !== undefined) more()
  })
  const shown = state.key === key ? state : startOf<Row>(key)
  return {
    ...shown,
    isReading: shown.isReading || state.key !== key,
    more,
    refresh,
    reload: useCallback(() => setRound((before) => before + 1), []),
    change: useCallback(
      (changed: (row: Row) => Row) =>
        setState((before) => ({ ...before, rows: before.rows.map(changed) })),
      [],
    ),
  }
}
