/**
 * The spans of a deployment: their names, and how work becomes one.
 *
 * - S1 Where nobody collects spans, none is made, and work runs as it is.
 * - S2 A name is one of a few; whom and what it is about are attributes, of ids and names only.
 */
import { Context, Effect, Tracer } from "effect"
import { continuing, spanIn, type TraceContext } from "./TraceContext.ts"

/** Names of spans besides those of calls, which are a prefix and the operation: `heddle.thread.admit`. */
export const spans = {
  client: "heddle.client",
  edge: "heddle.edge",
  callback: "heddle.edge.callback",
  owner: "heddle.owner",
  thread: "heddle.thread",
  registry: "heddle.registry",
  pass: "heddle.pass",
  dispatch: "heddle.dispatch",
  visit: "heddle.visit",
  recover: "heddle.recover",
  forget: "heddle.forget",
  carry: "heddle.carry",
  deliver: "heddle.deliver",
  publish: "heddle.publish",
  attempt: "heddle.attempt",
  step: "heddle.step",
  tool: "heddle.tool",
  reconcile: "heddle.reconcile",
  settle: "heddle.settle",
} as const // S2

export type SpanName = (typeof spans)[keyof typeof spans]

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

interface Span {
  readonly name: SpanName
  readonly attributes?: SpanAttributes | undefined
  /** What it was caused by, besides the span that it is in. */
  readonly link?: Tracer.AnySpan | undefined
}

/** Whether somebody collects the spans of what runs under this context. */
export const isTraced = (context: Context.Context<never>): boolean =>
  Context.getOrUndefined(context, Tracer.Tracer) !== undefined

/** Those that are there. */
const present = (attributes: SpanAttributes = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

type Parent = Pick<Tracer.SpanOptions, "parent" | "root">

const within = <A, E, R>(
  { attributes, link, name }: Span,
  parent: Parent,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withSpan(work, name, {
    ...parent,
    attributes: present(attributes),
    links: link === undefined ? [] : [{ span: link, attributes: {} }],
    captureStackTrace: false,
  }) as Effect.Effect<A, E, R>

/** Has the work be a span of the one that it runs in, where somebody collects them. */
export const spanned = <A, E, R>(
  span: () => Span,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => (isTraced(context) ? within(span(), {}, work) : work)) // S1

/** Without a trace. */
const alone: <R>(context: Context.Context<R>) => Context.Context<R> = Context.omit(
  Tracer.ParentSpan,
) as never

/** Has the work be a span of a trace that was stored, or the first one of a trace where none was. */
export const spannedUnder = <A, E, R>(
  trace: TraceContext | undefined,
  span: () => Span,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    if (!isTraced(context)) {
      // What starts it may go on in the trace of somebody else.
      const strange = trace === undefined && spanIn(context) !== undefined
      return strange ? Effect.updateContext(work, alone) : continuing(trace, work) // S1
    }
    const parent = trace === undefined ? { root: true } : { parent: Tracer.externalSpan(trace) }
    return within(span(), parent, work)
  })

/** Adds to the span that an effect runs in, if it is one of this object's. */
export const annotate = (attributes: () => SpanAttributes): Effect.Effect<void> =>
  Effect.withFiber(({ context }) => {
    const span = isTraced(context) ? spanIn(context) : undefined // S1
    if (span?._tag === "Span")
      for (const [key, value] of Object.entries(present(attributes()))) span.attribute(key, value)
    return Effect.void
  })

const idKeys = {
  ownerId: "heddle.owner.id",
  threadId: "heddle.thread.id",
  submissionId: "heddle.submission.id",
} as const

const field = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined

/** The ids in a payload, or in an answer or in what it carries. Nothing else of them is told. // S2 */
export const idsIn = (value: unknown): SpanAttributes => {
  const inner = field(field(value, "result"), "value")
  const ids: Record<string, string> = {}
  for (const [key, attribute] of Object.entries(idKeys)) {
    const id = field(value, key) ?? field(inner, key)
    if (typeof id === "string") ids[attribute] = id
  }
  return ids
}
