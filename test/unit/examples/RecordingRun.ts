/**
 * A `Run` in memory for tests of handlers: outcomes are kept as JSON under their names, so that a
 * second entry with the same records is answered as a thread answers it. `dieAfter` ends an attempt
 * right after so many records, as a crash would.
 */
import { Effect, type Exit, Option, Schema, type Scope } from "effect"
import type { Agent, JsonCodec, Run } from "../../../thread-actors/Agent.ts"
import {
  AttemptId,
  OwnerId,
  Principal,
  SubmissionId,
  ThreadId,
} from "../../../contracts/Identifiers.ts"

/** What outlives an attempt: the records of one submission and the state of its thread. */
export interface Memory {
  readonly records: Map<string, string>
  state: string | undefined
  /** The names of the bodies that ran, in every attempt. */
  readonly ran: Array<string>
  readonly progress: Array<{ readonly name: string; readonly data: unknown }>
}

export const memory = (state?: string): Memory => ({
  records: new Map(),
  state,
  ran: [],
  progress: [],
})

const uuid = "00000000-0000-7000-8000-000000000000"
const info: Run["info"] = {
  ownerId: OwnerId.make("test"),
  threadId: ThreadId.make("document"),
  submissionId: SubmissionId.make(uuid),
  sequence: 1,
  attemptId: AttemptId.make(uuid),
  attempt: 1,
  principal: Principal.make("tester"),
  acceptedAt: 0,
  yieldAt: 600_000,
}

type Recorder = <A>(name: string, codec: JsonCodec<A>, make: Effect.Effect<A>) => Effect.Effect<A>

const textOf = <A>(codec: JsonCodec<A>) => Schema.fromJsonString(Schema.toCodecJson(codec))

/** Answers from the records, or makes the outcome and keeps it. */
const recorder = (kept: Memory, dieAfter: number | undefined): Recorder => {
  let written = 0
  const used = new Set<string>()
  return (name, codec, make) =>
    Effect.suspend(() => {
      if (used.has(name)) return Effect.die(`DuplicateName ${name}`)
      used.add(name)
      const known = kept.records.get(name)
      if (known !== undefined) return Effect.orDie(Schema.decodeEffect(textOf(codec))(known))
      return Effect.flatMap(make, (value) => {
        kept.records.set(name, Schema.encodeSync(textOf(codec))(value))
        written += 1
        return written === dieAfter ? Effect.die("crash") : Effect.succeed(value)
      })
    })
}

const stepper =
  (record: Recorder, kept: Memory) =>
  <A, E, R>(
    name: string,
    schema: JsonCodec<A>,
    body: Effect.Effect<A, E, R>,
    options?: { readonly error?: JsonCodec<E> },
  ): Effect.Effect<A, E> => {
    const outcome = Schema.Union([
      Schema.TaggedStruct("Ok", { value: schema }),
      Schema.TaggedStruct("Failed", { error: options?.error ?? (Schema.Never as JsonCodec<E>) }),
    ])
    const first = Effect.suspend(() => {
      kept.ran.push(name)
      return Effect.match(body as Effect.Effect<A, E>, {
        onSuccess: (value) => ({ _tag: "Ok", value }) as const,
        onFailure: (error) => ({ _tag: "Failed", error }) as const,
      })
    })
    return Effect.flatMap(
      record(name, outcome as unknown as JsonCodec<typeof outcome.Type>, first),
      (answer) => (answer._tag === "Ok" ? Effect.succeed(answer.value) : Effect.fail(answer.error)),
    )
  }

const stateOf = <State>(
  codec: JsonCodec<State>,
  record: Recorder,
  kept: Memory,
): Run<State>["state"] => {
  const read = (): Option.Option<State> =>
    Option.map(Option.fromUndefinedOr(kept.state), Schema.decodeSync(textOf(codec)))
  const change = (by: (state: Option.Option<State>) => State) =>
    Effect.sync(() => {
      const next = by(read())
      kept.state = Schema.encodeSync(textOf(codec))(next)
      return next
    })
  return { read: () => Effect.sync(read), update: (name, by) => record(name, codec, change(by)) }
}

/** Runs one attempt of a submission. Give it the same memory again to enter the run once more. */
export const attempt = async <In, Out, Err, State>(
  agent: Agent<In, Out, Err, State>,
  handle: (input: In, run: Run<State>) => Effect.Effect<Out, Err, Scope.Scope>,
  options: { readonly input: In; readonly memory: Memory; readonly dieAfter?: number },
): Promise<Exit.Exit<Out, Err>> => {
  const kept = options.memory
  const record = recorder(kept, options.dieAfter)
  // What no example here uses is not there.
  const operations: Partial<Run<State>> = {
    info,
    step: stepper(record, kept) as Run<State>["step"],
    tool: () => Effect.die("no example here calls a tool"),
    state: stateOf(agent.state ?? (Schema.Never as JsonCodec<State>), record, kept),
    progress: (name, data) =>
      record(
        name,
        Schema.Void,
        Effect.sync(() => void kept.progress.push({ name, data })),
      ),
    emit: () => Effect.void,
    now: (name) => record(name, Schema.Number, Effect.succeed(0)),
    random: (name) => record(name, Schema.Number, Effect.succeed(0)),
  }
  const run = operations as Run<State>
  return Effect.runPromiseExit(Effect.scoped(handle(options.input, run)))
}
