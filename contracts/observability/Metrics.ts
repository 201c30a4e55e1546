/**
 * The metrics of a deployment: names, units and what they count. `docs/observe.md` says how to look at them.
 *
 * - M1 None of them names an owner, a thread or a submission: a series per tenant would cost more than it tells.
 */
import { type Context, Metric } from "effect"

interface Description {
  readonly name: string
  readonly unit: string
  readonly description: string
}

interface Histogram extends Description {
  readonly boundaries: ReadonlyArray<number>
}

/** What only grows. */
export const counters = {
  accepted: {
    name: "heddle.submissions.accepted",
    unit: "{submission}",
    description: "Submissions that were admitted, as their owners have heard of them.",
  },
  settled: {
    name: "heddle.submissions.settled",
    unit: "{submission}",
    description: "Submissions that have settled, by `heddle.outcome`.",
  },
  attempts: {
    name: "heddle.attempts",
    unit: "{attempt}",
    description: "Attempts that turns have started.",
  },
  faults: {
    name: "heddle.faults",
    unit: "{fault}",
    description: "Threads that could not be recovered, each counted when it began.",
  },
  rowsRead: {
    name: "heddle.rows.read",
    unit: "{row}",
    description: "Rows that statements have read, by `heddle.object`.",
  },
  rowsWritten: {
    name: "heddle.rows.written",
    unit: "{row}",
    description: "Rows that statements have written, index entries among them, by `heddle.object`.",
  },
  alarmWrites: {
    name: "heddle.alarm.writes",
    unit: "{write}",
    description: "Alarms that owners have set or deleted.",
  },
  dropped: {
    name: "heddle.telemetry.dropped",
    unit: "{span}",
    description: "Spans that no collector has taken.",
  },
} as const satisfies Readonly<Record<string, Description>>

/** What is told once for each pass. */
export const histograms = {
  passDuration: {
    name: "heddle.pass.duration",
    unit: "ms",
    description: "How long a pass took.",
    boundaries: [5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 60_000, 300_000, 600_000],
  },
  passCalls: {
    name: "heddle.pass.calls",
    unit: "{call}",
    description: "Calls of threads and of the owner registry that a pass made.",
    boundaries: [0, 1, 2, 5, 10, 25, 50, 100, 200, 400, 800],
  },
  queueAge: {
    name: "heddle.queue.age",
    unit: "ms",
    description: "How long the lane that was due first had waited when a pass began.",
    boundaries: [1, 10, 50, 100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 1_800_000],
  },
} as const satisfies Readonly<Record<string, Histogram>>

export type Counter = keyof typeof counters
export type HistogramName = keyof typeof histograms

/** Of what kind a series is, where there are several. // M1 */
export interface Labels {
  readonly outcome?: "completed" | "failed" | "aborted"
  readonly object?: "owner" | "thread"
}

const labelled = ({ object, outcome }: Labels): Record<string, string> => ({
  ...(outcome === undefined ? {} : { "heddle.outcome": outcome }),
  ...(object === undefined ? {} : { "heddle.object": object }),
})

const unitOf = ({ unit }: Description) => ({ unit })

const counterOf = (counter: Counter) => {
  const { description, name } = counters[counter]
  return Metric.counter(name, { description, incremental: true })
}

const histogramOf = (histogram: HistogramName) => {
  const { boundaries, description, name } = histograms[histogram]
  return Metric.histogram(name, { description, boundaries })
}

/** Adds to a counter in the registry of a context. */
export const add = (
  context: Context.Context<never>,
  counter: Counter,
  by: number,
  labels: Labels = {},
): void => {
  if (by <= 0) return
  const attributes = { ...unitOf(counters[counter]), ...labelled(labels) }
  Metric.withAttributes(counterOf(counter), attributes).updateUnsafe(by, context)
}

/** Tells a histogram in the registry of a context one value. */
export const tell = (
  context: Context.Context<never>,
  histogram: HistogramName,
  value: number,
): void => {
  Metric.withAttributes(histogramOf(histogram), unitOf(histograms[histogram])).updateUnsafe(
    value,
    context,
  )
}
