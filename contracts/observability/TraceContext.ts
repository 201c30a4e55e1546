/**
 * The trace that a call or a submission belongs to, as it crosses and as it is stored: ids of W3C Trace Context. Pure.
 *
 * - T1 What comes from elsewhere is taken whole and well-formed, or there is none: never an error, never more than 55
 *   characters that are stored.
 */
import { Context, Effect, Tracer } from "effect"

export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 of them: the span to continue from. */
  readonly spanId: string
  readonly sampled: boolean
}

const traceIds = /^(?!0{32})[0-9a-f]{32}$/
const spanIds = /^(?!0{16})[0-9a-f]{16}$/

/** The trace that these fields name, if they do. */
export const traceOf = (fields: {
  readonly traceId?: unknown
  readonly spanId?: unknown
  readonly sampled?: unknown
}): TraceContext | undefined => {
  const { sampled, spanId, traceId } = fields
  if (typeof traceId !== "string" || !traceIds.test(traceId)) return undefined // T1
  if (typeof spanId !== "string" || !spanIds.test(spanId)) return undefined // T1
  return { traceId, spanId, sampled: sampled !== false }
}

const traceparents = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/

/** As one text: `00-TRACE-SPAN-FLAGS`. */
export const traceparentOf = ({ sampled, spanId, traceId }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${sampled ? "1" : "0"}`

/** The trace of a text; none of one that is damaged. */
export const readTraceparent = (text: unknown): TraceContext | undefined => {
  if (typeof text !== "string") return undefined
  const [, traceId, spanId, flags] = traceparents.exec(text) ?? []
  return traceOf({ traceId, spanId, sampled: flags === "1" })
}

/** Whether a text names a trace. */
export const isTraceparent = (text: unknown): text is string => readTraceparent(text) !== undefined

/** The span that an effect runs in, if any: one of ours, or the caller's. */
export const spanIn = (context: Context.Context<never>): Tracer.AnySpan | undefined =>
  Context.getOrUndefined(context, Tracer.ParentSpan)

/** The trace that an effect runs in, as it is stored. */
export const traceparentIn = (context: Context.Context<never>): string | undefined => {
  const span = spanIn(context)
  const trace = span && traceOf(span)
  return trace && traceparentOf(trace)
}

/** Has the work continue this trace, whether or not anybody collects spans here. */
export const continuing = <A, E, R>(
  trace: TraceContext | undefined,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  trace === undefined
    ? work
    : Effect.provideService(work, Tracer.ParentSpan, Tracer.externalSpan(trace))
