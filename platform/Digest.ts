/** A synchronous SHA-256, so that a digest can be computed inside a durable block. */
import { createHash } from "node:crypto"

/** SHA-256 of the parts in order, as 64 hexadecimal digits. */
export const sha256 = (...parts: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}
