/**
 * The typed client of `HeddleRpc`: the same operations and errors over a service binding and over
 * HTTPS. What it adds to the bare operations waits across pauses and goes on after a lost connection.
 *
 * - C1 An idempotency key is made once per intent, before the first try: every repetition of that
 *   intent, whoever makes it, gets the first one's receipt.
 * - C2 A submit is repeated when it is `Unavailable` and retryable, whether the call was lost or a
 *   server said so: with its key that is safe. Never when overloaded, and a bounded number of times.
 */
import { Context, Effect, Layer, Random, type Scope, type Stream } from "effect"
import type { RpcGroup } from "effect/rpc"
import { type Curve, jitteredMillis } from "../contracts/Backoff.ts"
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import {
  IdempotencyKey,
  type OwnerId,
  type SubmissionId,
  type ThreadId,
} from "../contracts/Identifiers.ts"
import type { ObserveFrame } from "../contracts/JournalRecord.ts"
import { spans } from "../contracts/observability/Spans.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import type { SubmitManyReply } from "../contracts/SubmitMany.ts"
import { canRepeat, type Position, reconnecting } from "../contracts/transport/Reconnect.ts"
import { type NativeStub, stubTarget } from "../contracts/transport/StubTarget.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireClient, type WireClient } from "../contracts/transport/WireClient.ts"
import { httpTarget, type HttpTargetOptions } from "./HttpTarget.ts"
import { type Batch, submitMany } from "./SubmitMany.ts"

/** Every operation of `HeddleRpc` by its name. */
export type Operations = WireClient<RpcGroup.Rpcs<typeof HeddleRpc>>

type SubmitInput = Parameters<Operations["submit"]>[0]
type AwaitError = Effect.Error<ReturnType<Operations["awaitSettlement"]>>
type ObserveError = Stream.Error<ReturnType<Operations["observe"]>>

/** A submit whose key is made here unless the caller brings the one of its intent. */
export type Submission = Omit<SubmitInput, "idempotencyKey"> & {
  readonly idempotencyKey?: IdempotencyKey
}

/** One thread of an owner, and where a reader of it starts: after this sequence. */
export interface ObserveOptions {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly after?: number
}

/** One submission, as its receipt names it. */
export interface Submitted {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
}

/** A name for one intent: 122 random bits. */
export const makeIdempotencyKey: Effect.Effect<IdempotencyKey> = Effect.sync(() =>
  IdempotencyKey.make(crypto.randomUUID()),
)

/** Lost calls are repeated with a fresh stub and a jittered pause; overloaded ones are not. */
const retry = { times: 4 } as const

/** A submit is repeated as often, for any reason that is retryable. */
const submitCurve: Curve = { baseMillis: 50, maxMillis: 2_000 }
const submitRepeatsMax = 4

const positionOf = (frame: ObserveFrame): Position | undefined => {
  if (frame._tag === "Record") return { _tag: "Record", sequence: frame.record.sequence }
  if (frame._tag === "Cursor") return { _tag: "Cursor", after: frame.after }
  return undefined
}

export class HeddleClient extends Context.Service<
  HeddleClient,
  {
    /** The operations as the contract has them. */
    readonly rpc: Operations
    /**
     * Submits with a key of its own, and gives the receipt. Repeats up to four times, with growing
     * jittered pauses of at most 2 s, what is `Unavailable` and `retryable` and not `overloaded`:
     * whether or not an earlier try got through, the work is accepted once. What it then still fails
     * with may have happened: submit again with the same `idempotencyKey`, if you brought one.
     */
    readonly submit: (submission: Submission) => ReturnType<Operations["submit"]>
    /**
     * Submits many inputs of one owner in one call, each with a key of its own, and gives what each came to, in their
     * order. Repeats like `submit`, and only those that nobody could answer. At most 256, and 4 MiB of inputs, unless
     * the deployment's limits say otherwise.
     */
    readonly submitMany: (
      batch: Batch,
    ) => Effect.Effect<SubmitManyReply, Effect.Error<ReturnType<Operations["submitMany"]>>>
    /** Waits for the settlement for as long as it takes. */
    readonly awaitSettled: (submitted: Submitted) => Effect.Effect<Settlement, AwaitError>
    /** Submits, and waits for the settlement. A failed run is a settlement, not a failure. */
    readonly submitAndWait: (
      submission: Submission,
    ) => Effect.Effect<Settlement, AwaitError | Effect.Error<ReturnType<Operations["submit"]>>>
    /** Every record of a thread once and in order, and those to come, over any lost connection. */
    readonly observe: (options: ObserveOptions) => Stream.Stream<ObserveFrame, ObserveError>
  }
