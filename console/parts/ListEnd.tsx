/** The end of a list that comes in pages: that it is being read, or a way to read on where nothing does so by itself. */
import type { PagedList } from "../state/Pages.ts"

export const ListEnd = ({
  list: { error, isReading, isWhole, more },
}: {
  readonly list: Pick<PagedList<unknown>, "error" | "isReading" | "isWhole" | "more">
}) => {
  if (isReading) return <p class="empty">Reading…</p>
  if (isWhole || error !== undefined) return undefined
  return (
    <button type="button" class="quiet" onClick={more}>
      Read more
    </button>
  )
}
