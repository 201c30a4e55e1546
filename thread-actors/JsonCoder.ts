/** The JSON codec of an agent's schema: compiled once per schema, total, nothing thrown. */
import { Result, Schema } from "effect"
import type { JsonCodec } from "./Agent.ts"

export interface JsonCoder<A> {
  /** From JSON; none when it does not fit. */
  readonly decode: (json: unknown) => Result.Result<A, string>
  /** To JSON. */
  readonly encode: (value: A) => Result.Result<unknown, string>
}

const coders = new WeakMap<object, JsonCoder<unknown>>()

const total = <A>(code: () => Result.Result<A, { readonly message: string }>) => {
  try {
    return Result.mapError(code(), (error) => error.message)
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : "the value cannot be read")
  }
}

/** Values that JSON lacks (dates, bigints, undefined) take the form that the library gives them. */
export const jsonCoder = <A>(schema: JsonCodec<A>): JsonCoder<A> => {
  const kept = coders.get(schema)
  if (kept !== undefined) return kept as JsonCoder<A>
  const codec = Schema.toCodecJson(schema)
  const decode = Schema.decodeUnknownResult(codec)
  const encode = Schema.encodeUnknownResult(codec)
  const coder: JsonCoder<A> = {
    decode: (json) => total(() => decode(json)),
    encode: (value) => total(() => encode(value)),
  }
  coders.set(schema, coder as JsonCoder<unknown>)
  return coder
}
