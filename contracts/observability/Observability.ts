/**
 * What a deployment tells of itself, and whom.
 *
 * - V1 What sends to a collector is brought by who wants it: a deployment without one does not carry it.
 */
import type { Context, LogLevel } from "effect"
import { jsonLog } from "./JsonLog.ts"
import { type MakeTelemetry, unobserved } from "./Telemetry.ts"

/** What a collector is told besides. */
export interface Surroundings {
  /** Which deployment tells. */
  readonly serviceVersion: string
  /** What effects run under besides. */
  readonly context?: Context.Context<never>
  /** Default the platform's. */
  readonly fetch?: typeof globalThis.fetch
}

/** How the objects and edges of an environment tell a collector; undefined where it names none. */
export type Collector = (env: unknown, surroundings: Surroundings) => MakeTelemetry | undefined // V1

export interface Observability {
  /** The least level of what is logged. Default `Info`; `Debug` tells each repetition of what was told once, too. */
  readonly logLevel?: LogLevel.LogLevel
  /** Which collector is told of spans and metrics: `otlp()`. None by default. */
  readonly otlp?: Collector
}

/** How the objects and edges of an environment tell of themselves: in their log, and to a collector where one is named. */
export const telemetryOf = (
  { logLevel, otlp }: Observability = {},
  env: unknown,
  serviceVersion: string,
): MakeTelemetry => {
  const context = jsonLog(logLevel)
  return otlp?.(env, { context, serviceVersion }) ?? (() => ({ ...unobserved, context }))
}
