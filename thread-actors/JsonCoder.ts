/**
 * The JSON codec of an agent's schema, compiled once per schema.
 *
 * - E1 Total: a schema that cannot be compiled, a transformation that throws and a value that cannot be
 *   touched are all answers.
 * - E2 What is said about a value names its place and what was expected, never what was there: a message
 *   that a filter made, or an exception, could quote the value.
 */
import { Result, Schema, type SchemaIssue, SchemaParser } from "effect"
import { invalidInputOf } from "../contracts/transport/RpcCodec.ts"
import type { JsonCodec } from "./JsonCodec.ts"

export interface JsonCoder<A> {
  /** From JSON; none when it does not fit. */
  readonly decode: (json: unknown) => Result.Result<A, string>
  /** To JSON. */
  readonly encode: (value: unknown) => Result.Result<unknown, string>
}

const coders = new WeakMap<object, JsonCoder<unknown>>()

const unreadable = Result.fail("the value cannot be read")

const told = (issue: SchemaIssue.Issue): string => {
  const { path, reason } = invalidInputOf(issue) // E2
  return path === "" ? reason : `${reason} at ${path}`
}

const total =
  <A>(code: (value: unknown) => Result.Result<A, SchemaIssue.Issue>) =>
  (value: unknown): Result.Result<A, string> => {
    try {
      return Result.mapError(code(value), told)
    } catch {
      return unreadable // E1
    }
  }

const compile = (schema: JsonCodec<unknown>): JsonCoder<unknown> => {
  try {
    const codec = Schema.toCodecJson(schema)
    return {
      decode: total(SchemaParser.decodeUnknownResult(codec)),
      encode: total(SchemaParser.encodeUnknownResult(codec)),
    }
  } catch {
    const broken = () => Result.fail("the schema cannot be used")
    return { decode: broken, encode: broken } // E1
  }
}

/** Values that JSON lacks (dates, bigints, undefined) take the form that the library gives them. */
export const jsonCoder = <A>(schema: JsonCodec<A>): JsonCoder<A> => {
  const kept = coders.get(schema)
  if (kept !== undefined) return kept as JsonCoder<A>
  const coder = compile(schema)
  // What an author passed for a schema may be nothing that can be a key.
  if (Object(schema) === schema) coders.set(schema, coder)
  return coder as JsonCoder<A>
}
