/** The timeline of a thread: its submissions, the newest first, each from its input to its end. */
import { useMemo } from "preact/hooks"
import type { RecoveryExplanation } from "../../client/sdk/index.ts"
import { durationOf, plural } from "../lib/Format.ts"
import { hrefOf } from "../lib/Route.ts"
import { fieldsOf } from "../lib/RecordWords.ts"
import { type Group, groupsOf, type Item } from "../lib/Timeline.ts"
import { now } from "../state/Now.ts"
import type { ThreadView } from "../state/ThreadView.ts"
import { Chip } from "./Glyph.tsx"
import { ItemRow } from "./ItemRow.tsx"
import { Ago } from "./Time.tsx"
import { VirtualList } from "./VirtualList.tsx"

type Row =
  | { readonly kind: "group"; readonly group: Group }
  | { readonly kind: "attempt"; readonly group: Group; readonly epoch: number }
  | { readonly kind: "item"; readonly group: Group; readonly item: Item }

/** A new attempt is told where it begins. */
const rowsOf = (groups: ReadonlyArray<Group>): ReadonlyArray<Row> =>
  groups.flatMap((group) => {
    const rows: Array<Row> = [{ kind: "group", group }]
    let epoch = group.items[0]?.epoch
    for (const item of group.items) {
      if (item.epoch !== epoch) rows.push({ kind: "attempt", group, epoch: item.epoch })
      epoch = item.epoch
      rows.push({ kind: "item", group, item })
    }
    return rows
  })

const keyOf = (row: Row | undefined): string => {
  switch (row?.kind) {
    case "group":
      return row.group.submissionId
    case "attempt":
      return `${row.group.submissionId} ${row.epoch}`
    case "item":
      return String(row.item.sequence)
    case undefined:
      return ""
  }
}

const agentOf = (group: Group, open: RecoveryExplanation | undefined): string => {
  const agent = group.input && fieldsOf(group.input)["agent"]
  return typeof agent === "string" ? agent : (open?.agent ?? "")
}

const GroupHead = ({
  group,
  open,
  view,
}: {
  readonly group: Group
  readonly open: RecoveryExplanation | undefined
  readonly view: ThreadView
}) => {
  const { ownerId, threadId } = view
  const { fromAt, settled, submissionId, toAt } = group
  const attempts = group.attempts ?? open?.attempts ?? 0
  const end = settled === undefined ? Math.max(now.value, toAt) : toAt
  return (
    <h3 class="group-head">
      <Chip condition={group.outcome ?? open?.state ?? "open"} />
      <span class="mono">{agentOf(group, open)}</span>
      <a
        class="mono dim"
        href={hrefOf({ page: "thread", ownerId, threadId, submissionId })}
        title="This submission alone"
      >
        {submissionId}
      </a>
      <span class="spring" />
      {attempts > 1 ? <span>{plural(attempts, "attempt")}</span> : undefined}
      <span class="numbers">{durationOf(end - fromAt)}</span>
      <span class="numbers dim">
        <Ago at={fromAt} />
      </span>
      {group.cut && view.older.value !== undefined ? (
        <span class="dim">begins further back</span>
      ) : undefined}
    </h3>
  )
}

const AttemptMark = ({ epoch }: { readonly epoch: number }) => (
  <p class="attempt-mark">
    <span title="The run was entered again: what was on record answered without running">
      the attempt of epoch {epoch}
    </span>
  </p>
)

export const Timeline = ({
  only,
  view,
}: {
  readonly view: ThreadView
  /** This submission alone. */
  readonly only: string | undefined
}) => {
  const records = view.records.value
  const rows = useMemo(() => {
    const groups = groupsOf(records).filter(
      ({ submissionId }) => only === undefined || submissionId === only,
    )
    return rowsOf(groups.toReversed())
  }, [records, only])
  const open = view.open.value ?? []
  const rowAt = (row: Row | undefined) => {
    switch (row?.kind) {
      case "group":
        return (
          <GroupHead
            group={row.group}
            view={view}
            open={open.find(({ submissionId }) => submissionId === row.group.submissionId)}
          />
        )
      case "attempt":
        return <AttemptMark epoch={row.epoch} />
      case "item":
        return <ItemRow ownerId={view.ownerId} group={row.group} item={row.item} />
      case undefined:
        return undefined
    }
  }
  return (
    <VirtualList
      label="Timeline"
      count={rows.length}
      total={view.older.value === undefined ? rows.length : -1}
      rowPixels={34}
      keyOf={(index) => keyOf(rows[index])}
      row={(index) => rowAt(rows[index])}
      onEnd={view.readOlder}
    />
  )
}
