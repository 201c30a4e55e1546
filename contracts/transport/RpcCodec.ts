/**
 * The codecs of one rpc: what its payloads, results, stream values and errors look like on the wire.
 *
 * Compiled once per rpc and kept with it. Every codec is total: a value that does not fit, a schema
 * that would have to wait, a getter that throws are all a `Result`, never an exception.
 *
 * - K1 What is said about a value that does not fit names its place and what was expected, never
 *   what was there.
 * - K2 Every rpc can answer with the transport's own errors, declared or not.
 */
import { Context, Result, Schema, SchemaIssue, SchemaParser } from "effect"
import { Rpc, RpcSchema } from "effect/rpc"
import { InternalDefect, InvalidInput, Unavailable } from "../Errors.ts"

/** What any call can fail with besides its declared errors. */
export type TransportError = Unavailable | InvalidInput | InternalDefect

/** Codes a value, or says why not. Never throws. */
export type Coder = (value: unknown) => Result.Result<unknown, InvalidInput>

export interface RpcCodec {
  readonly rpc: Rpc.AnyWithProps
  readonly isStream: boolean
  /** Completes a payload with its defaults, checks and encodes it. */
  readonly encodePayload: Coder
  readonly decodePayload: Coder
  /** The result of a unary call; one value of a stream. */
  readonly encodeValue: Coder
  readonly decodeValue: Coder
  readonly encodeError: Coder
  readonly decodeError: Coder
}

const pathLength = 256
const reasonLength = 256

const bounded = (text: string, maximum: number): string =>
  text.length <= maximum ? text : `${text.slice(0, maximum - 1)}…`

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((key, index) =>
      typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${String(key)}`,
    )
    .join("")

/** Says what was expected; a message that a filter made at run time could quote the value. */
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) =>
    issue._tag === "InvalidValue" // K1
      ? `Expected ${issue.annotations?.["expected"] ?? "a valid value"}`
      : SchemaIssue.defaultLeafHook(issue),
  checkHook: (issue) => {
    const message = issue.filter.annotations?.["message"]
    return typeof message === "string" ? message : undefined
  },
})

/** The first fault of a value, as the caller is told: bounded, without any of the value's content. */
export const invalidInputOf = (issue: SchemaIssue.Issue): InvalidInput => {
  const [first] = issuesOf(issue).issues
  const keys = first?.path?.map((part) => (typeof part === "object" ? part.key : part)) ?? []
  return new InvalidInput({
    path: bounded(pathText(keys), pathLength),
    reason: bounded(first?.message ?? "Expected a valid value", reasonLength),
  })
}

const unreadable = new InvalidInput({ path: "", reason: "The value cannot be read" })

const total =
  (code: (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>): Coder =>
  (value) => {
    try {
      const result = code(value)
      return Result.mapError(result, invalidInputOf)
    } catch {
      return Result.fail(unreadable)
    }
  }

type Codec = Schema.Codec<unknown, unknown, never, never>

/** All that a call can fail with: what it declares, what its middlewares do, and the transport. */
export const errorSchemaOf = (rpc: Rpc.AnyWithProps): Schema.Top => {
  const members = new Set<Schema.Top>([rpc.errorSchema])
  const { successSchema } = rpc
  if (RpcSchema.isStreamSchema(successSchema)) members.add(successSchema.error)
  for (const middleware of rpc.middlewares) members.add(middleware.error)
  return Schema.Union([...members, Unavailable, InvalidInput, InternalDefect]) // K2
}

const compile = (rpc: Rpc.AnyWithProps): RpcCodec => {
  const options = Context.get(rpc.annotations, Rpc.ParseOptions)
  const { successSchema } = rpc
  const isStream = RpcSchema.isStreamSchema(successSchema)
  const json = (schema: Schema.Top) => Schema.toCodecJson(schema) as unknown as Codec
  const payload = json(rpc.payloadSchema)
  const value = json(isStream ? successSchema.success : successSchema)
  const error = json(errorSchemaOf(rpc))
  const encodePayload = SchemaParser.encodeUnknownResult(payload, options)
  // The checks are left to the encoder, which makes them anyway.
  const complete = (input: unknown) => rpc.payloadSchema.make(input, { disableChecks: true })
  return {
    rpc,
    isStream,
    encodePayload: total((input) => {
      let completed: unknown
      try {
        completed = complete(input)
      } catch {
        return encodePayload(input)
      }
      return encodePayload(completed)
    }),
    decodePayload: total(SchemaParser.decodeUnknownResult(payload, options)),
    encodeValue: total(SchemaParser.encodeUnknownResult(value, options)),
    decodeValue: total(SchemaParser.decodeUnknownResult(value, options)),
    encodeError: total(SchemaParser.encodeUnknownResult(error, options)),
    decodeError: total(SchemaParser.decodeUnknownResult(error, options)),
  }
}

const compiled = new WeakMap<object, RpcCodec>()

/** The codecs of an rpc, compiled at its first use. */
export const rpcCodec = (rpc: Rpc.Any): RpcCodec => {
  let codec = compiled.get(rpc)
  if (codec === undefined) {
    codec = compile(rpc as unknown as Rpc.AnyWithProps)
    compiled.set(rpc, codec)
  }
  return codec
}
