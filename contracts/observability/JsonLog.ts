/**
 * The log of a deployment: a line of JSON for each fact, with its level where the platform looks for it.
 *
 * - J1 A line says when, how grave and what; then whose object it is about, and in which trace, as fields.
 * - J2 Nothing that is logged makes logging fail, and each line is one.
 */
import { Cause, Console, Context, Formatter, Logger, type LogLevel, References } from "effect"
import { spanIn, traceOf } from "./TraceContext.ts"

type Line = Record<string, unknown>

const textOf = (part: unknown): string =>
  typeof part === "string" ? part : Formatter.formatJson(part)

const traceIn = (context: Context.Context<never>): Line => {
  const span = spanIn(context)
  const trace = span && traceOf(span)
  return trace === undefined ? {} : { traceId: trace.traceId, spanId: trace.spanId }
}

const lineOf = Logger.make((options): string => {
  try {
    return told(options)
  } catch {
    return `{"level":"${options.logLevel}","message":"a line that cannot be told"}` // J2
  }
})

const told = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): string => {
  const parts = Array.isArray(message) ? message : [message]
  const said: Line = {
    time: date.toISOString(),
    level: logLevel,
    message: parts.map(textOf).join(" "),
  }
  const line: Line = {
    ...said,
    ...fiber.getRef(References.CurrentLogAnnotations), // J1
    // An annotation of such a name is not in its place.
    ...said,
    ...traceIn(fiber.context), // J1
    // None of ours has one: see docs/decisions/026.
    ...(cause.reasons.length === 0 ? {} : { cause: Cause.pretty(cause) }),
  }
  return Formatter.formatJson(line) // J2
}

const methodOf = (level: LogLevel.LogLevel): "debug" | "info" | "warn" | "error" => {
  switch (level) {
    case "Fatal":
    case "Error":
      return "error"
    case "Warn":
      return "warn"
    case "Debug":
    case "Trace":
      return "debug"
    default:
      return "info"
  }
}

const logger = Logger.make((options) => {
  // The platform takes the level from the method.
  options.fiber.getRef(Console.Console)[methodOf(options.logLevel)](lineOf.log(options))
})

/** What effects run under so that they log so, from this level on. */
export const jsonLog = (least: LogLevel.LogLevel = "Info"): Context.Context<never> =>
  Context.make(Logger.CurrentLoggers, new Set([logger])).pipe(
    Context.add(References.MinimumLogLevel, least),
  )
