/**
 * One thing of a run in the timeline: its line, how long it took, and on demand all that is recorded of it.
 *
 * - I1 What is recorded is written out once, however long it is looked at: only the small parts that ask the time change.
 */
import { useMemo, useState } from "preact/hooks"
import type { JournalRecord } from "../../client/sdk/index.ts"
import { durationOf, stampOf, straight } from "../lib/Format.ts"
import { fieldsOf, lineOf, titleOfKind } from "../lib/RecordWords.ts"
import { hrefOf, type Route } from "../lib/Route.ts"
import type { Group, Item } from "../lib/Timeline.ts"
import { now } from "../state/Now.ts"
import { Glyph } from "./Glyph.tsx"
import { Named } from "./Named.tsx"
import { Clock } from "./Time.tsx"
import { Value } from "./Value.tsx"

const glyphs: Readonly<Record<Item["standing"], string>> = {
  done: "completed",
  open: "suspended",
  failed: "failed",
  unknown: "unknown",
}

/** Where in its run it lies, as a bar. What is open goes on to now. */
const Span = ({ group, item }: { readonly group: Group; readonly item: Item }) => {
  const isOpen = item.standing === "open" || item.standing === "unknown"
  const end = group.settled === undefined ? Math.max(now.value, group.toAt) : group.toAt
  const whole = Math.max(1, end - group.fromAt)
  const from = ((item.fromAt - group.fromAt) / whole) * 100
  const to = (((isOpen ? end : item.toAt) - group.fromAt) / whole) * 100
  return (
    <span class="span" aria-hidden>
      <span
        class={`span-fill standing-${item.standing}`}
        style={{ left: `${from}%`, width: `max(3px, ${to - from}%)` }}
      />
    </span>
  )
}

const lengthOf = (item: Item): string => {
  if (item.standing === "open" || item.standing === "unknown")
    return durationOf(Math.floor((now.value - item.fromAt) / 1_000) * 1_000)
  return item.records.length > 1 ? durationOf(item.toAt - item.fromAt) : ""
}

const Length = ({ item }: { readonly item: Item }) => <span class="numbers">{lengthOf(item)}</span>

/** The thread that the record names as its child's, or its message's. */
const otherOf = ({ kind, ...rest }: JournalRecord, ownerId: string): Route | undefined => {
  if (kind !== "ChildRequested" && kind !== "MessageQueued") return undefined
  const { ownerId: named = ownerId, threadId } = fieldsOf({ kind, ...rest })
  return typeof threadId === "string" && typeof named === "string"
    ? { page: "thread", ownerId: named, threadId }
    : undefined
}

const Other = ({ to }: { readonly to: Route | undefined }) =>
  to === undefined ? undefined : (
    <p>
      <a href={hrefOf(to)}>Its thread</a>
    </p>
  )

const RecordDetail = ({
  ownerId,
  record,
}: {
  readonly ownerId: string
  readonly record: JournalRecord
}) => (
  <section class="record">
    <h4>
      {titleOfKind(record.kind)}
      <small class="mono">
        {" "}
        record {record.sequence} · epoch {record.epoch} · {stampOf(record.recordedAt)}
      </small>
    </h4>
    {record.pruned === true ? (
      <p class="dim">What it said was pruned: this deployment keeps it for a time only.</p>
    ) : (
      <Value
        value={record.payload}
        label={straight(`${titleOfKind(record.kind)} ${record.name ?? ""}`)}
      />
    )}
    <Other to={otherOf(record, ownerId)} />
  </section>
)

/** The line tells the answer once there is one, and what was asked before. */
const lineOfItem = (item: Item): string => {
  const [first] = item.records
  const last = item.records.at(-1) ?? first
  return lineOf(last) || lineOf(first)
}

export const ItemRow = ({
  group,
  item,
  ownerId,
}: {
  readonly ownerId: string
  readonly group: Group
  readonly item: Item
}) => {
  const [isOpen, setOpen] = useState(false)
  const [first] = item.records
  const line = useMemo(() => lineOfItem(item), [item]) // I1
  return (
    <div class={`item standing-${item.standing}`} data-kind={first.kind}>
      <button
        type="button"
        class="item-line"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Glyph condition={first.kind === "AttemptInterrupted" ? "failed" : glyphs[item.standing]} />
        <span class="item-name">
          {titleOfKind(first.kind)}
          {item.name === undefined ? undefined : (
            <span class="mono">
              {" "}
              <Named name={item.name} />
            </span>
          )}
        </span>
        <span class="item-text">{line}</span>
        <Span group={group} item={item} />
        <Length item={item} />
        <span class="numbers dim">
          <Clock at={item.fromAt} />
        </span>
      </button>
      {isOpen ? (
        <div class="records">
          {item.records.map((record) => (
            <RecordDetail key={record.sequence} ownerId={ownerId} record={record} />
          ))}
        </div>
      ) : undefined}
    </div>
  )
}
