/**
 * A list of any length, of which only what is seen is on the page.
 *
 * - L1 A screen reader hears how long the list is and where in it a row stands.
 * - L2 Rows may be of different heights: each is measured once it is shown.
 */
import {
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  windowScroll,
} from "@tanstack/virtual-core"
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks"

export interface VirtualListProps {
  readonly count: number
  /** Of the whole, where more can be had; the count else. */
  readonly total?: number | undefined
  readonly label: string
  readonly rowPixels: number
  readonly keyOf: (index: number) => string
  readonly row: (index: number) => ComponentChildren
  /** Called while the last row is on the page. */
  readonly onEnd?: (() => void) | undefined
}

const overscan = 8

/** The list scrolls with the window: one bar, and the browser's own keys. */
const useVirtualizer = (props: VirtualListProps) => {
  const list = useRef<HTMLUListElement>(null)
  const [, shown] = useReducer<number, undefined>((version) => version + 1, 0)
  const margin = useRef(0)
  const latest = useRef(props)
  latest.current = props
  const virtualizer = useMemo(
    () =>
      new Virtualizer<Window, HTMLElement>({
        count: 0,
        getScrollElement: () => window,
        // The same functions each time: other ones would have every row measured anew.
        estimateSize: () => latest.current.rowPixels,
        getItemKey: (index) => latest.current.keyOf(index),
        overscan,
        observeElementRect: observeWindowRect,
        observeElementOffset: observeWindowOffset,
        scrollToFn: windowScroll,
        onChange: () => shown(undefined),
      }),
    [],
  )
  const { count } = props
  virtualizer.setOptions({ ...virtualizer.options, count, scrollMargin: margin.current })
  useLayoutEffect(() => virtualizer._didMount(), [])
  useLayoutEffect(() => {
    const top = (list.current?.getBoundingClientRect().top ?? 0) + window.scrollY
    if (Math.abs(top - margin.current) > 1) {
      margin.current = top
      shown(undefined)
    }
    virtualizer._willUpdate()
  })
  return { list, virtualizer }
}

export const VirtualList = (props: VirtualListProps) => {
  const { count, keyOf, label, onEnd, row, total } = props
  const { list, virtualizer } = useVirtualizer(props)
  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  useLayoutEffect(() => {
    if (last >= count - 1) onEnd?.()
  }, [last, count])
  const margin = virtualizer.options.scrollMargin
  return (
    <ul
      ref={list}
      aria-label={label}
      class="virtual"
      style={{ height: `${virtualizer.getTotalSize()}px` }}
    >
      {items.map((item) => (
        <li
          key={keyOf(item.index)}
          aria-setsize={total ?? count} // L1
          aria-posinset={item.index + 1}
          data-index={item.index}
          ref={virtualizer.measureElement} // L2
          class="virtual-row"
          style={{ transform: `translateY(${item.start - margin}px)` }}
        >
          {row(item.index)}
        </li>
      ))}
    </ul>
  )
}
