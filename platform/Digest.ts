/** A synchronous SHA-256, so that a digest can be computed inside a durable block. */
import { hash } from "node:crypto"

/** SHA-256 of the parts in order, as 64 hexadecimal digits. In one call: an object that takes parts is a whole stream. */
export const sha256 = (...parts: ReadonlyArray<string>): string => hash("sha256", parts.join(""))
