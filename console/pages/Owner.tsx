/** The page of an owner: what is stuck, since when and why; what runs; and that the rest goes round. */
import type { ComponentChildren } from "preact"
import { useEffect, useMemo } from "preact/hooks"
import type { MaintenanceStatus } from "../../client/sdk/index.ts"
import { askOf, isHuman } from "../lib/Condition.ts"
import { clockOf, countOf, durationOf, straight } from "../lib/Format.ts"
import { hrefOf, type Route } from "../lib/Route.ts"
import { ClothView } from "../parts/ClothView.tsx"
import { Failure } from "../parts/Failure.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { Ago, Since } from "../parts/Time.tsx"
import { type Asked, openOwner, type OwnerView, runningMax } from "../state/OwnerView.ts"

const Counter = ({
  children,
  label,
  tone,
}: {
  readonly label: string
  readonly tone?: string | undefined
  readonly children: ComponentChildren
}) => (
  <div class={tone === undefined ? "counter" : `counter tone-${tone}`}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)

const countedUpTo = 1_000

const Counters = ({ status }: { readonly status: MaintenanceStatus }) => {
  const { alarmAt, dueLanes, faultedLanes, lanes, nonterminal, runningLanes } = status
  return (
    <dl class="counters">
      <Counter label="Open submissions">{countOf(nonterminal)}</Counter>
      <Counter label="Running" tone={runningLanes > 0 ? "running" : undefined}>
        {countOf(runningLanes)}
      </Counter>
      <Counter label="Due">
        {countOf(dueLanes)}
        {dueLanes >= countedUpTo ? "+" : undefined}
      </Counter>
      <Counter label="Faulted" tone={faultedLanes > 0 ? "faulted" : undefined}>
        {countOf(faultedLanes)}
      </Counter>
      <Counter label="Lanes">{countOf(lanes)}</Counter>
      <Counter label="Next alarm">
        {alarmAt === undefined ? <span class="dim">none</span> : <Ago at={alarmAt} />}
      </Counter>
    </dl>
  )
}

const unfinishedMax = 3

/** What is wrong with the owner itself. */
const Warnings = ({ status: { unfinishedPasses } }: { readonly status: MaintenanceStatus }) =>
  unfinishedPasses <= unfinishedMax ? undefined : (
    <p class="warning" role="alert">
      {countOf(unfinishedPasses)} passes in a row began and did not finish. Until one does they run
      with one slot; the owner's log names the thread before each call, so its last line tells
      which.
    </p>
  )

const Panel = ({
  children,
  id,
  title,
}: {
  readonly id: string
  readonly title: string
  readonly children: ComponentChildren
}) => (
  <section class="panel" aria-labelledby={id}>
    <header>
      <h2 id={id}>{title}</h2>
    </header>
    {children}
  </section>
)

/** Why what a panel shows could not be asked for, and may be old. */
const Unanswered = ({ asked, view }: { readonly asked: Asked; readonly view: OwnerView }) => {
  const error = view.failures[asked].value
  return error === undefined ? undefined : <Failure error={error} again={view.again[asked]} />
}

const isAsking = ({ failures }: OwnerView, asked: Asked): boolean =>
  failures[asked].value === undefined

