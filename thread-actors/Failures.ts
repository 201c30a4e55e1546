/**
 * Failures as a settlement and the log hold them: bounded, storable text. A settlement never has a
 * stack or a cause.
 *
 * - F1 What came out of agent code is cut to its limit and cleaned of what cannot be stored.
 * - F2 Whatever agent code has thrown, looking at it throws nothing.
 * - F3 An agent cannot tell its failure as one of the system's own.
 * - F4 A log line has no stack and no message of what was thrown: those quote inputs, results and secrets.
 */
import { type Cause, Effect, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Limits } from "../contracts/Limits.ts"
import { type Failure, type SystemFailureTag, SystemFailureTags } from "../contracts/Settlement.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { misuseMessage } from "./Misuse.ts"

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
    return (error as Record<string, unknown>)[key] // F2
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

const systemTags: ReadonlySet<string> = new Set(SystemFailureTags)

/** The tag of an agent's failure as a settlement tells it. */
export const agentTag = (tag: string): string => (systemTags.has(tag) ? `Agent.${tag}` : tag) // F3

/** The canonical text of a failure; its parts have been bounded before. */
export const canonicalFailure = (failure: Failure): string => {
  const text = canonicalJson(failure, { maxBytes: 1024 * 1024, maxNesting: 80 })
  return Result.isSuccess(text)
    ? text.success.text
    : JSON.stringify({ message: failure.message, tag: failure.tag })
}

/** The words of ours in a cause: what an agent's author did wrong. */
const ownWords = (cause: Cause.Cause<unknown>): string | undefined => {
  for (const reason of cause.reasons.slice(0, 3))
    if (reason._tag === "Die") {
      const words = misuseMessage(reason.defect)
      if (words !== undefined) return boundedText(words, 1024)
    }
  return undefined
}

/** Logs that agent code, or our own, has thrown, and where; never in its words. // F4 */
export const logCause = (message: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const words = ownWords(cause)
    const thrown = describeThrown(cause)
    return Effect.logError(`${message}: ${words === undefined ? "" : `${words}: `}${thrown}`)
  })
