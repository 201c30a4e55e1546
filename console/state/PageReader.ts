/**
 * Reads a list that comes in pages: one page behind the other as somebody wants more, and what is here once more.
 *
 * - P1 One thing is read at a time, each page from where the last one ended; what is wanted meanwhile comes after it.
 * - P2 What is here stays while it is read again, and when that fails. A list that is too long for it says that it may have
 *   changed.
 * - P3 Rows that change while they are read are shown as they were told last.
 * - P4 What failed is told until a reading succeeds, and is asked again as it was asked.
 */
import { type Signal, signal } from "@preact/signals"
import { asking } from "./Deployment.ts"

export interface Page<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly next: string | undefined
  /** The list is being built anew: rows may be missing. */
  readonly behind?: boolean | undefined
}

export interface Pages<Row> extends Page<Row> {
  readonly isReading: boolean
  readonly isWhole: boolean
  /** Something has changed, and the list is too long to be read once more by itself. */
  readonly isStale: boolean
  readonly error: unknown
}

export type Ask<Row> = (after: string | undefined, signal: AbortSignal) => Promise<Page<Row>>

export interface PageReader<Row> {
  readonly pages: Signal<Pages<Row>>
  /** Reads the next page, unless one is being read. */
  readonly more: () => void
  /** Reads what is here once more, and shows it when all of it has come. Resolves when that is over. */
  readonly refresh: () => Promise<void>
  /** Asks again what has failed. */
  readonly again: () => void
  /** Changes rows that are here. */
  readonly change: (changed: (row: Row) => Row) => void
  readonly stop: () => void
}

export const noPages = <Row>(): Pages<Row> => ({
  rows: [],
  next: undefined,
  // It is about to be.
  isReading: true,
  isWhole: false,
  isStale: false,
  error: undefined,
})

const emptyPagesMax = 20

/** A page, or the first behind it that has a row: one may be empty and have a next. */
const askFor = async <Row>(
  ask: Ask<Row>,
  after: string | undefined,
  ended: AbortSignal,
): Promise<Page<Row>> => {
  let page = await ask(after, ended)
  for (let looks = 1; page.rows.length === 0 && page.next !== undefined; looks++) {
    if (looks >= emptyPagesMax) break
    page = await ask(page.next, ended)
  }
  return page
}

/** What is longer is not read again by itself, nor kept for who comes back. */
export const refreshedRowsMax = 1_024
const refreshedPagesMax = 8

/** As many rows as there are, and not fewer than a page; undefined where that takes too many calls. */
const readAgain = async <Row>(
  ask: Ask<Row>,
  count: number,
  ended: AbortSignal,
): Promise<Page<Row> | undefined> => {
  if (count > refreshedRowsMax) return undefined
  let whole = await ask(undefined, ended)
  for (let pages = 1; whole.next !== undefined && whole.rows.length < Math.max(1, count); pages++) {
    if (pages >= refreshedPagesMax) return undefined
    const page = await ask(whole.next, ended)
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
  error: undefined,
})

/** The list as it is now; as it was, where it is too long for that. // P2 */
const renewed = <Row>(before: Pages<Row>, fresh: Page<Row> | undefined): Pages<Row> =>
  fresh === undefined
    ? { ...before, isStale: true, error: undefined }
    : {
        ...before,
        ...fresh,
        isWhole: fresh.next === undefined,
        isStale: false,
        error: undefined,
      }

type Wish = "more" | "refresh"

/** Does what is wished for, one after the other. Gives how to wish. // P1 */
const oneAtATime = (work: (wish: Wish) => Promise<void>): ((wish: Wish) => Promise<void>) => {
  const wishes = new Map<Wish, Promise<void>>()
  let last: Promise<void> = Promise.resolve()
  return (wish) => {
    const waiting = wishes.get(wish)
    if (waiting !== undefined) return waiting
    const turn = last.then(() => {
      // A list that changes while it is read again is read again after it; one more page is wished for once.
      if (wish === "refresh") wishes.delete(wish)
      return work(wish).finally(() => wishes.get(wish) === turn && wishes.delete(wish))
    })
    wishes.set(wish, turn)
    last = turn
    return turn
  }
}

/** Begins with what was kept of it, if anything was. Nothing is read before it is wished for. */
export const readPages = <Row>(begin: Pages<Row>, ask: Ask<Row>): PageReader<Row> => {
  const ending = new AbortController()
  const { signal: ended } = ending
  const pages = signal(begin)
  let failed: Wish = "more"
  /** What rows were told to have changed while they are being read. */
  let told: Array<(row: Row) => Row> | undefined
  const reading = async <A extends Page<Row> | undefined>(read: Promise<A>) => {
    const meanwhile: Array<(row: Row) => Row> = []
    told = meanwhile
    const page = await read.finally(() => (told = undefined))
    const rows = meanwhile.reduce((all, change) => all.map(change), page?.rows ?? [])
    return page && { ...page, rows } // P3
  }
  const readMore = async () => {
    const { isWhole, next } = pages.peek()
    if (isWhole) return
    pages.value = { ...pages.peek(), isReading: true, error: undefined }
    const page = await reading(askFor(ask, next, ended))
    if (!ended.aborted) pages.value = grown(pages.peek(), page)
  }
  const renew = async () => {
    const fresh = await reading(readAgain(ask, pages.peek().rows.length, ended))
    if (!ended.aborted) pages.value = renewed(pages.peek(), fresh)
  }
  const wish = oneAtATime(async (wished) => {
    if (ended.aborted) return
    try {
      await asking(wished === "more" ? readMore : renew)
    } catch (error) {
      if (ended.aborted) return
      failed = wished
      pages.value = { ...pages.peek(), isReading: false, error } // P4
    }
  })
  return {
    pages,
    more: () => void wish("more"),
    refresh: () => wish("refresh"),
    again: () => void wish(failed), // P4
    change: (changed) => {
      told?.push(changed)
      pages.value = { ...pages.peek(), rows: pages.peek().rows.map(changed) }
    },
    stop: () => ending.abort(),
  }
}
