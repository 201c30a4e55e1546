/** The threads of an owner that cannot be recovered, and each of them with what is known about it. */
import type { RecoveryExplanation, RecoveryFault } from "../../client/sdk/index.ts"
import { useEffect, useRef } from "preact/hooks"
import { lookMillis } from "../lib/Backoff.ts"
import { plural, stampOf, straight } from "../lib/Format.ts"
import { listedAs } from "../lib/Named.ts"
import { hrefOf } from "../lib/Route.ts"
import { isPaused, pauseCommand } from "../lib/Standing.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Failure } from "../parts/Failure.tsx"
import { Chip } from "../parts/Glyph.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { OpenCard } from "../parts/OpenCard.tsx"
import { Stale } from "../parts/Stale.tsx"
import { Ago, Since } from "../parts/Time.tsx"
import { useChanges } from "../state/Changes.ts"
import { heddle } from "../state/Deployment.ts"
import { type Loaded, useLoad } from "../state/Load.ts"
import { present, visible } from "../state/Now.ts"
import { usePages } from "../state/Pages.ts"

export const Faults = ({ ownerId }: { readonly ownerId: string }) => {
  const list = usePages(ownerId, async (after, signal) => {
    const asked = { ownerId, state: "faulted", ...(after === undefined ? {} : { after }) } as const
    const page = await heddle.listThreads(asked, { signal })
    return { rows: page.threads, next: page.next }
  })
  const live = useChanges(ownerId, list.refresh)
  return (
    <div class="page narrow">
      <div class="page-head">
        <h1>Faults</h1>
        <LiveBadge live={live} />
      </div>
      <Stale list={list} />
      <p class="lead">
        Threads whose recovery fails. Each is tried again by itself; the others are not affected.
      </p>
      {list.error === undefined ? undefined : <Failure error={list.error} again={list.again} />}
      {list.isWhole && list.rows.length === 0 ? (
        <p class="empty">No thread of this owner has a fault.</p>
      ) : undefined}
      <ul class="rows" aria-label="Faults">
        {list.rows.map(({ activeAt, head, threadId }) => (
          <li key={threadId}>
            <a class="row-link" href={hrefOf({ page: "fault", ownerId, threadId })}>
              <Chip condition="faulted" />
              <span class="mono clip">{threadId}</span>
              <span class="mono clip dim">{head?.agent}</span>
              <span class="numbers dim">
                {activeAt === undefined ? undefined : <Ago at={activeAt} />}
              </span>
            </a>
          </li>
        ))}
      </ul>
      <ListEnd list={list} />
    </div>
  )
}

interface Known {
  readonly fault: RecoveryFault | null
  readonly open: ReadonlyArray<RecoveryExplanation>
  /** Why nothing could be explained: the thread itself may not be readable. */
  readonly unexplained: unknown
  /** How the owner sees its lane. */
  readonly condition: string
  readonly paused: boolean
  /** Which submission a retry would name. */
  readonly submissionId: string | undefined
}

/** The owner knows the fault; what the thread says of itself is added where it can be had. */
const know = async (ownerId: string, threadId: string, signal: AbortSignal): Promise<Known> => {
  const at = { ownerId, threadId }
  const [fault, listed, explained] = await Promise.all([
    heddle.recoveryStatus(at, { signal }),
    heddle.listThreads(listedAs(ownerId, threadId), { signal }),
    heddle.explain(at, { signal }).then(
      (open) => ({ open, unexplained: undefined }),
      (error: unknown) => ({ open: [], unexplained: error }),
    ),
  ])
  const thread = listed.threads.find((one) => one.threadId === threadId)
  const submissionId = explained.open[0]?.submissionId ?? thread?.head?.submissionId
  const condition = fault === null ? (thread?.state ?? "idle") : "faulted"
  const paused = isPaused(explained.open, thread)
  return { fault, ...explained, condition, paused, submissionId }
}

