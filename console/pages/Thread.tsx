/** The page of a thread: what is open and what it waits for, and all that was recorded, as it happens. */
import { useEffect, useMemo, useState } from "preact/hooks"
import { plural, previewOf, straight } from "../lib/Format.ts"
import { listedAs } from "../lib/Named.ts"
import { hrefOf } from "../lib/Route.ts"
import { isPaused, pauseCommand, standingOf } from "../lib/Standing.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Failure } from "../parts/Failure.tsx"
import { Chip } from "../parts/Glyph.tsx"
import { ListEnd } from "../parts/ListEnd.tsx"
import { LiveBadge } from "../parts/LiveBadge.tsx"
import { OpenCard } from "../parts/OpenCard.tsx"
import { Timeline } from "../parts/Timeline.tsx"
import { Value } from "../parts/Value.tsx"
import { heddle } from "../state/Deployment.ts"
import { useLoad } from "../state/Load.ts"
import { openThread, type ThreadView } from "../state/ThreadView.ts"

const openShown = 8

/** What its owner's list of threads says of it: its title, and that of a thread that says nothing of itself. */
const useListed = ({ ownerId, threadId }: ThreadView) =>
  useLoad(`listed ${ownerId} ${threadId}`, async (signal) => {
    const { threads } = await heddle.listThreads(listedAs(ownerId, threadId), { signal })
    return threads.find((thread) => thread.threadId === threadId)
  })

const Head = ({ view }: { readonly view: ThreadView }) => {
  const { ownerId, threadId } = view
  const listed = useListed(view)
  const title = listed.value?.title
  const open = view.open.value ?? []
  const standing = standingOf(open, view.lane.value)
  const paused = isPaused(open, view.lane.value, listed.value)
  const done = () => {
    view.reload()
    listed.reload()
  }
  return (
    <div class="page-head">
      <div>
        <h1 class="mono">{threadId}</h1>
        {title ? <p class="lead">{straight(title)}</p> : undefined}
      </div>
      {view.open.value === undefined ? undefined : <Chip condition={standing} />}
      {paused && standing !== "paused" ? <Chip condition="paused" /> : undefined}
      <LiveBadge live={view.live} />
      <span class="spring" />
      <span class="buttons">
        <CommandButton
          ownerId={ownerId}
          command={pauseCommand(threadId, open, view.lane.value, listed.value)}
          done={done}
        />
        <CommandButton quiet ownerId={ownerId} command={{ kind: "wake", threadId }} done={done} />
        {standing === "faulted" ? (
          <a class="button" href={hrefOf({ page: "fault", ownerId, threadId })}>
            The fault
          </a>
        ) : undefined}
      </span>
    </div>
  )
}

const Open = ({ view }: { readonly view: ThreadView }) => {
  const [isAll, setAll] = useState(false)
  const open = view.open.value ?? []
  if (open.length === 0) return undefined
  const shown = isAll ? open : open.slice(0, openShown)
  return (
    <section aria-label="Open submissions">
      {shown.map((one) => (
        <OpenCard
          key={one.submissionId}
          ownerId={view.ownerId}
          threadId={view.threadId}
          open={one}
          records={view.records.value}
          done={view.reload}
        />
      ))}
      {shown.length < open.length ? (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          {plural(open.length - shown.length, "more open submission")}
        </button>
      ) : undefined}
    </section>
  )
}

/** What the present attempt shows before anything of it is on record. */
const Chunks = ({ view }: { readonly view: ThreadView }) => {
  const chunks = view.chunks.value
  return chunks.length === 0 ? undefined : (
    <section class="chunks" aria-label="What the run shows now">
      {chunks.map((chunk) => previewOf(chunk, 80)).join(" ")}
    </section>
  )
}

const StateValue = ({ ownerId, threadId }: ThreadView) => {
  const { error, reload, value } = useLoad(`state ${ownerId} ${threadId}`, (signal) =>
    heddle.readState({ ownerId, threadId }, { signal }),
  )
  if (error !== undefined) return <Failure error={error} again={reload} />
  if (value === undefined) return <p class="empty">Asking…</p>
  return value.version === 0 ? (
    <p class="empty">No run has written it.</p>
  ) : (
    <>
      <p class="dim">
        version {value.version}{" "}
        <button type="button" class="link" onClick={reload}>
          read again
        </button>
      </p>
      <Value value={value.value} label="The thread's state" />
    </>
  )
}

const State = ({ view }: { readonly view: ThreadView }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="state" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>State of the thread</summary>
      {isOpen ? <StateValue {...view} /> : undefined}
    </details>
  )
}

/** Older pages are read until the submission that was asked for is here. */
const useFound = (view: ThreadView, submissionId: string | undefined) => {
  const isHere = view.records.value.some((record) => record.submissionId === submissionId)
  const older = view.older.value
  useEffect(() => {
    if (submissionId !== undefined && !isHere && older !== undefined) view.readOlder()
  }, [submissionId, isHere, older])
  return isHere
}

const Only = ({
  submissionId,
  view,
}: {
  readonly view: ThreadView
  readonly submissionId: string
}) => {
  const { ownerId, threadId } = view
  const isHere = useFound(view, submissionId)
  return (
    <p class="list-head">
      <span>
        {isHere || view.older.value !== undefined
          ? "One submission alone: "
          : "There is no record of this submission: "}
        <span class="mono">{submissionId}</span>
      </span>
      <a href={hrefOf({ page: "thread", ownerId, threadId })}>all of the thread</a>
    </p>
  )
}

/** What is known of the records that are not here. Of one submission alone no more is offered once it is found. */
const OlderEnd = ({
  only,
  view,
}: {
  readonly view: ThreadView
  readonly only: string | undefined
}) => {
  const { isReadingOlder, older, olderError, readOlder, records } = view
  const error = olderError.value
  if (error !== undefined) return <Failure error={error} again={readOlder} />
  const isFound = records.value.some(({ submissionId }) => submissionId === only)
  const isWhole = older.value === undefined || isFound
  const isReading = isReadingOlder.value
  return <ListEnd list={{ error, isReading, isWhole, more: readOlder }} />
}

const Records = ({
  only,
  view,
}: {
  readonly view: ThreadView
  readonly only: string | undefined
}) => {
  const count = view.records.value.length
  if (!view.isRead.value) {
    const failure = view.live.failure.value
    if (failure !== undefined) return <Failure error={failure} again={view.live.again} />
    return <p class="empty">Reading the history…</p>
  }
  return count === 0 ? (
    <p class="empty">Nothing is on record: this thread has had no input that ran.</p>
  ) : (
    <>
      <Timeline view={view} only={only} />
      <OlderEnd view={view} only={only} />
    </>
  )
}

const useThread = (ownerId: string, threadId: string): ThreadView => {
  const view = useMemo(() => openThread({ ownerId, threadId }), [ownerId, threadId])
  useEffect(() => view.stop, [view])
  return view
}

export const Thread = ({
  ownerId,
  submissionId,
  threadId,
}: {
  readonly ownerId: string
  readonly threadId: string
  readonly submissionId: string | undefined
}) => {
  const view = useThread(ownerId, threadId)
  const error = view.error.value
  return (
    <div class="page">
      <Head view={view} />
      {error === undefined ? undefined : <Failure error={error} again={view.reload} />}
      <Open view={view} />
      <State view={view} />
      <h2>Timeline</h2>
      {submissionId === undefined ? undefined : <Only view={view} submissionId={submissionId} />}
      <Chunks view={view} />
      <Records view={view} only={submissionId} />
    </div>
  )
}
