/** What the full-text search of an owner found. */
import type { SearchHit } from "../../client/sdk/index.ts"
import { plural } from "../lib/Format.ts"
import { hrefOf } from "../lib/Route.ts"
import { rowKeysOf } from "../lib/RowKeys.ts"
import { piecesOf } from "../lib/Snippet.ts"
import { Failure } from "../parts/Failure.tsx"
import { Chip } from "../parts/Glyph.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { Ago } from "../parts/Time.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { heddle } from "../state/Deployment.ts"
import { usePages } from "../state/Pages.ts"

const Hit = ({ hit, ownerId }: { readonly hit: SearchHit; readonly ownerId: string }) => {
  const { at, outcome, snippet, submissionId, threadId } = hit
  const to = { page: "thread", ownerId, threadId } as const
  return (
    <a
      class="row-link hit-row"
      href={hrefOf(submissionId === undefined ? to : { ...to, submissionId })}
    >
      <span class="mono clip">{threadId}</span>
      <span class="snippet">
        {piecesOf(snippet).map(({ isFound, text }, index) =>
          isFound ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
        )}
      </span>
      {outcome === undefined ? <span class="dim">title</span> : <Chip condition={outcome} />}
      <span class="numbers dim">{at === undefined ? undefined : <Ago at={at} />}</span>
    </a>
  )
}

export const SearchHits = ({
  ownerId,
  words,
}: {
  readonly ownerId: string
  readonly words: string
}) => {
  const list = usePages<SearchHit>(`${ownerId} ${words}`, async (after, signal) => {
    const asked = { ownerId, query: words, ...(after === undefined ? {} : { after }) }
    const page = await heddle.search(asked, { signal })
    return { rows: page.hits, next: page.next, behind: page.behind }
  })
  const keys = rowKeysOf(list.rows, ({ submissionId, threadId }) => `${threadId} ${submissionId}`)
  return (
    <>
      <p class="list-head">
        <span aria-live="polite">
          {plural(list.rows.length, "hit")}
          {list.isWhole ? undefined : " so far"}
        </span>
        {list.behind === true ? (
          <span class="tone-ready">The index is being built: some may be missing.</span>
        ) : undefined}
      </p>
      {list.error === undefined ? undefined : <Failure error={list.error} again={list.again} />}
      {list.isWhole && list.rows.length === 0 ? (
        <p class="empty">
          No title has these words, and no outcome, where this deployment searches outcomes.
        </p>
      ) : undefined}
      <VirtualList
        label="Hits"
        count={list.rows.length}
        total={list.isWhole ? list.rows.length : -1}
        rowPixels={44}
        keyOf={(index) => keys[index] ?? ""}
        row={(index) => {
          const hit = list.rows[index]
          return hit === undefined ? undefined : <Hit hit={hit} ownerId={ownerId} />
        }}
        onEnd={list.more}
      />
      <ListEnd list={list} />
    </>
  )
}
