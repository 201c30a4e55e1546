/**
 * Where a deployment says which collector is told: in its code, or in its environment by the names that OpenTelemetry
 * gives them. Pure.
 *
 * - C1 What the code says goes before the environment. Where neither names a collector there is none.
 * - C2 A collector that is named wrongly is none, and the log says so once: objects and alarms do not fail by it.
 */
import { describeThrown } from "../Thrown.ts"
import { type CollectorState, makeCollectorState } from "./CollectorState.ts"
import { makeOtlp, type OtlpOptions, tellOnce } from "./Otlp.ts"
import type { Collector } from "./Observability.ts"

type Environment = Readonly<Record<string, unknown>>

const textOf = (env: Environment, name: string): string | undefined => {
  const value = env[name]
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** `name=value,name=value`, each percent-encoded. */
const headersOf = (text: string | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (text ?? "").split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]]
    }),
  )

const ratioOf = (text: string | undefined): number | undefined => {
  const ratio = Number(text)
  return text === undefined || !(ratio >= 0 && ratio <= 1) ? undefined : ratio
}

const isEnvironment = (env: unknown): env is Environment => typeof env === "object" && env !== null

/** What is wrong with the collector, in words of ours. */
class BadCollector extends Error {
  override readonly name = "BadCollector"
}

/** Checks what would else fail with the first batch. */
const checked = (options: OtlpOptions): OtlpOptions => {
  const url = URL.canParse(options.url) ? new URL(options.url) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new BadCollector("its url must be one of http or https")
  const { sampleRatio = 1 } = options
  if (!(sampleRatio >= 0 && sampleRatio <= 1))
    throw new BadCollector("sampleRatio must be a number from 0 to 1")
  return options
}

/** The collector of an environment, if there is one. Throws what is wrong with it. */
export const otlpOptionsOf = (
  given: Partial<OtlpOptions> | undefined,
  env: unknown,
): OtlpOptions | undefined => {
  const environment = isEnvironment(env) ? env : {}
  if (textOf(environment, "OTEL_SDK_DISABLED") === "true") return undefined
  const url = given?.url ?? textOf(environment, "OTEL_EXPORTER_OTLP_ENDPOINT") // C1
  if (url === undefined) return undefined
  const serviceName = textOf(environment, "OTEL_SERVICE_NAME")
  const sampleRatio = ratioOf(textOf(environment, "OTEL_TRACES_SAMPLER_ARG"))
  return checked({
    headers: headersOf(textOf(environment, "OTEL_EXPORTER_OTLP_HEADERS")),
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(sampleRatio === undefined ? {} : { sampleRatio }),
    ...given, // C1
    url,
  })
}

/**
 * A collector that is told of spans and metrics by OTLP over HTTP, for `Heddle.make({ observability: { otlp: otlp() } })`.
 *
 * What is not said here, or by what it is given of the environment, is looked for there as
 * `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and `OTEL_TRACES_SAMPLER_ARG`. Where
 * no collector is named nothing is told.
 */
export const otlp = (
  given?: Partial<OtlpOptions> | ((env: never) => Partial<OtlpOptions> | undefined),
): Collector => {
  let isTold = false
  // Plain values, kept for the isolate: an edge makes its telemetry anew for each invocation.
  const collectors = new Map<string, CollectorState>()
  const collectorAt = (url: string): CollectorState => {
    const found = collectors.get(url) ?? makeCollectorState()
    collectors.set(url, found)
    return found
  }
  return (env, surroundings) => {
    try {
      const said = typeof given === "function" ? given(env as never) : given
      const options = otlpOptionsOf(said, env)
      return options && makeOtlp(options, surroundings, collectorAt(options.url))
    } catch (error) {
      if (isTold) return undefined
      isTold = true
      const why = error instanceof BadCollector ? error.message : describeThrown(error)
      tellOnce(`no collector is told of spans and metrics: ${why}`, surroundings) // C2
      return undefined
    }
  }
}
