/**
 * How the end of a call is told on the wire, and read from it. Pure.
 *
 * - X1 Whatever happened has an exit; what is no declared answer is one of the transport's errors.
 * - X2 A defect, and an answer that does not fit its schema, is for the log: the wire gets neither.
 * - X3 Whatever arrives is read to an exit; what does not decode is `Unavailable`.
 */
import { Cause, Exit, Result } from "effect"
import { InvalidInput, Unavailable } from "../Errors.ts"
import type { RpcCodec, TransportError } from "./RpcCodec.ts"
import { failure, success, type WireExit } from "./Wire.ts"

export { failure, success }

const unavailable = (retryable: boolean, reason: string): Unavailable =>
  new Unavailable({ retryable, overloaded: false, reason })

const unserved = "The peer does not serve this method"
/** Between objects: a peer of another version, which may soon be replaced. */
export const unknownMethod = unavailable(true, unserved)
/** At a public edge: a misspelt name, which would be repeated for ever. */
export const noSuchMethod = unavailable(false, unserved)
export const notARequest = new InvalidInput({ path: "", reason: "Expected a request" })
export const noSink = new InvalidInput({ path: "", reason: "Expected a sink for the stream" })
const noValues = new InvalidInput({ path: "", reason: "Expected values" })
export const notDecoded = unavailable(false, "The answer of the peer does not decode")
const interrupted = unavailable(true, "The call was interrupted")

/** An error of the transport, which every rpc can answer. */
export const transportFailure = (error: TransportError): WireExit => {
  const { _tag } = error
  switch (_tag) {
    case "InvalidInput":
      return failure({ _tag, path: error.path, reason: error.reason })
    case "InternalDefect":
      return failure({ _tag, reference: error.reference })
    case "Unavailable": {
      const { overloaded, reason, retryable } = error
      return failure({ _tag, retryable, overloaded, reason })
    }
  }
}

/** What becomes of a handler's end: an answer, or a defect to log and to answer by reference. */
export type Ending =
  | { readonly _tag: "Answer"; readonly exit: WireExit }
  | { readonly _tag: "Defect"; readonly cause: Cause.Cause<unknown> }

const answer = (exit: WireExit): Ending => ({ _tag: "Answer", exit })

/** Tells the end of a handler. `valueless` ends carry no result: of a stream, of a discarded call. */
export const endingOf = (
  codec: RpcCodec,
  valueless: boolean,
  exit: Exit.Exit<unknown, unknown>,
): Ending => {
  if (exit._tag === "Success") {
    if (valueless) return answer(success)
    return Result.match(codec.encodeValue(exit.value), {
      onSuccess: (value) => answer({ _tag: "Success", value }),
      onFailure: (broken): Ending => ({ _tag: "Defect", cause: Cause.die(broken) }), // X2
    })
  }
  if (Cause.hasDies(exit.cause)) return { _tag: "Defect", cause: exit.cause } // X2
  const failed = exit.cause.reasons.find(Cause.isFailReason)
  if (failed === undefined) return answer(transportFailure(interrupted)) // X1
  return Result.match(codec.encodeError(failed.error), {
    onSuccess: (error) => answer(failure(error)),
    onFailure: (broken): Ending => ({ _tag: "Defect", cause: Cause.die(broken) }), // X2
  })
}

/** Reads the end of a call. */
export const readExit = (
  codec: RpcCodec,
  valueless: boolean,
  exit: WireExit | null | undefined,
): Exit.Exit<unknown, unknown> => {
  if (exit?._tag === "Success") {
    if (valueless) return Exit.void
    return Result.match(codec.decodeValue(exit.value), {
      onSuccess: (value): Exit.Exit<unknown, unknown> => Exit.succeed(value),
      onFailure: () => Exit.fail(notDecoded), // X3
    })
  }
  const reasons: unknown = exit?._tag === "Failure" ? exit.cause : undefined
  const first = Array.isArray(reasons) ? (reasons[0] as { _tag?: unknown; error?: unknown }) : {}
  if (first?._tag !== "Fail") return Exit.fail(notDecoded) // X3
  return Result.match(codec.decodeError(first.error), {
    onSuccess: (error) => Exit.fail(error),
    onFailure: () => Exit.fail<unknown>(notDecoded), // X3
  })
}

/** Codes the values of a stream one by one; fails with the first that does not fit. */
export const eachValue = (
  code: RpcCodec["decodeValue"],
  values: unknown,
): Result.Result<ReadonlyArray<unknown>, InvalidInput> => {
  if (!Array.isArray(values)) return Result.fail(noValues)
  const coded: Array<unknown> = []
  for (const value of values) {
    const result = code(value)
    if (Result.isFailure(result)) return Result.fail(result.failure)
    coded.push(result.success)
  }
  return Result.succeed(coded)
}
