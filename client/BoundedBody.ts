/**
 * Reads a body from outside up to a bound, and no byte further.
 *
 * - B1 What is longer is let go where the bound is crossed; whoever sends slowly is left when the signal says so.
 */

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** The bytes; "TooLarge" if there are more. Rejects when the body breaks off. */
export const readBounded = async (
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Uint8Array | "TooLarge"> => {
  if (body === null) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = body.getReader()
  const leave = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener("abort", leave, { once: true }) // B1
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return joined(chunks, length)
      length += value.byteLength
      if (length > bytesMax) {
        leave()
        return "TooLarge" // B1
      }
      chunks.push(value)
    }
  } finally {
    signal.removeEventListener("abort", leave)
  }
}
