/**
 * A collector of spans and metrics in the memory of the tests: what objects and edges send to it by OTLP.
 */
import type { OtlpTracer } from "effect/observability"

export const collectorUrl = "https://collector.heddle.test"

type Sent = OtlpTracer.TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]

/** A span as it was received. */
export interface Received extends Pick<
  Sent,
  "name" | "traceId" | "spanId" | "parentSpanId" | "status"
> {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: ReadonlyArray<string>
}

export const collector = {
  mood: "takes" as "takes" | "refuses" | "hangs",
  /** All that came, as text. */
  texts: [] as Array<string>,
  requests: [] as Array<{ readonly path: string; readonly authorization: string | null }>,
}

const valueOf = (value: Sent["attributes"][number]["value"]): unknown =>
  value.stringValue ?? value.intValue ?? value.boolValue ?? value.doubleValue

/** The spans that came, in the order in which they ended. */
export const received = (): ReadonlyArray<Received> =>
  collector.texts
    .flatMap((text) => (JSON.parse(text) as Partial<OtlpTracer.TraceData>).resourceSpans ?? [])
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map((span) => ({
      ...span,
      attributes: Object.fromEntries(
        span.attributes.map(({ key, value }) => [key, valueOf(value)]),
      ),
      links: span.links.map(({ spanId }) => spanId),
    }))

const answer = (request: Request, body: string): Promise<Response> => {
  const { pathname } = new URL(request.url)
  collector.requests.push({ path: pathname, authorization: request.headers.get("authorization") })
  if (collector.mood === "refuses") return Promise.resolve(new Response("no", { status: 503 }))
  if (collector.mood === "hangs")
    return new Promise((_, reject) => {
      request.signal.addEventListener("abort", () => reject(new Error("aborted")))
    })
  collector.texts.push(body)
  return Promise.resolve(new Response("{}"))
}

/** Has what is sent to the collector come here; anything else goes where it goes. */
export const listen = (): void => {
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    return request.url.startsWith(collectorUrl)
      ? answer(request, await request.text())
      : fetch(input, init)
  }
}
