/**
 * Inputs that people give: on the command line, in a file, or on standard input.
 *
 * - I1 What is not UTF-8, not JSON or nothing that can be sent as it is is refused here, and nothing is sent.
 * - I2 No more is read than any deployment takes.
 */
import { Effect, Option, type Schema } from "effect"
import { Flag } from "effect/cli"
import { parseJson, unsendable } from "./JsonText.ts"
import { pathFlag } from "./Paths.ts"
import { Stopped, usage } from "./Stopped.ts"
import { nameOf, readText, type TextOptions } from "./TextFile.ts"

/** As much as a body of the HTTP edge may have. */
const inputText: TextOptions = {
  bytesMax: 4 * 1024 * 1024, // I2
  tooLarge: "No deployment takes so much in one input.",
}

/** The three ways; a command takes one of them. */
export const inputFlags = {
  input: Flag.String("input").pipe(
    Flag.withAlias("i"),
    Flag.withMetavar("json"),
    Flag.withDescription("The input, as JSON"),
    Flag.optional,
  ),
  file: pathFlag("file").pipe(
    Flag.withAlias("f"),
    Flag.withDescription("A file that holds it as JSON; - is standard input"),
    Flag.optional,
  ),
  stdin: Flag.Boolean("stdin").pipe(
    Flag.withDescription("Read it from standard input"),
    Flag.withDefault(false),
  ),
}

export interface InputFlags {
  readonly input: Option.Option<string>
  readonly file: Option.Option<string>
  readonly stdin: boolean
}

const stopped = (error: unknown): Stopped =>
  error instanceof Stopped ? error : usage(error instanceof Error ? error.message : String(error))

/** Reads JSON out of a text that has a name. */
export const jsonOf = (name: string, text: string): Effect.Effect<unknown, Stopped> => {
  const result = parseJson(text)
  if (result._tag === "Json") {
    const why = unsendable(result.value)
    return why === undefined ? Effect.succeed(result.value) : Effect.fail(usage(`${name}: ${why}`)) // I1
  }
  const { column, line, reason } = result.problem
  return Effect.fail(usage(`${name}:${line}:${column}: not JSON: ${reason}`)) // I1
}

/** A flag's own text, or that of the file it names. */
const sourceOf = (flag: string, text: Option.Option<string>, path: string | undefined) => {
  if (path !== undefined) return { name: nameOf(path), read: () => readText(path, inputText) }
  return Option.isNone(text) ? undefined : { name: flag, read: async () => text.value }
}

const source = (flags: InputFlags) =>
  sourceOf("--input", flags.input, flags.stdin ? "-" : Option.getOrUndefined(flags.file))

const waysGiven = (flags: InputFlags): number =>
  [Option.isSome(flags.input), Option.isSome(flags.file), flags.stdin].filter(Boolean).length

/** Whether any of the flags is there. */
export const hasInput = (flags: InputFlags): boolean => waysGiven(flags) > 0

/** The input that the flags give. */
export const readInput = Effect.fnUntraced(function* (flags: InputFlags) {
  const found = source(flags)
  if (found === undefined || waysGiven(flags) > 1) {
    return yield* usage("Give the input once: --input JSON, --file PATH or --stdin")
  }
  const text = yield* Effect.tryPromise({ try: found.read, catch: stopped })
  return yield* jsonOf(found.name, text)
})

/** What a run is given while it waits: on the command line or in a file, or nothing, which is null. */
export const payloadFlags = {
  payload: Flag.String("payload").pipe(
    Flag.withMetavar("json"),
    Flag.withDescription("What the run is given, as JSON (default null)"),
    Flag.optional,
  ),
  payloadFile: pathFlag("payload-file").pipe(
    Flag.withDescription("A file that holds it as JSON; - is standard input"),
    Flag.optional,
  ),
}

export interface PayloadFlags {
  readonly payload: Option.Option<string>
  readonly payloadFile: Option.Option<string>
}

/** The payload that the flags give. */
export const readPayload = Effect.fnUntraced(function* ({ payload, payloadFile }: PayloadFlags) {
  if (Option.isSome(payload) && Option.isSome(payloadFile)) {
    return yield* usage("Give the payload once: --payload JSON or --payload-file PATH")
  }
  const found = sourceOf("--payload", payload, Option.getOrUndefined(payloadFile))
  if (found === undefined) return null
  const text = yield* Effect.tryPromise({ try: found.read, catch: stopped })
  return (yield* jsonOf(found.name, text)) as Schema.Json
})
