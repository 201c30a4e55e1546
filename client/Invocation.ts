/**
 * The telemetry of one invocation of a stateless Worker: what it has to tell goes out behind its answer.
 */
import type { MakeTelemetry, Telemetry } from "../contracts/observability/Telemetry.ts"
import { unobserved } from "../contracts/observability/Telemetry.ts"

/** The part of an `ExecutionContext` that the edge uses. */
export interface Invocation {
  readonly waitUntil: (promise: Promise<unknown>) => void
}

/** Who collects the spans of the invocations of an environment, if anybody. */
export type ObserveInvocation = (env: unknown) => MakeTelemetry | undefined

export const observed = (
  observe: ObserveInvocation | undefined,
  env: unknown,
  invocation: Invocation,
): Telemetry =>
  observe?.(env)?.({
    now: () => Date.now(),
    waitUntil: (promise) => invocation.waitUntil(promise),
    // All that an invocation tells has ended before its event has.
    macrotask: (task) => task(),
    once: true,
  }) ?? unobserved
