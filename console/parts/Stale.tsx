/** Says that a list may have changed which is too long to be read again by itself, with the way to begin it anew. */
import type { PagedList } from "../state/Pages.ts"

export const Stale = ({
  list: { isStale, reload },
}: {
  readonly list: Pick<PagedList<unknown>, "isStale" | "reload">
}) =>
  isStale ? (
    <button type="button" class="link" onClick={reload}>
      It may have changed: list again
    </button>
  ) : undefined
