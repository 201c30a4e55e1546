/** The threads of an owner: all of them or those that stand in some way, and the search in what they say. */
import { useRef } from "preact/hooks"
import type { ListThreadsPayload, ThreadSummary } from "../../client/sdk/index.ts"
import { wordsOf } from "../lib/Condition.ts"
import { countOf, plural, straight } from "../lib/Format.ts"
import { hrefOf, type ThreadFilter } from "../lib/Route.ts"
import { Failure } from "../parts/Failure.tsx"
import { Chip } from "../parts/Glyph.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { Stale } from "../parts/Stale.tsx"
import { Ago } from "../parts/Time.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { heddle } from "../state/Deployment.ts"
import { elsewhereMax, useLanes } from "../state/Lanes.ts"
import { replaceWith } from "../state/Location.ts"
import { usePages } from "../state/Pages.ts"
import { useTyped } from "../state/Typed.ts"
import { SearchHits } from "./SearchHits.tsx"

const states = [
  "running",
  "ready",
  "suspended",
  "unknown",
  "paused",
  "faulted",
  "condemned",
  "idle",
] as const

/** A page is soon read, and soon drawn. */
const pageThreads = 128

interface FilterProps {
  readonly ownerId: string
  readonly filter: ThreadFilter
}

const useFilter = ({ filter, ownerId }: FilterProps) => {
  const latest = useRef(filter)
  latest.current = filter
  return (changed: { readonly [P in keyof ThreadFilter]?: string | undefined }) => {
    const next = { ...latest.current, ...changed } as ThreadFilter
    replaceWith({ page: "threads", ownerId, filter: next })
  }
}

const Filters = (props: FilterProps) => {
  const { filter } = props
  const change = useFilter(props)
  const words = useTyped(filter.words ?? "", (typed) => change({ words: typed }))
  const text = useTyped(filter.text ?? "", (typed) => change({ text: typed }))
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          <span>Search titles and outcomes</span>
          <input
            id="search"
            type="search"
            autocomplete="off"
            value={words.text}
            onInput={(event) => words.type(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Title or id contains</span>
          <input
            type="search"
            autocomplete="off"
            value={text.text}
            onInput={(event) => text.type(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Stands</span>
          <select
            value={filter.state ?? ""}
            onChange={(event) => change({ state: event.currentTarget.value })}
          >
            <option value="">in any way</option>
            {states.map((state) => (
              <option key={state} value={state}>
                {wordsOf(state).label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Order</span>
          <select
            value={filter.order ?? "activity"}
            onChange={(event) => change({ order: event.currentTarget.value })}
          >
            <option value="activity">newest activity first</option>
            <option value="thread">by id</option>
          </select>
        </label>
      </form>
    </search>
  )
}

const queryOf = ({ filter, ownerId }: FilterProps): ListThreadsPayload => {
  const { order = "activity", state, text } = filter
  const known = states.find((one) => one === state)
  return {
    ownerId,
    order,
    limit: pageThreads,
    ...(known === undefined ? {} : { state: known }),
    ...(text === undefined || text === "" ? {} : { text }),
  }
}

const Row = ({ ownerId, thread }: { readonly ownerId: string; readonly thread: ThreadSummary }) => (
  <a
    class="row-link thread-row"
    href={hrefOf({ page: "thread", ownerId, threadId: thread.threadId })}
  >
    <Chip condition={thread.state ?? "idle"} />
    <span class="mono clip">{thread.threadId}</span>
    <span class="clip thread-title">{straight(thread.title ?? "")}</span>
    <span class="mono dim clip">{thread.head?.agent}</span>
    <span class="numbers">
      {thread.nonterminal === 0 ? undefined : `${countOf(thread.nonterminal)} open`}
      {thread.parked === 0 ? undefined : `, ${countOf(thread.parked)} parked`}
    </span>
    <span class="numbers dim">
      {thread.activeAt === undefined ? undefined : <Ago at={thread.activeAt} />}
    </span>
  </a>
)

const List = (props: FilterProps) => {
  const { ownerId } = props
  const query = queryOf(props)
  const list = usePages<ThreadSummary>(JSON.stringify(query), async (after, signal) => {
    const page = await heddle.listThreads(
      { ...query, ...(after === undefined ? {} : { after }) },
      { signal },
    )
    return { rows: page.threads, next: page.next, behind: page.behind }
  })
  const { elsewhere, live } = useLanes(ownerId, list)
  return (
    <>
      <p class="list-head">
        <span aria-live="polite">
          {plural(list.rows.length, "thread")}
          {list.isWhole ? undefined : " so far"}
        </span>
        {list.behind === true ? (
          <span class="tone-ready">The list is being built anew: some may be missing.</span>
        ) : undefined}
        {elsewhere > 0 && !list.isStale ? (
          <button type="button" class="link" onClick={list.reload}>
            {plural(elsewhere, "other thread")}
            {elsewhere < elsewhereMax ? undefined : " or more"} changed: list again
          </button>
        ) : undefined}
        <Stale list={list} />
        <span class="spring" />
        <LiveBadge live={live} />
      </p>
      {list.error === undefined ? undefined : <Failure error={list.error} again={list.again} />}
      {list.isWhole && list.rows.length === 0 ? (
        <p class="empty">No thread of this owner is like that.</p>
      ) : undefined}
      <VirtualList
        label="Threads"
        count={list.rows.length}
        total={list.isWhole ? list.rows.length : -1}
        rowPixels={39}
        keyOf={(index) => list.rows[index]?.threadId ?? String(index)}
        row={(index) => {
          const thread = list.rows[index]
          return thread === undefined ? undefined : <Row ownerId={ownerId} thread={thread} />
        }}
        onEnd={list.more}
      />
      <ListEnd list={list} />
    </>
  )
}

export const Threads = (props: FilterProps) => {
  const { filter, ownerId } = props
  const isSearch = filter.words !== undefined && filter.words.trim() !== ""
  return (
    <div class="page">
      <h1>Threads</h1>
      <Filters {...props} />
      {isSearch ? (
        <SearchHits key={filter.words} ownerId={ownerId} words={filter.words ?? ""} />
      ) : (
        <List {...props} />
      )}
    </div>
  )
}
