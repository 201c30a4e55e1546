/**
 * What of a span leaves the deployment: names, ids, times, and how it ended by the name of its failure. Pure.
 *
 * - B1 No message, stack, event, SQL, address or header is exported, whoever has put it there: an error quotes inputs, and
 *   Effect's own spans of calls over HTTP and of statements tell what was asked.
 * - B2 What an agent tells of itself is its own, as in a log, and bounded: a few attributes of short values.
 */
import { Cause, Exit } from "effect"
import type { OtlpTracer } from "effect/observability"
import { nameThrown } from "../Thrown.ts"

type TraceData = OtlpTracer.TraceData
type Span = TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]
type Attribute = Span["attributes"][number]

const nameCharacters = 128
const keyCharacters = 64
const valueCharacters = 256
const attributesMax = 32
const linksMax = 32

/** What Effect's own modules tell of a call: addresses, headers, statements, stacks. */
const telling =
  /^(url|http\.(request|response)\.(header|body)|db|exception|code|server|client|user_agent)(\.|$)/

/** Kept of them. */
const harmless: ReadonlySet<string> = new Set(["url.scheme", "server.port", "db.system.name"])

const isKept = ({ key, value }: Attribute): boolean =>
  key.length <= keyCharacters &&
  (!telling.test(key) || harmless.has(key)) && // B1
  value.arrayValue === undefined &&
  value.kvlistValue === undefined &&
  value.bytesValue === undefined

const bounded = (attribute: Attribute): Attribute => {
  const text = attribute.value.stringValue
  return typeof text === "string" && text.length > valueCharacters
    ? { ...attribute, value: { stringValue: text.slice(0, valueCharacters) } } // B2
    : attribute
}

/** The attributes that leave, of a span or of one of its links. */
const kept = (attributes: ReadonlyArray<Attribute>) => {
  const left = attributes.filter(isKept).slice(0, attributesMax).map(bounded)
  return { attributes: left, droppedAttributesCount: attributes.length - left.length }
}

const scrubbed = (span: Span): Span => {
  const links = span.links.slice(0, linksMax)
  return {
    ...span,
    ...kept(span.attributes),
    name: span.name.slice(0, nameCharacters),
    links: links.map((link) => ({ ...link, ...kept(link.attributes) })), // B1 B2
    droppedLinksCount: span.links.length - links.length,
    events: [], // B1
    status: { code: span.status.code }, // B1
  }
}

/** The spans of a batch as they leave. */
export const scrub = ({ resourceSpans }: TraceData): TraceData => ({
  resourceSpans: resourceSpans.map(({ scopeSpans, ...resource }) => ({
    ...resource,
    scopeSpans: scopeSpans.map(({ spans, ...scope }) => ({ ...scope, spans: spans.map(scrubbed) })),
  })),
})

/** How many spans a batch has. */
export const countSpans = ({ resourceSpans }: TraceData): number =>
  resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .reduce((count, { spans }) => count + spans.length, 0)

const failed = Exit.fail({})

/** How a span ended, without what was thrown; and the name of that. // B1 */
export const endOf = (
  exit: Exit.Exit<unknown, unknown>,
): { readonly exit: Exit.Exit<void, unknown>; readonly error?: string } => {
  if (Exit.isSuccess(exit)) return { exit: Exit.void }
  if (Cause.hasInterruptsOnly(exit.cause)) return { exit: Exit.interrupt() }
  const thrown = exit.cause.reasons.find(
    (reason) => reason._tag === "Die" || reason._tag === "Fail",
  )
  const what = thrown?._tag === "Fail" ? thrown.error : thrown?.defect
  return { exit: failed, error: nameThrown(what) }
}
