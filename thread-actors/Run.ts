/**
 * `Run`: what a handler is given. Each operation is one fact; this file puts them together and holds
 * the small ones (progress, emitted chunks, drawn values).
 */
import { Effect, Result } from "effect"
import type {
  AgentLive,
  AnyAgent,
  ChildOptions,
  Json,
  JsonCodec,
  Run,
  RunInfo,
  StepOptions,
  ToolCallOptions,
  WaitOptions,
} from "./Agent.ts"
import {
  appendFact,
  giveUp,
  leave,
  recall,
  type Running,
  Superseded,
  takeName,
  writeFact,
} from "./Fact.ts"
import { misuse } from "./Misuse.ts"
import { publishChunk } from "./Observers.ts"
import { approval } from "./Approval.ts"
import { callback } from "./Callback.ts"
import { race } from "./Race.ts"
import { asWait } from "./RaceBranch.ts"
import { waitForSignal } from "./Signal.ts"
import { child } from "./Child.ts"
import { originOf } from "./Parent.ts"
import { send } from "./Send.ts"
import { step } from "./Step.ts"
import { textOf } from "./StoredValue.ts"
import { clockOf } from "./Thread.ts"
import { stateOf } from "./ThreadState.ts"
import { sleep, until } from "./Timer.ts"
import type { AnyTool } from "./Tool.ts"
import { version } from "./Version.ts"
import { takeInputs } from "./TakeInputs.ts"
import { toolCall } from "./ToolCall.ts"

const infoOf = ({ live }: Running): RunInfo => ({
  ...live.identity,
  submissionId: live.row.id,
  sequence: live.sequence,
  attemptId: live.attemptId,
  attempt: live.row.attempts,
  principal: live.row.principal,
  ...originOf(live.row),
  acceptedAt: live.row.acceptedAt,
  yieldAt: live.yieldAt,
})

/** What can be drawn, told apart by what it gives: their records are of one kind. Nothing but 0 could be both. */
const draws = {
  now: {
    draw: ({ thread }: Running): number => clockOf(thread),
    mayGive: (value: number): boolean => Number.isInteger(value),
  },
  random: {
    draw: ({ thread }: Running): number => thread.host.random(),
    mayGive: (value: number): boolean => value >= 0 && value < 1,
  },
}

/** A value that is drawn once and recorded. */
const drawn = (
  running: Running,
  name: string,
  { draw, mayGive }: (typeof draws)[keyof typeof draws],
): Effect.Effect<number> =>
  Effect.andThen(
    takeName(running, name),
    Effect.flatMap(recall(running, name), (recorded) => {
      if (recorded === undefined)
        return writeFact(running, "step", (block) => {
          const value = draw(running)
          const payload = `{"value":${JSON.stringify(value)}}`
          return appendFact(block, running.live, { kind: "ValueDrawn", name, payload }) ?? { value }
        })
      const value = recorded.payload["value"]
      return recorded.kind === "ValueDrawn" && typeof value === "number" && mayGive(value)
        ? Effect.succeed(value)
        : leave(running, { _tag: "Mismatch", name })
    }),
  )

/** A chunk or datum as it may cross and be stored; too large ends the run, anything else is a defect. */
const jsonText = (running: Running, what: string, data: Json): Effect.Effect<string> =>
  Effect.suspend(() => {
    const text = textOf(data, { limits: running.thread.limits, size: "recordBytes" })
    if (Result.isSuccess(text)) return Effect.succeed(text.success)
    const why = text.failure
    return why._tag === "TooLarge"
      ? giveUp(running, "ResultTooLarge", `${what} exceeds ${why.maxBytes} bytes`)
      : misuse(`${what} cannot be stored: ${why.reason}`)
  })

const progress = (running: Running, name: string, data: Json): Effect.Effect<void> =>
  Effect.andThen(
    takeName(running, name),
    Effect.flatMap(recall(running, name), (recorded) => {
      if (recorded === undefined)
        return Effect.flatMap(jsonText(running, `progress ${name}`, data), (text) =>
          writeFact(running, "progress", (block) => {
            const payload = `{"data":${text}}`
            return (
              appendFact(block, running.live, { kind: "Progress", name, payload }) ?? {
                value: undefined,
              }
            )
          }),
        )
      return recorded.kind === "Progress" ? Effect.void : leave(running, { _tag: "Mismatch", name })
    }),
  )

const emit = (running: Running, chunk: Json): Effect.Effect<void> =>
  Effect.flatMap(jsonText(running, "a chunk", chunk), (text) =>
    Effect.suspend(() => {
      const { live, thread } = running
      if (live.ended) return Effect.die(new Superseded("the attempt has ended"))
      publishChunk(thread, {
        submissionId: live.row.id,
        attemptId: live.attemptId,
        index: live.chunks++,
        chunk: JSON.parse(text) as Json,
      })
      return Effect.void
    }),
  )

/** The run of one attempt, as its handler sees it. */
export const makeRun = (running: Running, agent: AgentLive<never>["agent"]): Run<unknown> => ({
  info: infoOf(running),
  step: ((
    name: string,
    schema: JsonCodec<unknown>,
    body: Effect.Effect<unknown, unknown, unknown>,
    options?: StepOptions & { readonly error?: JsonCodec<unknown> },
  ) => step(running, { name, schema, body, options: options ?? {} })) as Run<unknown>["step"],
  tool: ((name: string, tool: AnyTool, body: unknown, options?: ToolCallOptions) =>
    toolCall(running, {
      name,
      tool,
      body,
      options: options ?? {},
    })) as unknown as Run<unknown>["tool"],
  state: stateOf(running, agent.state as JsonCodec<unknown> | undefined),
  progress: (name, data) => progress(running, name, data),
  emit: (chunk) => emit(running, chunk),
  approval: (name, options) => asWait(approval(running, name, options)),
  waitFor: ((name: string, schema: JsonCodec<unknown>, options?: WaitOptions) =>
    asWait(waitForSignal(running, name, schema, options ?? {}))) as Run<unknown>["waitFor"],
  callback: (name) => callback(running, name),
  sleep: (name, duration) => asWait(sleep(running, name, duration)),
  until: (name, at) => asWait(until(running, name, at)),
  race: ((name: string, branches: unknown) =>
    race(running, name, branches)) as Run<unknown>["race"],
  takeInputs: (name, options = {}) => takeInputs(running, agent, name, options),
  child: ((name: string, of: AnyAgent, input: unknown, options?: ChildOptions) =>
    asWait(
      child(running, { name, agent: of, input, options: options ?? {} }),
    )) as Run<unknown>["child"],
  send: (name, letter) => send(running, name, letter),
  version: (name, current, options = {}) => version(running, name, current, options),
  now: (name) => drawn(running, name, draws.now),
  random: (name) => drawn(running, name, draws.random),
})
