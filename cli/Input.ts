/**
 * Inputs that people give: on the command line, in a file, or on standard input.
 *
 * - I1 What is not UTF-8 or not JSON is refused here, with its place, and nothing is sent.
 * - I2 No more is read than any deployment takes.
 */
import { open } from "node:fs/promises"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { ExitCode } from "./ExitCode.ts"
import { parseJson } from "./JsonText.ts"
import { pathFlag } from "./Paths.ts"
import { Stopped } from "./Stopped.ts"

/** As much as a body of the HTTP edge may have. */
const inputBytesMax = 4 * 1024 * 1024

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

export const usage = (what: string, next?: string): Stopped =>
  new Stopped({ exitCode: ExitCode.usage, what, ...(next === undefined ? {} : { next }) })

const decode = (name: string, bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw usage(`${name} is not UTF-8`) // I1
  }
}

const readAll = async (
  name: string,
  chunks: AsyncIterable<Uint8Array | string>,
): Promise<string> => {
  const kept: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of chunks) {
    const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk
    bytes += part.byteLength
    if (bytes > inputBytesMax) {
      throw usage(
        `${name} has more than ${inputBytesMax} bytes`,
        "No deployment takes so much in one input.",
      ) // I2
    }
    kept.push(part)
  }
  return decode(name, Buffer.concat(kept))
}

const readFileText = async (path: string): Promise<string> => {
  const handle = await open(path).catch((error: unknown) => {
    const { code = "it cannot be read" } = error as NodeJS.ErrnoException
    throw usage(`${path} cannot be read (${code})`, "Check --file.")
  })
  try {
    return await readAll(path, handle.createReadStream({ autoClose: false }))
  } catch (error) {
    if (error instanceof Stopped) throw error
    throw usage(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "?"})`)
  } finally {
    await handle.close()
  }
}

const stopped = (error: unknown): Stopped =>
  error instanceof Stopped ? error : usage(error instanceof Error ? error.message : String(error))

/** Reads JSON out of a text that has a name. */
export const jsonOf = (name: string, text: string): Effect.Effect<unknown, Stopped> => {
  const result = parseJson(text)
  if (result._tag === "Json") return Effect.succeed(result.value)
  const { column, line, reason } = result.problem
  return Effect.fail(usage(`${name}:${line}:${column}: not JSON: ${reason}`)) // I1
}

const source = (flags: InputFlags) => {
  const path = Option.getOrUndefined(flags.file)
  if (flags.stdin || path === "-") {
    return { name: "standard input", read: () => readAll("standard input", process.stdin) }
  }
  if (path !== undefined) return { name: path, read: () => readFileText(path) }
  const text = Option.getOrUndefined(flags.input)
  return text === undefined ? undefined : { name: "--input", read: async () => text }
}

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
