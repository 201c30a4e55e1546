/**
 * Text of a file or of standard input, whichever a flag names.
 *
 * - F1 It is UTF-8, or refused: nothing is put in the place of what does not decode.
 * - F2 No more is read than is wanted, also of what tells no size: a pipe, a device.
 */
import { open } from "node:fs/promises"
import { Stopped, usage } from "./Stopped.ts"

export interface TextOptions {
  readonly bytesMax: number
  /** What to do where there is more. */
  readonly tooLarge: string
}

/** How a text is named in messages. */
export const nameOf = (path: string): string => (path === "-" ? "standard input" : path)

const decode = (name: string, bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw usage(`${name} is not UTF-8`) // F1
  }
}

const readAll = async (
  name: string,
  chunks: AsyncIterable<Uint8Array | string>,
  { bytesMax, tooLarge }: TextOptions,
): Promise<string> => {
  const kept: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of chunks) {
    const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk
    bytes += part.byteLength
    if (bytes > bytesMax) throw usage(`${name} has more than ${bytesMax} bytes`, tooLarge) // F2
    kept.push(part)
  }
  return decode(name, Buffer.concat(kept))
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "?"

/** Reads the file; `-` is standard input. Rejects with a `Stopped`. */
export const readText = async (path: string, options: TextOptions): Promise<string> => {
  const name = nameOf(path)
  try {
    if (path === "-") return await readAll(name, process.stdin, options)
    const handle = await open(path)
    try {
      return await readAll(name, handle.createReadStream({ autoClose: false }), options)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof Stopped) throw error
    throw usage(`${name} cannot be read (${codeOf(error)})`)
  }
}
