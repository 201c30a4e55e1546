/**
 * `run.waitFor`: waits for a value that somebody outside sends under the name of the wait, once.
 *
 * - S1 What came is kept as it came, whether it was asked for by then or not.
 * - S2 Whether it fits the schema is noted (part 3) before the run sees it: later code that reads it differently is a
 *   mismatch, and never another outcome.
 */
import { type Duration, Effect, Result } from "effect"
import type { JsonCodec, WaitOptions } from "./Agent.ts"
import { SignalInvalid, WaitTimedOut } from "./Agent.ts"
import {
  appendFact,
  leave,
  recallPart,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { misuse } from "./Misuse.ts"
import { readDuration } from "./RetryPolicy.ts"
import { recordedTime, timeAfter } from "./Timer.ts"
import { waitNamed } from "./Waiting.ts"
import { notePart } from "./WaitRows.ts"

interface SignalWait {
  readonly name: string
  readonly schema: JsonCodec<unknown>
  readonly timeoutMillis: number | undefined
}

type Outcome = Effect.Effect<unknown, SignalInvalid | WaitTimedOut>

const mismatch = (running: Running, { name }: SignalWait): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name })

const ask = (running: Running, { name, timeoutMillis }: SignalWait): Effect.Effect<Recorded> =>
  waitNamed(running, {
    name,
    kind: "signal",
    requestKind: "SignalAwaited",
    request: (now) => {
      const dueAt = timeoutMillis === undefined ? null : timeAfter(now, timeoutMillis)
      const payload = JSON.stringify(dueAt === null ? {} : { dueAt, timeoutMillis })
      return { fact: { kind: "SignalAwaited", payload }, dueAt }
    },
    dueAtOf: recordedTime("dueAt"),
  })

/** The time that was waited for: as it was asked for first. */
const timedOut = (running: Running, wait: SignalWait): Outcome =>
  Effect.flatMap(recallPart(running, { name: wait.name, part: 0 }), (request) => {
    const timeoutMillis = request?.payload["timeoutMillis"]
    return typeof timeoutMillis === "number"
      ? Effect.fail(new WaitTimedOut({ wait: wait.name, timeoutMillis }))
      : mismatch(running, wait)
  })

const note = (running: Running, { name }: SignalWait, reason: string | undefined) =>
  writeFact(running, "wait", (block) => {
    const payload = JSON.stringify(reason === undefined ? { fits: true } : { fits: false, reason })
    const fact = { kind: "ValueDrawn", name, part: notePart, payload } as const
    return appendFact(block, running.live, fact) ?? { value: undefined }
  })

/** What came, as the run is to see it. // S2 */
const read = (running: Running, wait: SignalWait, answer: Recorded): Outcome =>
  Effect.gen(function* () {
    const noted = yield* recallPart(running, { name: wait.name, part: notePart })
    const reason = noted?.payload["reason"]
    if (noted !== undefined && typeof reason === "string")
      return yield* new SignalInvalid({ wait: wait.name, reason })
    const value = jsonCoder(wait.schema).decode(answer.payload["payload"]) // S1
    if (noted === undefined)
      yield* note(running, wait, Result.isFailure(value) ? value.failure : undefined)
    if (Result.isSuccess(value)) return value.success
    return noted === undefined
      ? yield* new SignalInvalid({ wait: wait.name, reason: value.failure })
      : yield* mismatch(running, wait)
  })

const timeoutOf = (
  timeout: Duration.Input | undefined,
): Result.Result<number | undefined, string> =>
  timeout === undefined ? Result.succeed(undefined) : readDuration("timeout", timeout)

/** The wait, as `Run` offers it. */
export const waitForSignal = (
  running: Running,
  name: string,
  schema: JsonCodec<unknown>,
  options: WaitOptions,
): Outcome =>
  Effect.andThen(
    takeName(running, name),
    Effect.suspend((): Outcome => {
      const timeoutMillis = timeoutOf(options.timeout)
      if (Result.isFailure(timeoutMillis))
        return misuse(`waitFor ${name}: ${timeoutMillis.failure}`)
      const wait = { name, schema, timeoutMillis: timeoutMillis.success }
      return Effect.flatMap(ask(running, wait), (answer) => {
        switch (answer.kind) {
          case "SignalReceived":
            return read(running, wait, answer)
          case "TimerFired":
            return timedOut(running, wait)
          default:
            return mismatch(running, wait)
        }
      })
    }),
  )
