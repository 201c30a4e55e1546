/**
 * Sends spans and metrics by OTLP over HTTP, with `effect/observability`, which encodes and gathers them.
 *
 * - O1 Nothing is sent by a timer: its interval never ends, and what has come together goes out when the last event under
 *   way has ended, or at the end of one while others go on for long, or when there is much of it.
 * - O2 A collector that is gone, slow or refuses costs an isolate one bounded call and then none for a while. What it does
 *   not take is dropped and counted, and told once; nothing waits for it.
 * - O3 What is kept for it is bounded: a batch, and a few that are on their way.
 */
import {
  Clock,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  Layer,
  Metric,
  Option,
  References,
  Scope,
  Tracer,
} from "effect"
import { HttpBody, HttpClient, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import {
  type CollectorState,
  makeCollectorState,
  mayAsk,
  noteEnd,
  takeDropped,
} from "./CollectorState.ts"
import { add, tell } from "./Metrics.ts"
import type { Surroundings } from "./Observability.ts"
import { countSpans, endOf, scrub } from "./Scrub.ts"
import type { MakeTelemetry, Telemetry, TelemetryHost } from "./Telemetry.ts"

export interface OtlpOptions {
  /** Of the collector, without `/v1/traces`. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly serviceName?: string
  /** Of the traces that begin here, which are sampled: 0 to 1. All by default; who is called goes by its caller. */
  readonly sampleRatio?: number
  /** Whether metrics are sent, too. They are by default. */
  readonly metrics?: boolean
  /** How metrics add up: each batch since the one before (default), or since the object started. */
  readonly temporality?: "delta" | "cumulative"
}

const limits = {
  /** A collector that takes longer has not taken it. */
  sendMillis: 3_000,
  /** After that nobody asks it for a while. */
  restMillis: 60_000,
  /** Of spans. More than that go out while their event goes on. // O3 */
  batch: 512,
  /** Batches on their way. // O3 */
  sending: 4,
  /** While events go on without a pause, what is older goes out at the end of one. */
  waitMillis: 5_000,
} as const

/** What sends batches. */
interface Sender {
  readonly client: HttpClient.HttpClient
  /** Spans that nobody took, to be told with the next metrics. */
  readonly takeDropped: () => number
}

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): Uint8Array | undefined =>
  body._tag === "Uint8Array" ? body.body : undefined

interface Sending {
  readonly counts: WeakMap<object, number>
  readonly surroundings: Surroundings
  readonly host: TelemetryHost
  readonly collector: CollectorState
}

/** Whether the collector took it. Never rejects. */
const post = async (
  { surroundings }: Sending,
  request: HttpClientRequest.HttpClientRequest,
  url: URL,
): Promise<boolean> => {
  try {
    const { fetch: send = globalThis.fetch } = surroundings
    const response = await send(url, {
      method: "POST",
      headers: request.headers,
      body: bodyOf(request) as BodyInit,
      // Followed, most become a GET whose answer says nothing of the spans, and the headers go to whoever it names.
      redirect: "manual",
      signal: AbortSignal.timeout(limits.sendMillis), // O2
    })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

const makeSender = (sending: Sending): Sender => {
  const { collector, host } = sending
  const { restMillis, sendMillis } = limits
  const sender = Symbol("sender")
  let underWay = 0
  /** Dropped spans that metrics of this sender tell of, and nobody has taken yet. */
  let telling = 0

  const ended = (taken: boolean): Effect.Effect<void> => {
    const news = noteEnd(collector, taken, { now: host.now(), restMillis })
    if (news === undefined) return Effect.void
    return news === "takes again"
      ? Effect.logInfo("the collector of spans and metrics takes them again")
      : Effect.logWarning("the collector of spans and metrics does not take them") // O2
  }

  const client = HttpClient.make((request, url) => {
    const spans = sending.counts.get(request.body)
    const answered = (status: number) =>
      HttpClientResponse.fromWeb(request, new Response(null, { status }))
    const take = Effect.sync(() => {
      if (spans === undefined) telling = 0
      return answered(200)
    })
    const drop = Effect.sync(() => {
      if (spans !== undefined) {
        collector.dropped += spans // O2
        return answered(200)
      }
      // Of metrics the exporter must hear it: what was not taken is in the next ones. An invocation has no next ones.
      if (host.once === true) collector.dropped += telling
      telling = 0
      return answered(400)
    })
    const isFull = underWay >= limits.sending // O3
    if (isFull || !mayAsk(collector, sender, { now: host.now(), sendMillis })) return drop // O2
    underWay += 1
    return Effect.promise(() => post(sending, request, url)).pipe(
      Effect.tap((taken) => {
        underWay -= 1
        return ended(taken)
      }),
      Effect.flatMap((taken) => (taken ? take : drop)),
    )
  })
  return {
    client,
    takeDropped: () => {
      const taken = takeDropped(collector, host.now())
      telling += taken
      return taken
    },
  }
}

const json = (data: unknown): HttpBody.HttpBody =>
  HttpBody.text(JSON.stringify(data), "application/json")

/** The host's time, in which nobody sleeps. // O1 */
const clockOf = ({ now }: TelemetryHost): Clock.Clock => {
  const nanos = (): bigint => BigInt(now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: () => Effect.never,
  }
}

/** What is encoded, without what must not leave. */
const serialization = (counts: WeakMap<object, number>) =>
  OtlpSerialization.OtlpSerialization.of({
    traces: (data) => {
      const body = json(scrub(data))
      counts.set(body, countSpans(data))
      return body
    },
    metrics: json,
    logs: json,
  })

/** Whether a trace of this id is one of those that are told: the same wherever it is asked. */
const isSampled = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32

/** A tracer whose spans keep nothing of what was thrown, or told as an event. */
const guarded = (
  tracer: Tracer.Tracer,
  { began, ratio }: { readonly began: () => void; readonly ratio: number },
): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options) as Tracer.Span & { sampled: boolean }
      if (Option.isNone(options.parent)) span.sampled &&= isSampled(span.traceId, ratio)
      if (span.sampled) began()
      const end = span.end.bind(span)
      span.event = () => undefined
      span.end = (time, exit) => {
        const told = endOf(exit)
        if (told.error !== undefined) span.attribute("error.type", told.error)
        end(time, told.exit)
      }
      return span
    },
  })

