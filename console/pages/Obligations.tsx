/** Everything that an owner owes, with what is in its way: to decide here, or to see where it is decided. */
import type { Obligation } from "../../client/sdk/index.ts"
import type { Command } from "../lib/Commands.ts"
import { askOf, humanBlockers, isHuman } from "../lib/Condition.ts"
import { countOf, plural } from "../lib/Format.ts"
import { hrefOf } from "../lib/Route.ts"
import { rowKeysOf } from "../lib/RowKeys.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Failure } from "../parts/Failure.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { Named } from "../parts/Named.tsx"
import { Stale } from "../parts/Stale.tsx"
import { Since } from "../parts/Time.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { VirtualList } from "../parts/VirtualList.tsx"
import { useChanges } from "../state/Changes.ts"
import { heddle } from "../state/Deployment.ts"
import { replaceWith } from "../state/Location.ts"
import { type PagedList, usePages } from "../state/Pages.ts"

const blockers = [
  ...humanBlockers,
  "binding",
  "signal",
  "child",
  "timer",
  "held",
  "backoff",
  "outbox",
  "publication",
  "condemned",
  "ready-aged",
  "running-aged",
]

/** What can be done about it here, the likeliest first. */
const commandsOf = (one: Obligation): ReadonlyArray<Command> => {
  const { blocker, name, recordId, submissionId, threadId } = one
  if (blocker === "paused") return [{ kind: "resume", threadId }]
  if (blocker === "stalled" || blocker === "backoff") return [{ kind: "wake", threadId }]
  if (submissionId === undefined) return []
  const at = { threadId, submissionId }
  if (blocker === "unknown" && recordId !== undefined)
    return [{ kind: "resolve", ...at, name: name ?? "", recordId }]
  // What it asks is told on its thread's page: nobody approves what they have not read.
  if (blocker === "approval") return []
  return ["fault", "binding", "outbox"].includes(blocker) ? [{ kind: "retry", ...at }] : []
}

const saysOf = ({ blocker, name, recordId, submissionId, threadId }: Obligation): string =>
  JSON.stringify([threadId, submissionId, blocker, recordId, name])

const hrefOfOne = (ownerId: string, { blocker, threadId }: Obligation): string =>
  hrefOf({ page: blocker === "fault" ? "fault" : "thread", ownerId, threadId })

const Row = ({
  done,
  one,
  ownerId,
}: {
  readonly one: Obligation
  readonly ownerId: string
  readonly done: () => void
}) => (
  <div class="obligation-row">
    <span class={`bar-name blocker-${one.blocker}${isHuman(one.blocker) ? " human" : ""}`}>
      {one.blocker}
      <small>{askOf(one.blocker)}</small>
    </span>
    <a class="mono clip" href={hrefOfOne(ownerId, one)}>
      {one.threadId}
    </a>
    <span class="mono clip dim">
      {one.name === undefined ? undefined : <Named name={one.name} />}
      {one.agent === undefined ? undefined : ` (${one.agent})`}
    </span>
    <span class={`numbers severity-${one.severity}`}>
      <Since at={one.sinceAt} />
    </span>
    <span class="buttons">
      {commandsOf(one).map((command) => (
        <CommandButton
          key={command.kind}
          ownerId={ownerId}
          command={command}
          done={done}
          quiet={!isHuman(one.blocker)}
        />
      ))}
      <a
        class={one.blocker === "approval" ? "button small" : "button quiet small"}
        href={hrefOfOne(ownerId, one)}
      >
        {one.blocker === "approval" ? "Decide" : "Look"}
      </a>
    </span>
  </div>
)

const Head = ({
  blocker,
  count,
  list,
  ownerId,
}: {
  readonly ownerId: string
  readonly blocker: string | undefined
  readonly count: number
  readonly list: PagedList<Obligation>
}) => (
  <form class="filters" onSubmit={(event) => event.preventDefault()}>
    <label class="field">
      <span>In the way</span>
      <select
        value={blocker ?? ""}
        onChange={(event) => {
          const chosen = event.currentTarget.value
          const at = { page: "obligations", ownerId } as const
          replaceWith(chosen === "" ? at : { ...at, blocker: chosen })
        }}
      >
        <option value="">anything</option>
        {blockers.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
    <p class="list-head">
      <span aria-live="polite">
        {plural(count, "obligation")}
        {list.isWhole ? undefined : ` among those of ${countOf(list.rows.length)} read so far`}
      </span>
      <Stale list={list} />
    </p>
  </form>
)

export const Obligations = ({
  blocker,
  ownerId,
}: {
  readonly ownerId: string
  readonly blocker: string | undefined
}) => {
  const list = usePages<Obligation>(ownerId, async (after, signal) => {
    const asked = { ownerId, ...(after === undefined ? {} : { after }) }
    const page = await heddle.obligations(asked, { signal })
    return { rows: page.obligations, next: page.next }
  })
  const live = useChanges(ownerId, list.refresh)
  const shown = list.rows.filter((one) => blocker === undefined || one.blocker === blocker)
  const keys = rowKeysOf(shown, saysOf)
  return (
    <div class="page">
      <div class="page-head">
        <h1>Obligations</h1>
        <LiveBadge live={live} />
      </div>
      <p class="lead">What is in somebody's way, thread by thread, and since when.</p>
      <Head ownerId={ownerId} blocker={blocker} count={shown.length} list={list} />
      {list.error === undefined ? undefined : <Failure error={list.error} again={list.again} />}
      {list.isWhole && shown.length === 0 ? (
        <p class="empty">
          {blocker === undefined ? "Nothing is in anybody's way." : `Nothing waits by ${blocker}.`}
        </p>
      ) : undefined}
      <VirtualList
        label="Obligations"
        count={shown.length}
        total={list.isWhole ? shown.length : -1}
        rowPixels={48}
        keyOf={(index) => keys[index] ?? ""}
        row={(index) => {
          const one = shown[index]
          return one === undefined ? undefined : (
            <Row ownerId={ownerId} one={one} done={() => void list.refresh()} />
          )
        }}
        onEnd={list.more}
      />
      <ListEnd list={list} />
    </div>
  )
}
