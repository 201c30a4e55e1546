/** The threads of an owner: all of them or those that stand in some way, and the search in what they say. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { ListThreadsPayload, ThreadSummary, WatchFrame } from "../../client/sdk/index.ts"
import { conditionOf, wordsOf } from "../lib/Condition.ts"
import { countOf, plural, straight } from "../lib/Format.ts"
import { hrefOf, type ThreadFilter } from "../lib/Route.ts"
import { Failure } from "../parts/Failure.tsx"
import { Chip } from "../parts/Glyph.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { Ago } from "../parts/Time.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { heddle } from "../state/Deployment.ts"
import { type Live, startLive } from "../state/Live.ts"
import { replaceWith } from "../state/Location.ts"
import { present } from "../state/Now.ts"
import { ownerNews } from "../state/OwnerNews.ts"
import { type PagedList, usePages } from "../state/Pages.ts"
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

const typingMillis = 250

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

/** The row as the owner tells it now. */
const changedBy = (frames: ReadonlyMap<string, ThreadSummary["state"]>) => (row: ThreadSummary) => {
  const state = frames.get(row.threadId)
  return state === undefined || state === row.state ? row : { ...row, state, activeAt: present() }
}

/** Rows that are here change as their lanes do; lanes that are not here are counted. */
const useChanges = (ownerId: string, list: PagedList<ThreadSummary>) => {
  const [elsewhere, setElsewhere] = useState<ReadonlySet<string>>(new Set())
  const here = useRef<ReadonlySet<string>>(new Set())
  here.current = useMemo(() => new Set(list.rows.map(({ threadId }) => threadId)), [list.rows])
  const { change } = list
  const live = useMemo((): Live => {
    let waiting = new Map<string, ThreadSummary["state"]>()
    const flush = () => {
      const all = waiting
      waiting = new Map()
      change(changedBy(all))
      const others = [...all.keys()].filter((threadId) => !here.current.has(threadId))
      if (others.length > 0) setElsewhere((before) => new Set([...before, ...others]))
    }
    return startLive<WatchFrame>({
      open: (signal) => heddle.watch({ ownerId }, { signal }),
      take: (frame) => {
        if (frame._tag !== "Lane") return
        if (waiting.size === 0) setTimeout(flush, typingMillis)
        waiting.set(frame.lane.threadId, frame.lane.known ? conditionOf(frame.lane) : "idle")
      },
      anyNews: ownerNews(ownerId),
    })
  }, [ownerId])
  useEffect(() => live.stop, [live])
  return { live, elsewhere, forget: () => setElsewhere(new Set()) }
}

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
  const { elsewhere, forget, live } = useChanges(ownerId, list)
  const again = () => {
    forget()
    list.reload()
  }
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
        {elsewhere.size > 0 ? (
          <button type="button" class="link" onClick={again}>
            {plural(elsewhere.size, "other thread")} changed: list again
          </button>
        ) : undefined}
        <span class="spring" />
        <LiveBadge live={live} />
      </p>
      {list.error === undefined ? undefined : <Failure error={list.error} again={list.more} />}
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