const FaultFacts = ({ fault }: { readonly fault: RecoveryFault }) => (
  <dl class="facts">
    <dt>What failed</dt>
    <dd>
      <span class="mono">{straight(fault.failure.operation)}</span> ({fault.failure.phase},{" "}
      {fault.failure.reason})
    </dd>
    <dt>With</dt>
    <dd>
      <strong class="tone-faulted">{straight(fault.failure.tag)}</strong>:{" "}
      {straight(fault.failure.message)}
    </dd>
    <dt>Since</dt>
    <dd>
      {stampOf(fault.firstFailedAt)}, for <Since at={fault.firstFailedAt} />
    </dd>
    <dt>Tried</dt>
    <dd>
      {plural(fault.attempts, "time")}, the last time <Ago at={fault.lastFailedAt} />
    </dd>
    <dt>Tried again</dt>
    <dd class="countdown">
      <Ago at={fault.retryAt} />
    </dd>
  </dl>
)

/**
 * Asked again once the time of the next try has come, and while nothing comes of it: what only the thread knows, and what a
 * stream that cannot be had would tell.
 */
const useFresh = ({ isLoading, reload, value }: Loaded<Known>): void => {
  const retryAt = value?.fault?.retryAt
  const isSeen = visible.value
  const looked = useRef({ retryAt, looks: 0 })
  useEffect(() => {
    if (retryAt === undefined || !isSeen || isLoading) return undefined
    if (looked.current.retryAt !== retryAt) looked.current = { retryAt, looks: 0 }
    const { current } = looked
    const timer = setTimeout(
      () => {
        current.looks += 1
        reload()
      },
      lookMillis({ untilMillis: retryAt - present(), looks: current.looks }),
    )
    return () => clearTimeout(timer)
  }, [retryAt, isSeen, isLoading])
}

const Acts = ({
  done,
  known,
  ownerId,
  threadId,
}: {
  readonly known: Known | undefined
  readonly ownerId: string
  readonly threadId: string
  readonly done: () => void
}) => {
  const submissionId = known?.submissionId
  const pause = pauseCommand(threadId, known?.open ?? [], known)
  return (
    <span class="buttons">
      {submissionId === undefined || known?.fault === null ? undefined : (
        <CommandButton
          ownerId={ownerId}
          command={{ kind: "retry", threadId, submissionId }}
          done={done}
        />
      )}
      <CommandButton quiet ownerId={ownerId} command={pause} done={done} />
      <a class="button quiet small" href={hrefOf({ page: "thread", ownerId, threadId })}>
        The thread
      </a>
    </span>
  )
}

export const Fault = ({
  ownerId,
  threadId,
}: {
  readonly ownerId: string
  readonly threadId: string
}) => {
  const loaded = useLoad(`fault ${ownerId} ${threadId}`, (signal) =>
    know(ownerId, threadId, signal),
  )
  const { error, reload, value: known } = loaded
  const live = useChanges(ownerId, async () => reload(), threadId)
  useFresh(loaded)
  return (
    <div class="page narrow">
      <div class="page-head">
        <h1 class="mono">{threadId}</h1>
        {known === undefined ? undefined : <Chip condition={known.condition} />}
        {known?.paused === true && known.condition !== "paused" ? (
          <Chip condition="paused" />
        ) : undefined}
        <LiveBadge live={live} />
        <span class="spring" />
        <Acts known={known} ownerId={ownerId} threadId={threadId} done={reload} />
      </div>
      {error === undefined ? undefined : <Failure error={error} again={reload} />}
      {known === undefined && error === undefined ? <p class="empty">Asking…</p> : undefined}
      {known?.fault === null ? (
        <p class="empty">No fault is recorded now, which is no proof of health: see below.</p>
      ) : undefined}
      {known?.fault ? <FaultFacts fault={known.fault} /> : undefined}
      <h2>What recovery would do</h2>
      {known?.unexplained === undefined ? undefined : <Failure error={known.unexplained} />}
      {known !== undefined && known.open.length === 0 && known.unexplained === undefined ? (
        <p class="empty">Nothing of this thread is open.</p>
      ) : undefined}
      {known?.open.map((open) => (
        <OpenCard
          key={open.submissionId}
          ownerId={ownerId}
          threadId={threadId}
          open={open}
          records={[]}
          done={reload}
        />
      ))}
    </div>
  )
}
