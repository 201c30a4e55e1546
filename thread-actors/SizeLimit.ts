/** Sizes as they can really be stored: the configured limit, or what a row holds. */
import type { Limits } from "../contracts/Limits.ts"

/** A row holds 2 MB; no configured limit lets an input, output or record past this. */
export const hardCapBytes = 1024 * 1024

/** Arrays and objects inside each other that are read at all: each takes of the stack. */
export const hardCapNesting = 512

/** Bytes of canonical JSON that may be stored as this. */
export const sizeLimit = (
  limits: Limits,
  name: "inputBytes" | "outputBytes" | "stepResultBytes" | "recordBytes",
): number => Math.min(limits[name], hardCapBytes)