>()("heddle/client/HeddleClient") {
  /** Over a service binding to an `Entrypoint`. Build it per request: a binding is the request's. */
  static readonly layerServiceBinding = (binding: NativeStub): Layer.Layer<HeddleClient> =>
    // The binding is the caller's, who has it for the whole invocation: not to be disposed here.
    HeddleClient.layerTarget(stubTarget(() => ({ call: (...sent) => binding.call(...sent) })))

  /** Over HTTPS, from anywhere that has `fetch`. */
  static readonly layerHttp = (options: HttpTargetOptions): Layer.Layer<HeddleClient> =>
    HeddleClient.layerTarget(httpTarget(options))

  /** Over any wire. */
  static readonly layerTarget = (target: WireTarget): Layer.Layer<HeddleClient> =>
    Layer.effect(HeddleClient, makeClient(target))
}

const waitCurve: Curve = { baseMillis: 100, maxMillis: 5_000 }
const lostWaitsMax = 20

/** The jittered pause before the nth repetition. */
const pause = (curve: Curve, nth: number): Effect.Effect<void> =>
  Effect.flatMap(Random.next, (random) => Effect.sleep(jitteredMillis(curve, nth, random)))

/** Submits until it is answered for good, or was repeated often enough. */
const submitting = (
  once: Operations,
  input: SubmitInput,
  repeats = 0,
): ReturnType<Operations["submit"]> =>
  Effect.catch(once.submit(input), (error) =>
    canRepeat(error) && repeats < submitRepeatsMax
      ? Effect.andThen(pause(submitCurve, repeats + 1), submitting(once, input, repeats + 1)) // C2
      : Effect.fail(error),
  )

/** Waits on across pauses and restarts; gives up after twenty lost calls in a row. */
const untilSettled = (
  rpc: Operations,
  submitted: Submitted,
  lost: number,
): Effect.Effect<Settlement, AwaitError> => {
  const { ownerId, threadId, submissionId } = submitted
  return Effect.matchEffect(rpc.awaitSettlement({ ownerId, threadId, submissionId }), {
    onSuccess: (reply) =>
      reply._tag === "Settled"
        ? Effect.succeed(reply.settlement)
        : // A deployment that says so at once is not asked again at once.
          Effect.andThen(pause(waitCurve, 1), untilSettled(rpc, submitted, 0)),
    onFailure: (error) =>
      canRepeat(error) && lost < lostWaitsMax
        ? Effect.andThen(pause(waitCurve, lost + 1), untilSettled(rpc, submitted, lost + 1))
        : Effect.fail(error),
  })
}

const makeClient = Effect.fnUntraced(function* (
  target: WireTarget,
): Effect.fn.Return<HeddleClient["Service"], never, Scope.Scope> {
  const rpc = yield* makeWireClient(HeddleRpc, {
    target: () => target,
    retry,
    spanPrefix: spans.client,
  })
  // Without repetitions of its own: two loops in each other would multiply.
  const once = yield* makeWireClient(HeddleRpc, {
    target: () => target,
    spanPrefix: spans.client,
  })
  const submit = ({ idempotencyKey, ...rest }: Submission) =>
    (idempotencyKey === undefined ? makeIdempotencyKey : Effect.succeed(idempotencyKey)).pipe(
      Effect.flatMap((key) => submitting(once, { ...rest, idempotencyKey: key })), // C1
    )
  const repeating = {
    once: once.submitMany,
    makeKey: makeIdempotencyKey,
    pause: (nth: number) => pause(submitCurve, nth),
    repeatsMax: submitRepeatsMax,
  }
  const awaitSettled = (submitted: Submitted) => untilSettled(rpc, submitted, 0)
  return HeddleClient.of({
    rpc,
    submit,
    submitMany: (batch) => submitMany(repeating, batch),
    awaitSettled,
    submitAndWait: (submission) => Effect.flatMap(submit(submission), awaitSettled),
    observe: ({ ownerId, threadId, after: start }) =>
      reconnecting({
        open: (after) =>
          rpc.observe({ ownerId, threadId, ...(after === undefined ? {} : { after }) }),
        positionOf,
        after: start,
      }),
  })
})