interface Collected {
  readonly context: Context.Context<never>
  readonly flush: Effect.Effect<void>
}

const collect = (
  options: OtlpOptions,
  {
    client,
    counts,
    host,
    surroundings,
    unsent,
  }: {
    readonly client: HttpClient.HttpClient
    readonly host: TelemetryHost
    readonly counts: WeakMap<object, number>
    readonly surroundings: Surroundings
    readonly unsent: () => void
  },
): Effect.Effect<Collected, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { headers, sampleRatio = 1, serviceName = "heddle", url } = options
    const common = {
      headers,
      resource: { serviceName, serviceVersion: surroundings.serviceVersion },
      exportInterval: Duration.infinity, // O1
    }
    const base = url.replace(/\/+$/, "")
    const tracer = yield* OtlpTracer.make({
      ...common,
      url: `${base}/v1/traces`,
      maxBatchSize: limits.batch,
    })
    if (options.metrics !== false)
      yield* OtlpMetrics.make({
        ...common,
        url: `${base}/v1/metrics`,
        temporality: options.temporality ?? "delta",
      })
    const { flush } = yield* OtlpExporter.Flusher
    const collecting = guarded(tracer, { began: unsent, ratio: sampleRatio })
    const context = Context.make(Tracer.Tracer, collecting).pipe(
      Context.add(Metric.MetricRegistry, yield* Metric.MetricRegistry),
    )
    return { context, flush }
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        OtlpExporter.layerFlusher,
        Layer.succeed(HttpClient.HttpClient, client),
        Layer.succeed(OtlpSerialization.OtlpSerialization, serialization(counts)),
        Layer.succeed(Metric.MetricRegistry, new Map()),
        Layer.succeed(Clock.Clock, clockOf(host)),
        ConfigProvider.layer(ConfigProvider.fromUnknown({})),
      ),
    ),
  )

/** What the exporter has for debugging may tell a request with its headers. */
const quietly = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.provideService(effect, References.MinimumLogLevel, "Info")

/** Writes a warning into the log. */
export const tellOnce = (line: string, { context }: Surroundings): void => {
  Effect.runForkWith(context ?? Context.empty())(Effect.logWarning(line))
}

/**
 * Makes the telemetry of objects and edges that a collector is told of. What is known of the collector is shared with
 * whoever else is given it: an invocation has gone before the collector has rested. // O2
 */
export const makeOtlp =
  (
    options: OtlpOptions,
    surroundings: Surroundings,
    collector: CollectorState = makeCollectorState(),
  ): MakeTelemetry =>
  (host): Telemetry => {
    const counts = new WeakMap<object, number>()
    const sender = makeSender({ counts, surroundings, host, collector })
    /** Since when something is to be sent. */
    let unsentSince: number | undefined
    let active = 0
    let scheduled = false
    const gatherers: Array<() => void> = []
    const unsent = () => {
      unsentSince ??= host.now()
    }
    // Never closed: it lives as long as whoever tells.
    const collected = Effect.runSync(
      Scope.provide(
        collect(options, { client: sender.client, counts, host, surroundings, unsent }),
        Scope.makeUnsafe(),
      ),
    )
    const { flush } = collected
    const context = Context.merge(surroundings.context ?? Context.empty(), collected.context)
    const isTime = () =>
      unsentSince !== undefined && (active === 0 || host.now() - unsentSince >= limits.waitMillis) // O1
    const send = () => {
      scheduled = false
      if (!isTime()) return
      for (const gather of gatherers) gather()
      unsentSince = undefined
      add(context, "dropped", sender.takeDropped())
      host.waitUntil(Effect.runPromiseWith(context)(quietly(flush)))
    }
    const ended = () => {
      if (scheduled || !isTime()) return
      scheduled = true
      host.macrotask(send)
    }
    const event = async <A>(work: () => Promise<A>, kind?: "reader"): Promise<A> => {
      const counted = kind === "reader" ? 0 : 1
      active += counted
      try {
        return await work()
      } finally {
        active -= counted
        ended()
      }
    }
    return {
      context,
      event,
      add: (counter, by, labels) => {
        if (by > 0) unsent()
        add(context, counter, by, labels)
      },
      tell: (histogram, value) => {
        unsent()
        tell(context, histogram, value)
      },
      beforeSending: (gather) => void gatherers.push(gather),
    }
  }
