/**
 * A group whose handlers do what a transport has to bear: die, answer what their schema forbids,
 * wait for ever, push without end. Served in memory and by a real object.
 */
import { Deferred, Effect, type Layer, Schema, Stream } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import type { WireServer } from "../../contracts/transport/index.ts"

export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  why: Schema.String,
}) {}

export const ProbeState = Schema.Struct({
  /** Handlers that began to wait. */
  begun: Schema.Int,
  /** Of these, the ones that were interrupted or ended. */
  released: Schema.Int,
  /** Values that an endless stream has produced. */
  produced: Schema.Int,
  activeCalls: Schema.Int,
})

export class ProbeRpc extends RpcGroup.make(
  Rpc.make("echo", {
    payload: { text: Schema.String.check(Schema.isMaxLength(16)) },
    success: Schema.String,
    error: Refused,
  }),
  Rpc.make("defect", { payload: {}, success: Schema.String }),
  Rpc.make("misshapenResult", { payload: {}, success: Schema.String }),
  Rpc.make("misshapenError", { payload: {}, success: Schema.String, error: Refused }),
  Rpc.make("misshapenValue", { payload: {}, success: Schema.String, stream: true }),
  /** Begins, then waits until it is interrupted. */
  Rpc.make("wait", { payload: {}, success: Schema.Void }),
  /** Begins, then waits for `open`, and cannot be interrupted. */
  Rpc.make("commit", { payload: {}, success: Schema.String }),
  Rpc.make("open", { payload: {}, success: Schema.Void }),
  Rpc.make("numbers", { payload: { to: Schema.Int }, success: Schema.Int, stream: true }),
  /** So many texts of so many characters. */
  Rpc.make("texts", {
    payload: { count: Schema.Int, characters: Schema.Int },
    success: Schema.String,
    stream: true,
  }),
  Rpc.make("endless", { payload: {}, success: Schema.Int, stream: true }),
  /** Says one value and is quiet then. */
  Rpc.make("quiet", { payload: {}, success: Schema.String, stream: true }),
  /** Says a value, then fails. */
  Rpc.make("failing", { payload: {}, success: Schema.Int, error: Refused, stream: true }),
  Rpc.make("dying", { payload: {}, success: Schema.Int, stream: true }),
  Rpc.make("state", { payload: {}, success: ProbeState }),
) {}

/** The same names with other schemas: a peer of another version. */
export class DriftedRpc extends RpcGroup.make(
  Rpc.make("echo", { payload: { text: Schema.Int }, success: Schema.String }),
  Rpc.make("open", { payload: {}, success: Schema.Struct({ opened: Schema.Boolean }) }),
  Rpc.make("state", { payload: {}, success: Schema.String }),
  Rpc.make("numbers", { payload: { to: Schema.Int }, success: Schema.String, stream: true }),
  Rpc.make("endless", { payload: {}, success: Schema.String, stream: true }),
  Rpc.make("failing", {
    payload: {},
    success: Schema.Int,
    error: Schema.TaggedStruct("Refused", { why: Schema.Int }),
    stream: true,
  }),
  Rpc.make("unheardOf", { payload: {}, success: Schema.String }),
) {}

export const record = (index: number, characters: number): string =>
  String(index).padEnd(characters, "x")

export const secret = "SELECT secret FROM vault"

/** The handlers, and what they have counted. */
export const makeProbe = (server: () => WireServer | undefined) => {
  const counts = { begun: 0, released: 0, produced: 0 }
  const opened = Deferred.makeUnsafe<void>()
  const begin = Effect.sync(() => {
    counts.begun++
  })
  const release = Effect.sync(() => {
    counts.released++
  })
  const held = <A, E, R>(stream: Stream.Stream<A, E, R>) =>
    Stream.concat(Stream.drain(Stream.fromEffect(begin)), stream).pipe(Stream.ensuring(release))
  const handlers: Layer.Layer<Rpc.ToHandler<RpcGroup.Rpcs<typeof ProbeRpc>>> = ProbeRpc.toLayer({
    echo: ({ text }) =>
      text === "refuse" ? Effect.fail(new Refused({ why: "asked to" })) : Effect.succeed(text),
    defect: () => Effect.die(new Error(secret)),
    misshapenResult: () => Effect.succeed(42 as never),
    misshapenError: () => Effect.fail({ _tag: "Undeclared", secret } as never),
    misshapenValue: () => held(Stream.make(42 as never)),
    wait: () =>
      Effect.andThen(
        begin,
        Effect.onExit(Effect.never, () => release),
      ),
    commit: () =>
      Rpc.uninterruptible(
        Effect.andThen(begin, Deferred.await(opened)).pipe(
          Effect.andThen(release),
          Effect.as("committed"),
        ),
      ),
    open: () => Effect.asVoid(Deferred.succeed(opened, undefined)),
    numbers: ({ to }) => held(Stream.range(1, to)),
    texts: ({ count, characters }) =>
      held(Stream.map(Stream.range(1, count), (index) => record(index, characters))),
    endless: () =>
      held(
        Stream.fromEffectRepeat(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => ++counts.produced),
          ),
        ),
      ),
    quiet: () => held(Stream.concat(Stream.make("hello"), Stream.never)),
    failing: () => held(Stream.concat(Stream.make(1), Stream.fail(new Refused({ why: "late" })))),
    dying: () => held(Stream.concat(Stream.make(1), Stream.die(new Error(secret)))),
    state: () =>
      // The call that asks is under way itself.
      Effect.sync(() => ({ ...counts, activeCalls: (server()?.activeCalls() ?? 1) - 1 })),
  })
  return { counts, handlers }
}
