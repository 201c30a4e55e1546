/**
 * The SDK: a deployment's operations as promises and async iterators, over a service binding or HTTPS. It needs no
 * package, and runs wherever there are `fetch` and `AbortSignal`: Node, Deno, Bun, browsers, Workers.
 *
 * Types, errors and operations are generated from the contracts; what is here carries them.
 */
import { type NativeStub, stubTarget } from "../../contracts/transport/StubTarget.ts"
import type { WireTarget } from "../../contracts/transport/Wire.ts"
import { errorOf } from "../generated/errors.ts"
import { operationShapes, type Operations } from "../generated/operations.ts"
import type { Settlement, SubmitPayload } from "../generated/types.ts"
import { httpTarget, type HttpTargetOptions } from "../HttpTarget.ts"
import { undecoded } from "./Call.ts"
import { type CallOptions, makeOperations, unaryRepetition } from "./Operations.ts"
import { pause, type Repetition } from "./Repeat.ts"
import { submittingMany } from "./submitMany.ts"

export * from "../generated/errors.ts"
export type { OperationErrors, Operations } from "../generated/operations.ts"
export type * from "../generated/types.ts"
export { HeddleError, UnrecognizedError } from "./HeddleError.ts"
export type { CallOptions, Unrecognized } from "./Operations.ts"
export type { HeddleStream, WhenQuiet } from "./Stream.ts"

/** A service binding to the `Api` entrypoint of a deployment, as the caller's `env` has it. */
export type HeddleBinding = NativeStub

/** How to reach a deployment. */
export type HeddleOptions =
  /** Over a service binding. A binding is the request's: make the client in the request, too. */
  | { readonly binding: HeddleBinding }
  /** Over HTTPS. A token that is a function is asked for at every call. */
  | HttpTargetOptions

/** One submission, as its receipt names it. */
export interface Submitted {
  readonly ownerId: string
  readonly threadId: string
  readonly submissionId: string
}

/** A client of one deployment. */
export interface Heddle extends Operations {
  /** Waits for the settlement for as long as it takes. A failed run is a settlement, not a rejection. */
  readonly awaitSettled: (submitted: Submitted, options?: CallOptions) => Promise<Settlement>
  /** Submits, and waits for the settlement. */
  readonly submitAndWait: (payload: SubmitPayload, options?: CallOptions) => Promise<Settlement>
}

/** Of what has a loop of its own: two loops in each other would multiply. */
const noRepetition: Repetition = { ...unaryRepetition, times: 0 }

/** Waits go on over deployments and restarts, up to twenty lost calls in a row. */
const waitRepetition: Repetition = { times: 20, curve: { baseMillis: 100, maxMillis: 5_000 } }

const operationsOver = (target: WireTarget, repetition?: Repetition): Operations =>
  makeOperations(operationShapes, {
    target,
    errorOf,
    ...(repetition === undefined ? {} : { repetition }),
  }) as unknown as Operations

const targetOf = (options: HeddleOptions): WireTarget => {
  if (!("binding" in options)) return httpTarget(options)
  const { binding } = options
  // The binding is the caller's, who has it for the whole invocation: not to be disposed here.
  return stubTarget(() => ({ call: (...sent) => binding.call(...sent) }))
}

/** A client of the deployment behind a service binding, or a URL. Connects at the first call. */
export const createHeddle = (options: HeddleOptions): Heddle => {
  const target = targetOf(options)
  const operations = operationsOver(target)
  const { awaitSettlement } = operationsOver(target, waitRepetition)
  const { submitMany } = operationsOver(target, noRepetition)
  const awaitSettled: Heddle["awaitSettled"] = async (submitted, callOptions) => {
    const { ownerId, threadId, submissionId } = submitted
    for (;;) {
      const reply = await awaitSettlement({ ownerId, threadId, submissionId }, callOptions)
      if (reply?._tag === "Settled") return reply.settlement
      if (reply?._tag !== "Pending") throw errorOf(undecoded)
      // A deployment that says so at once is not asked again at once.
      await pause(waitRepetition.curve, 1, callOptions?.signal)
    }
  }
  return {
    ...operations,
    submitMany: submittingMany(submitMany, unaryRepetition),
    awaitSettled,
    submitAndWait: async (payload, callOptions) =>
      awaitSettled(await operations.submit(payload, callOptions), callOptions),
  }
}
