/**
 * The answer of `POST /rpc`: a stream of NDJSON lines that stays open while its calls run.
 *
 * - R1 A line is taken only when the reader has room for it: that is the backpressure.
 * - R2 A quiet answer carries an empty line now and then, so that a reader that has vanished is
 *   noticed; readers of NDJSON skip it.
 * - R3 When the reader is gone, `gone` resolves and every write rejects.
 */
import { Effect } from "effect"
import type { ExitEncoded } from "effect/rpc/RpcMessage"

export interface ReplyStream {
  readonly body: ReadableStream<Uint8Array>
  /** Some values of a stream; none is a heartbeat. Resolves when there is room for more. */
  readonly chunk: (requestId: string | number, values: ReadonlyArray<unknown>) => Promise<void>
  /** The end of one call. */
  readonly exit: (requestId: string | number, exit: ExitEncoded<unknown, unknown>) => Promise<void>
  /** Ends the answer. Never rejects. */
  readonly end: () => Promise<void>
  /** Resolves when nobody reads any more. */
  readonly gone: Promise<void>
  /** Keeps a quiet answer alive; runs until interrupted. */
  readonly heartbeat: Effect.Effect<never>
}

const encoder = new TextEncoder()
const empty = encoder.encode("\n")

/** JSON has no undefined: the empty value of a stream's end is null, as effect's own client reads it. */
const inJson = (exit: ExitEncoded<unknown, unknown>): ExitEncoded<unknown, unknown> =>
  exit._tag === "Success" && exit.value === undefined ? { _tag: "Success", value: null } : exit

export const makeReplyStream = (heartbeatMillis: number): ReplyStream => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  let lines = 0
  let untaken = 0
  const write = async (bytes: Uint8Array): Promise<void> => {
    lines += 1
    untaken += 1
    try {
      await writer.write(bytes) // R1 R3
    } finally {
      untaken -= 1
    }
  }
  const line = (message: unknown) => write(encoder.encode(`${JSON.stringify(message)}\n`))
  let seen = 0
  const beat = Effect.sync(() => {
    // A line that is not taken yet tells as much as another one would.
    if (lines === seen && untaken === 0) write(empty).catch(() => undefined) // R2
    seen = lines
  })
  return {
    body: readable,
    chunk: (requestId, values) =>
      values.length === 0 ? write(empty) : line({ _tag: "Chunk", requestId, values }),
    exit: (requestId, exit) => line({ _tag: "Exit", requestId, exit: inJson(exit) }),
    end: () => writer.close().catch(() => undefined),
    gone: writer.closed.then(
      () => undefined,
      () => undefined,
    ),
    heartbeat: Effect.forever(Effect.andThen(Effect.sleep(heartbeatMillis), beat)),
  }
}