const Waits = ({ view }: { readonly view: OwnerView }) => {
  const { ownerId } = view
  const { value } = view.owed
  const most = Math.max(1, ...(value?.kinds.map(({ count }) => count) ?? []))
  return (
    <Panel id="waits-title" title="In the way">
      <Unanswered view={view} asked="owed" />
      {value === undefined && isAsking(view, "owed") ? <p class="empty">Counting…</p> : undefined}
      {value?.count === 0 ? (
        <p class="empty">Nothing is in anybody's way{value.isComplete ? "" : " so far"}.</p>
      ) : undefined}
      <ul class="bars">
        {value?.kinds.map(({ blocker, count, oldestAt, overdue }) => (
          <li key={blocker}>
            <a href={hrefOf({ page: "obligations", ownerId, blocker })}>
              <span class={`bar-name blocker-${blocker}${isHuman(blocker) ? " human" : ""}`}>
                {blocker}
                <small>{askOf(blocker)}</small>
              </span>
              <span class="bar" aria-hidden>
                <span
                  class={isHuman(blocker) ? "bar-fill human" : "bar-fill"}
                  style={{ width: `${(count / most) * 100}%` }}
                />
              </span>
              <span class="bar-count">
                {countOf(count)}
                {value.isComplete ? undefined : "+"}
              </span>
              <span class={overdue > 0 ? "bar-age overdue" : "bar-age"}>
                <Since at={oldestAt} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** What a panel does not list, and where it is. */
const Rest = ({ children, to }: { readonly to: Route; readonly children: ComponentChildren }) => (
  <p class="rest">
    <a href={hrefOf(to)}>{children}</a>
  </p>
)

/** Of so many faults a stream tells at its beginning. */
const faultsTold = 256

/** Nothing is said of faults before the stream has told them: their counter stands above. */
const Faults = ({ view: { faults, isFound, ownerId } }: { readonly view: OwnerView }) => (
  <Panel id="faults-title" title="Faults">
    {faults.value.size === 0 ? (
      <p class="empty">
        {isFound.value
          ? "Every thread that was looked at can be recovered."
          : "Not known: the lanes were not told yet."}
      </p>
    ) : undefined}
    <ul class="rows">
      {[...faults.value.values()].map((fault) => (
        <li key={fault.threadId}>
          <a class="row-link" href={hrefOf({ page: "fault", ownerId, threadId: fault.threadId })}>
            <span class="mono clip">{fault.threadId}</span>
            <span class="clip tone-faulted">{straight(fault.failure.tag)}</span>
            <span class="dim">
              for <Since at={fault.firstFailedAt} />
            </span>
            <span class="numbers">
              again <Ago at={fault.retryAt} />
            </span>
          </a>
        </li>
      ))}
    </ul>
    {faults.value.size >= faultsTold ? (
      <Rest to={{ page: "faults", ownerId }}>There may be more: all faults</Rest>
    ) : undefined}
  </Panel>
)

const Running = ({ view }: { readonly view: OwnerView }) => (
  <Panel id="running-title" title="Running turns">
    <Unanswered view={view} asked="running" />
    {view.running.value === undefined && isAsking(view, "running") ? (
      <p class="empty">Asking…</p>
    ) : undefined}
    {view.running.value?.length === 0 ? <p class="empty">No attempt is under way.</p> : undefined}
    <ul class="rows">
      {view.running.value?.map(({ activeAt, head, threadId, title }) => (
        <li key={threadId}>
          <a class="row-link" href={hrefOf({ page: "thread", ownerId: view.ownerId, threadId })}>
            <span class="mono clip">{threadId}</span>
            <span class="clip">{straight(title ?? "")}</span>
            <span class="mono clip dim">{head?.agent}</span>
            <span class="numbers">
              {activeAt === undefined ? undefined : <Ago at={activeAt} />}
            </span>
          </a>
        </li>
      ))}
    </ul>
    {(view.running.value?.length ?? 0) >= runningMax ? (
      <Rest to={{ page: "threads", ownerId: view.ownerId, filter: { state: "running" } }}>
        There may be more: all that run
      </Rest>
    ) : undefined}
  </Panel>
)

const passesShown = 12

const Passes = ({ view: { passes } }: { readonly view: OwnerView }) => (
  <Panel id="passes-title" title="Last passes">
    {passes.value.length === 0 ? <p class="empty">None has found anything due.</p> : undefined}
    <table hidden={passes.value.length === 0}>
      <thead>
        <tr>
          <th scope="col">Ended</th>
          <th scope="col">Took</th>
          <th scope="col">Settled</th>
          <th scope="col">Recovered</th>
          <th scope="col">Calls</th>
          <th scope="col">Ended by</th>
        </tr>
      </thead>
      <tbody>
        {passes.value.slice(0, passesShown).map((pass) => (
          <tr key={pass.endedAt}>
            <td>{clockOf(pass.endedAt)}</td>
            <td>{durationOf(pass.endedAt - pass.startedAt)}</td>
            <td>{countOf(pass.settled)}</td>
            <td>{countOf(pass.recovered)}</td>
            <td>{countOf(pass.actorCalls)}</td>
            <td class={pass.endedBy === "failure" ? "tone-faulted" : undefined}>{pass.endedBy}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Panel>
)

const HostLanes = ({ status }: { readonly status: MaintenanceStatus | undefined }) =>
  status?.hostLanes === undefined ? undefined : (
    <Panel id="hosts-title" title="Host lanes">
      <ul class="rows">
        {status.hostLanes.map(({ failures, name, nextAt, state }) => (
          <li key={name} class="row-link">
            <span class="mono clip">{name}</span>
            <span class={state === "stopped" ? "tone-faulted" : undefined}>{state}</span>
            <span>{failures > 0 ? `${countOf(failures)} failed in a row` : undefined}</span>
            <span class="numbers">{nextAt === undefined ? undefined : <Ago at={nextAt} />}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )

const useOwner = (ownerId: string): OwnerView => {
  const view = useMemo(() => openOwner(ownerId), [ownerId])
  useEffect(() => view.stop, [view])
  return view
}

export const Owner = ({ ownerId }: { readonly ownerId: string }) => {
  const view = useOwner(ownerId)
  const status = view.status.value
  return (
    <div class="page">
      <div class="page-head">
        <h1 class="mono">{ownerId}</h1>
        <LiveBadge live={view.live} />
      </div>
      <Unanswered view={view} asked="status" />
      {status === undefined ? (
        <p class="empty">{isAsking(view, "status") ? "Asking the owner…" : undefined}</p>
      ) : (
        <>
          {status.dirty === undefined ? (
            <p class="lead">
              Nothing was ever given to this owner. If you expected work here, look at its id: any
              id leads to an owner.
            </p>
          ) : undefined}
          <Warnings status={status} />
          <Counters status={status} />
        </>
      )}
      <Unanswered view={view} asked="found" />
      <div class="overview">
        <ClothView view={view} />
        <div class="aside">
          <Waits view={view} />
          <Faults view={view} />
          <Running view={view} />
          <Passes view={view} />
          <HostLanes status={status} />
        </div>
      </div>
    </div>
  )
}
