/**
 * The operations of a contract, from what is generated about each, over one wire target.
 *
 * - O1 Every operation is safe to repeat: what got lost is tried again, a bounded number of times, with
 *   the same payload and so with the same keys.
 * - O2 A payload that JSON cannot say is `InvalidInput`, like one that the deployment refuses, and
 *   nothing is sent.
 * - O3 What a newer deployment adds to an open union is `Unrecognized`, and breaks nothing.
 */
import type { WireTarget } from "../../contracts/transport/Wire.ts"
import { callOnce } from "./Call.ts"
import { type ErrorOf, HeddleError } from "./HeddleError.ts"
import { NotJson, payloadOf } from "./Payload.ts"
import { type Repetition, repeating } from "./Repeat.ts"
import {
  failedStream,
  type HeddleStream,
  plainStream,
  resumingStream,
  type WhenQuiet,
} from "./Stream.ts"

/** What can be said with every call. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason. A read or a stream is given up on the other side,
   * too; a mutation that has begun there goes on, and may have happened.
   */
  readonly signal?: AbortSignal | undefined
  /** The trace that the call belongs to: a W3C `traceparent`. The deployment's spans join it. */
  readonly traceparent?: string | undefined
  /**
   * Of a stream of records (`observe`): what it does when its thread had nothing to tell for long (five minutes). `goOn`, the
   * default, waits on, and never ends by itself. `end` ends it there, and the thread may sleep: look again, from the last
   * record, when you think it is time.
   */
  readonly whenQuiet?: WhenQuiet | undefined
}

/** What is generated about one operation. */
export interface OperationShape {
  /** `unary` answers once · `stream` with values · `records` with values that have sequences. */
  readonly kind: "unary" | "stream" | "records"
  /** Where in its payload the keys of its intents are. */
  readonly keys: ReadonlyArray<ReadonlyArray<string>>
  /** The tags of an answer that may get others; a case of theirs is `Unrecognized`. */
  readonly cases?: ReadonlyArray<string>
}

/** A case of an answer that this version of the SDK does not know: a newer deployment has added it. */
export interface Unrecognized {
  readonly _tag: "Unrecognized"
  /** As it was sent. */
  readonly sent: unknown
}

/** One operation, without its types. */
export type Operation = (
  payload: unknown,
  options?: CallOptions,
) => Promise<unknown> | HeddleStream<unknown>

/** Of a call that got lost. */
export const unaryRepetition: Repetition = { times: 4, curve: { baseMillis: 50, maxMillis: 2_000 } }

/** Of a stream, between two new records: as long as waits go on. */
const recordsRepetition: Repetition = { times: 20, curve: { baseMillis: 100, maxMillis: 5_000 } }

export interface OperationsOptions {
  readonly target: WireTarget
  readonly errorOf: ErrorOf
  /** Of unary calls that got lost; four times by default. */
  readonly repetition?: Repetition
}

const payloadOrError = (
  given: unknown,
  { keys }: OperationShape,
  errorOf: ErrorOf,
): { readonly payload: unknown } | HeddleError => {
  try {
    return { payload: payloadOf(given, keys) } // O1
  } catch (error) {
    const { path, reason } = error instanceof NotJson ? error : new NotJson("", "It cannot be read")
    return errorOf({ _tag: "InvalidInput", path, reason }) // O2
  }
}

const tagOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "_tag" in value ? value._tag : undefined

/** Reads an answer, or one value of a stream. */
const reading = ({ cases }: OperationShape): ((value: unknown) => unknown) => {
  if (cases === undefined) return (value) => value
  const known: ReadonlySet<unknown> = new Set(cases)
  return (sent) =>
    known.has(tagOf(sent)) ? sent : ({ _tag: "Unrecognized", sent } satisfies Unrecognized) // O3
}

const operation =
  (
    tag: string,
    shape: OperationShape,
    { target, errorOf, repetition = unaryRepetition }: OperationsOptions,
  ): Operation =>
  (given, { signal, traceparent, whenQuiet = "goOn" } = {}) => {
    const sent = payloadOrError(given, shape, errorOf)
    if (sent instanceof HeddleError) {
      return shape.kind === "unary" ? Promise.reject(sent) : failedStream(sent)
    }
    const call = { target, errorOf, tag, payload: sent.payload, traceparent }
    const read = reading(shape)
    if (shape.kind === "unary") {
      const once = () => callOnce({ ...call, signal }).then(read)
      return repeating(once, repetition, signal) // O1
    }
    const calling = (own: AbortSignal) => ({ ...call, signal: own })
    return shape.kind === "records"
      ? resumingStream({ calling, read, repetition: recordsRepetition, signal, whenQuiet })
      : plainStream({ calling, read, repetition: unaryRepetition, signal })
  }

/** All operations by their names. */
export const makeOperations = (
  shapes: Readonly<Record<string, OperationShape>>,
  options: OperationsOptions,
): Readonly<Record<string, Operation>> =>
  Object.fromEntries(
    Object.entries(shapes).map(([tag, shape]) => [tag, operation(tag, shape, options)]),
  )
