/**
 * The wire: what crosses between two objects, already encoded.
 *
 * One native method carries everything. A unary call is one native call: an encoded request in, an
 * encoded exit out. A stream call also passes a sink; the server awaits each push, which is the
 * backpressure, and the call's return value is the final exit. An interrupt is a second message that
 * names the request.
 *
 * Plain data only (structured clone turns class instances into plain objects): the codecs of the
 * client and the server stand on both sides of it.
 */
import type { ExitEncoded, InterruptEncoded, RequestEncoded } from "effect/rpc/RpcMessage"

/** A request or the interruption of one. */
export type WireMessage = RequestEncoded | InterruptEncoded

/** The encoded end of a call. */
export type WireExit = ExitEncoded<unknown, unknown>

/** Takes the next values of a stream; an empty push is a heartbeat. Resolves when they are taken. */
export type WireSink = (values: ReadonlyArray<unknown>) => Promise<void>

/** The one native method of an object or entrypoint, as a stub or an in-memory peer offers it. */
export interface WireTarget {
  readonly call: (message: WireMessage, sink?: WireSink) => Promise<WireExit>
}
