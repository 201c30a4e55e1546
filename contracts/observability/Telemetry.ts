/**
 * What an object or an edge tells of itself to whoever collects it, if anybody does.
 *
 * - T1 It is told at the end of events, never by a timer: what is idle stays idle.
 * - T2 Nobody who works waits for it, and nothing that becomes of it fails anything.
 */
import { Context } from "effect"
import type { Counter, HistogramName, Labels } from "./Metrics.ts"

export interface Telemetry {
  /** What effects run under, so that their spans and metrics are collected. */
  readonly context: Context.Context<never>
  /** Counts an event as under way for as long as the work takes. A reader may stay for hours, and is none that is waited for. */
  readonly event: <A>(work: () => Promise<A>, kind?: "reader") => Promise<A>
  readonly add: (counter: Counter, by: number, labels?: Labels) => void
  readonly tell: (histogram: HistogramName, value: number) => void
  /** Called before what has come together is sent. */
  readonly beforeSending: (gather: () => void) => void
}

/** Nobody collects anything. */
export const unobserved: Telemetry = {
  context: Context.empty(),
  event: (work) => work(),
  add: () => undefined,
  tell: () => undefined,
  beforeSending: () => undefined,
}

/** What telemetry needs of where it runs. */
export interface TelemetryHost {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Keeps whoever it is alive until the promise settles. // T2 */
  readonly waitUntil: (promise: Promise<unknown>) => void
  /** Runs a task once the present event has had its say. // T1 */
  readonly macrotask: (task: () => void) => void
  /** Of an invocation, which has gone when its event has ended: nothing comes after what it tells then. */
  readonly once?: true
}

/** Makes the telemetry of one object, or of one invocation of an edge. */
export type MakeTelemetry = (host: TelemetryHost) => Telemetry

/** What statements of an object have read and written so far. */
interface Rows {
  readonly read: number
  readonly written: number
  readonly alarmWrites: number
}

/** Has the rows of an object told with whatever else is sent. */
export const tellRows = (
  telemetry: Telemetry,
  object: NonNullable<Labels["object"]>,
  counts: () => Rows,
): void => {
  let told: Rows = { read: 0, written: 0, alarmWrites: 0 }
  telemetry.beforeSending(() => {
    const now = counts()
    telemetry.add("rowsRead", now.read - told.read, { object })
    telemetry.add("rowsWritten", now.written - told.written, { object })
    telemetry.add("alarmWrites", now.alarmWrites - told.alarmWrites)
    told = now
  })
}
