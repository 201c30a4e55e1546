/**
 * A value of agent code on its way to a row: encoded by its schema, as canonical text, and read back.
 *
 * - N1 Total: whatever the value or its schema does when it is touched, the answer is one of these.
 * - N2 What this code could not read again is not stored.
 */
import { Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { JsonCodec } from "./Agent.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { sizeLimit } from "./SizeLimit.ts"

/** Why a value cannot be stored. */
export type Unstorable =
  | { readonly _tag: "TooLarge"; readonly maxBytes: number }
  /** In words of ours, without anything of the value. */
  | { readonly _tag: "Unfit"; readonly reason: string }

/** The same in words that go on after what it is. */
export const whyUnstorable = (why: Unstorable): string =>
  why._tag === "TooLarge" ? `exceeds ${why.maxBytes} bytes` : `cannot be stored: ${why.reason}`

export interface Place {
  readonly limits: Limits
  readonly size: "inputBytes" | "outputBytes" | "stepResultBytes" | "recordBytes"
}

/** An input that a run sends stands in its own record, and has to be taken as an input there. */
export const sentPlace = (limits: Limits): Place => ({
  limits,
  size: limits.inputBytes < limits.recordBytes ? "inputBytes" : "recordBytes",
})

const unfit = (reason: string): Unstorable => ({ _tag: "Unfit", reason })

/** The canonical text of JSON that agent code made. */
export const textOf = (
  json: unknown,
  { limits, size }: Place,
): Result.Result<string, Unstorable> => {
  const maxBytes = sizeLimit(limits, size)
  const text = canonicalJson(json, { maxBytes, maxNesting: limits.jsonNesting }) // N1
  if (Result.isSuccess(text)) return Result.succeed(text.success.text)
  if (text.failure._tag === "AdmissionLimitExceeded")
    return Result.fail({ _tag: "TooLarge", maxBytes })
  const { path, reason } = text.failure
  return Result.fail(unfit(path === "" ? reason : `${reason} at ${path}`))
}

/** The canonical text of a value in its schema's terms. */
export const encoded = (
  schema: JsonCodec<unknown>,
  value: unknown,
  place: Place,
): Result.Result<string, Unstorable> => {
  const json = jsonCoder(schema).encode(value)
  return Result.isSuccess(json) ? textOf(json.success, place) : Result.fail(unfit(json.failure))
}

export interface Stored<A> {
  readonly text: string
  /** The value as its text gives it. */
  readonly value: A
}

/** The same, and the value as a later attempt will read it. */
export const storable = <A>(
  schema: JsonCodec<A>,
  value: unknown,
  place: Place,
): Result.Result<Stored<A>, Unstorable> => {
  const text = encoded(schema, value, place)
  if (Result.isFailure(text)) return Result.fail(text.failure)
  const kept = jsonCoder(schema).decode(JSON.parse(text.success))
  return Result.isSuccess(kept)
    ? Result.succeed({ text: text.success, value: kept.success })
    : Result.fail(unfit(`its own schema does not read it back: ${kept.failure}`)) // N2
}
