/**
 * The wire: what crosses between two objects, already encoded. The shapes are those of effect/rpc, written
 * out, so that callers without effect can speak it too.
 *
 * One native method carries everything. A unary call is one native call: an encoded request in, an
 * encoded exit out. A stream call also passes a sink; the server awaits each push, which is the
 * backpressure, and the call's return value is the final exit. An interrupt is a second message that
 * names the request.
 *
 * Plain data only (structured clone turns class instances into plain objects): the codecs of the
 * client and the server stand on both sides of it.
 */
/** A call. Headers say who calls, between objects; a public edge reads none. */
export interface WireRequest {
  readonly _tag: "Request"
  /** Made by the caller, unique over all callers of a target. */
  readonly id: string | number
  /** The operation. */
  readonly tag: string
  readonly payload: unknown
  readonly headers: ReadonlyArray<[string, string]>
  readonly isNotification?: true
  readonly discard?: true
  readonly traceId?: string
  readonly spanId?: string
  readonly sampled?: boolean
}

/** Ends a call. */
export interface WireInterrupt {
  readonly _tag: "Interrupt"
  readonly requestId: string | number
}

/** A request or the interruption of one. */
export type WireMessage = WireRequest | WireInterrupt

/** The encoded end of a call. */
export type WireExit =
  | { readonly _tag: "Success"; readonly value: unknown }
  | { readonly _tag: "Failure"; readonly cause: ReadonlyArray<WireReason> }

export type WireReason =
  | { readonly _tag: "Fail"; readonly error: unknown }
  | { readonly _tag: "Die"; readonly defect: unknown }
  | { readonly _tag: "Interrupt"; readonly fiberId: number | null | undefined }

export const success: WireExit = { _tag: "Success", value: undefined }

/** The exit of a call that failed with this encoded error. */
export const failure = (error: unknown): WireExit => ({
  _tag: "Failure",
  cause: [{ _tag: "Fail", error }],
})

/** Takes the next values of a stream; an empty push is a heartbeat. Resolves when they are taken. */
export type WireSink = (values: ReadonlyArray<unknown>) => Promise<void>

/** The one native method of an object or entrypoint, as a stub or an in-memory peer offers it. */
export interface WireTarget {
  readonly call: (message: WireMessage, sink?: WireSink) => Promise<WireExit>
}
