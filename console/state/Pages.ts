/**
 * The list of a page, as its reader has it.
 *
 * - L1 Rows of an earlier question are never shown for a later one.
 * - L2 A page that is gone back to has the rows it had, where they were, and reads them once more.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { useNewToken } from "./NewToken.ts"
import {
  type Ask,
  noPages,
  type PageReader,
  type Pages,
  readPages,
  refreshedRowsMax,
} from "./PageReader.ts"
import { keeper, keptList } from "./Places.ts"

export interface PagedList<Row> extends Pages<Row>, Omit<PageReader<Row>, "pages" | "stop"> {
  /** Begins anew. */
  readonly reload: () => void
}

/** What the page begins with, and what it is when it is left. // L2 */
const useKept = <Row>(key: string) => {
  const [kept] = useState(() => keptList<Pages<Row>>(key))
  const [keep] = useState(keeper)
  useLayoutEffect(() => kept?.scroll(), [])
  return {
    first: kept === undefined ? undefined : { key, pages: kept.list },
    keep: (question: string, left: Pages<Row>) => {
      // What is too long to be read once more begins anew: it would show what it was.
      if (left.rows.length > 0 && left.rows.length <= refreshedRowsMax)
        keep(question, { ...left, isReading: false, error: undefined })
    },
  }
}

/** What is read is its question's own; a later one has another reader. // L1 */
export const usePages = <Row>(key: string, ask: Ask<Row>): PagedList<Row> => {
  const { first, keep } = useKept<Row>(key)
  const [begun] = useState(first)
  const [round, setRound] = useState(0)
  const isKept = round === 0 && begun?.key === key
  const reader = useMemo(() => readPages(isKept ? begun.pages : noPages<Row>(), ask), [key, round])
  useEffect(() => {
    if (isKept) void reader.refresh() // L2
    else reader.more()
    return reader.stop
  }, [reader])
  const latest = useRef({ key, reader })
  latest.current = { key, reader }
  useLayoutEffect(() => () => keep(latest.current.key, latest.current.reader.pages.peek()), [])
  useNewToken(() => {
    if (reader.pages.peek().error !== undefined) reader.again()
  })
  const { again, change, more, pages, refresh } = reader
  const reload = useCallback(() => setRound((before) => before + 1), [])
  return { ...pages.value, again, change, more, refresh, reload }
}
