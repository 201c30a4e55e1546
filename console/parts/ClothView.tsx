/** The lanes of an owner as a live picture: who was served after whom, and how each stands. */
import { useState } from "preact/hooks"
import { type ClothRow, presentOf } from "../lib/Cloth.ts"
import { wordsOf } from "../lib/Condition.ts"
import { plural } from "../lib/Format.ts"
import { hrefOf } from "../lib/Route.ts"
import type { OwnerView } from "../state/OwnerView.ts"
import { now } from "../state/Now.ts"
import { Chip } from "./Glyph.tsx"
import { Picture, rowPixels } from "./Picture.tsx"
import { Ago, Clock } from "./Time.tsx"

const minute = 60_000
const windows = [1, 5, 30] as const

const Label = ({
  isLast,
  ownerId,
  row,
}: {
  readonly row: ClothRow
  readonly ownerId: string
  readonly isLast: boolean
}) => {
  const { condition } = presentOf(row)
  return (
    <li style={{ height: `${rowPixels}px` }} class={isLast ? "served" : undefined}>
      <a
        class="mono"
        href={hrefOf({ page: "thread", ownerId, threadId: row.threadId })}
        aria-label={`${row.threadId} ${wordsOf(condition).means}`}
        title={`${row.threadId} ${wordsOf(condition).means}${isLast ? "; it was served last" : ""}`}
      >
        {row.threadId}
      </a>
    </li>
  )
}

/** How it stands now; of what waits for its time, how long that is. */
const Present = ({ row }: { readonly row: ClothRow }) => {
  const { condition } = presentOf(row)
  const isAhead = row.workAt !== undefined && row.workAt > now.value && condition !== "running"
  return (
    <li style={{ height: `${rowPixels}px` }}>
      <Chip condition={condition} />
      {isAhead ? (
        <small class="dim">
          <Ago at={row.workAt ?? 0} />
        </small>
      ) : undefined}
    </li>
  )
}

const Legend = () => (
  <p class="legend" aria-hidden>
    {["running", "ready", "suspended", "unknown", "faulted", "paused"].map((condition) => (
      <Chip key={condition} condition={condition} />
    ))}
    <span class="chip">
      <span class="weft-sample" /> told
    </span>
    <span class="chip">
      <span class="pass-sample" /> pass
    </span>
  </p>
)

export const ClothView = ({ view }: { readonly view: OwnerView }) => {
  const [minutes, setMinutes] = useState<number>(1)
  const { rows, unseen } = view.cloth.value
  const status = view.status.value
  const last = status?.lastServedThreadId
  return (
    <section class="panel cloth" aria-labelledby="cloth-title">
      <header>
        <h2 id="cloth-title">Lanes</h2>
        <p class="dim">
          as seen since <Clock at={view.sinceAt} />
          {unseen > 0 ? `; ${plural(unseen, "more change")} of lanes without a row` : undefined}
        </p>
        <span class="spring" />
        <fieldset class="segments" aria-label="Time shown">
          {windows.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={minutes === one}
              onClick={() => setMinutes(one)}
            >
              {one} min
            </button>
          ))}
        </fieldset>
      </header>
      {rows.length === 0 ? (
        <p class="empty">
          {view.isFound.value
            ? "No lane owes anything, and none has changed since."
            : "Not known: the lanes were not told yet."}
        </p>
      ) : (
        <div class="weave">
          <ul aria-label="Lanes">
            {rows.map((row) => (
              <Label
                key={row.threadId}
                row={row}
                ownerId={view.ownerId}
                isLast={row.threadId === last}
              />
            ))}
          </ul>
          <Picture rows={rows} passes={view.passes.value} windowMillis={minutes * minute} />
          <ul class="presents" aria-label="How they stand">
            {rows.map((row) => (
              <Present key={row.threadId} row={row} />
            ))}
          </ul>
        </div>
      )}
      <Legend />
    </section>
  )
}
