/**
 * Failures as a settlement holds them: bounded, storable text, never a stack or a cause.
 *
 * - F1 What came out of agent code is cut to its limit and cleaned of what cannot be stored.
 */
import { Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { Failure, SystemFailureTag } from "../contracts/Settlement.ts"
import { sizeLimit } from "./SizeLimit.ts"

const utf8 = new TextEncoder()

/** Text of at most so many bytes, without NUL and lone surrogates. */
export const boundedText = (text: string, maxBytes: number): string => {
  const clean = text.slice(0, maxBytes).replaceAll("\0", "\ufffd").toWellFormed() // F1
  if (clean.length * 3 <= maxBytes || utf8.encode(clean).length <= maxBytes) return clean
  const bytes = utf8.encode(clean).subarray(0, maxBytes)
  // A character cut in two at the end is dropped.
  return new TextDecoder().decode(bytes).replace(/\ufffd$/, "")
}

/** A failure of the system's own. */
export const systemFailure = (tag: SystemFailureTag, message: string): Failure => ({
  tag,
  message: boundedText(message, 1024),
})

const read = (error: unknown, key: string): unknown => {
  if ((typeof error !== "object" && typeof error !== "function") || error === null) return undefined
  try {
    return (error as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/** The tag and message of a typed failure of agent code. */
export const describeError = (
  error: unknown,
  limits: Limits,
): { readonly tag: string; readonly message: string } => {
  const tag = [read(error, "_tag"), read(error, "name")].find(
    (text) => typeof text === "string" && text !== "",
  )
  const message = typeof error === "string" ? error : read(error, "message")
  return {
    tag: boundedText(typeof tag === "string" ? tag : "Error", limits.failureTagCharacters),
    message: boundedText(typeof message === "string" ? message : "", limits.failureMessageBytes),
  }
}

/** The encoded error, when it can be stored beside the rest; else none. */
export const storableError = (error: unknown, limits: Limits): string | undefined => {
  const text = canonicalJson(error, {
    maxBytes: sizeLimit(limits, "recordBytes"),
    maxNesting: limits.jsonNesting,
  })
  return Result.isSuccess(text) ? text.success.text : undefined
}

/** The canonical text of a failure; its parts have been bounded before. */
export const canonicalFailure = (failure: Failure): string => {
  const text = canonicalJson(failure, { maxBytes: 1024 * 1024, maxNesting: 80 })
  return Result.isSuccess(text)
    ? text.success.text
    : JSON.stringify({ message: failure.message, tag: failure.tag })
}
