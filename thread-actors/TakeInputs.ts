/**
 * `run.takeInputs`: an open run takes inputs that wait behind it and ask to join it.
 *
 * - T1 It takes them in order, and none past the first that does not join: nobody is overtaken.
 * - T2 What it takes is recorded before it is used, and so is that there was nothing; entered again, it gets the same.
 *   A run that cannot record it takes nothing: the block that finds no room takes back what it did.
 * - T3 Inputs are decoded before the block, as agent code may do it; the block takes what it finds as it was decoded.
 * - T4 An input that the agent cannot read settles by itself, failed: it joins nobody.
 */
import { Effect, Result } from "effect"
import type { AgentLive, TakeOptions, TakenInput } from "./Agent.ts"
import type { Block } from "./Block.ts"
import { attempt } from "./Durable.ts"
import {
  appendFact,
  leave,
  readFact,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { systemFailure } from "./Failures.ts"
import { joinable, join } from "./Joined.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { readInput, readRow, type SubmissionRow } from "./Ledger.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { misuse } from "./Misuse.ts"
import { settle } from "./Settle.ts"

type AnyAgent = AgentLive<never>["agent"]
type Taken = TakenInput<unknown>

/** An input that may join: what it says, or why nobody can read it. */
interface Candidate {
  readonly row: SubmissionRow
  readonly input: Result.Result<unknown, string>
}

const decoded = (agent: AnyAgent, text: string): Result.Result<unknown, string> => {
  const json = attempt((): unknown => JSON.parse(text))
  return json._tag === "Threw"
    ? Result.fail("it is no JSON")
    : jsonCoder(agent.input).decode(json.value)
}

const takenOf = ({ row }: Candidate, input: unknown): Taken => ({
  submissionId: row.id,
  principal: row.principal,
  acceptedAt: row.acceptedAt,
  input,
})

/** Those that wait behind the run, read and decoded. // T3 */
const candidatesOf = (
  running: Running,
  agent: AnyAgent,
  max: number,
): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.map(
    readFact(running, (sql) =>
      joinable(sql, running.live.row, { now: running.thread.clock, max }).map((row) => ({
        row,
        text: readInput(sql, row.sequence),
      })),
    ),
    (found) => found.map(({ row, text }) => ({ row, input: decoded(agent, text) })),
  )

/** Takes what still waits of them; one that came since is left for the next time. // T1 T3 */
const takeIn = (
  block: Block,
  { live }: Running,
  name: string,
  candidates: ReadonlyArray<Candidate>,
): { readonly value: ReadonlyArray<Taken> } | Verdict => {
  const known = new Map(candidates.map((candidate) => [candidate.row.sequence, candidate]))
  const taken: Array<Taken> = []
  const sequences: Array<number> = []
  for (const row of joinable(block.sql, live.row, { now: block.now, max: candidates.length })) {
    const candidate = known.get(row.sequence)
    if (candidate === undefined) break
    if (Result.isFailure(candidate.input)) {
      const failure = systemFailure("InputInvalid", candidate.input.failure)
      settle(block, row, { outcome: "failed", failure }) // T4
      continue
    }
    join(block, row, live.row)
    taken.push(takenOf(candidate, candidate.input.success))
    sequences.push(row.sequence)
  }
  const payload = JSON.stringify({ inputs: sequences })
  return appendFact(block, live, { kind: "InputsTaken", name, payload }) ?? { value: taken } // T2
}

/** What was taken before, read again from the ledger. // T2 */
const replay = (
  running: Running,
  agent: AnyAgent,
  name: string,
  { kind, payload }: Recorded,
): Effect.Effect<ReadonlyArray<Taken>> => {
  const sequences = payload["inputs"]
  if (kind !== "InputsTaken" || !Array.isArray(sequences))
    return leave(running, { _tag: "Mismatch", name })
  return Effect.flatMap(
    readFact(running, (sql) =>
      sequences.flatMap((sequence: number) => {
        const row = readRow(sql, sequence)
        return row === undefined ? [] : [{ row, text: readInput(sql, sequence) }]
      }),
    ),
    (found) => {
      const inputs = found.map(({ row, text }) => ({ row, input: decoded(agent, text) }))
      const readable = inputs.flatMap((one) =>
        Result.isSuccess(one.input) ? [takenOf(one, one.input.success)] : [],
      )
      return readable.length === sequences.length
        ? Effect.succeed(readable)
        : leave(running, { _tag: "Mismatch", name })
    },
  )
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** The inputs, as `Run` offers them. */
export const takeInputs = (
  running: Running,
  agent: AnyAgent,
  name: string,
  options: TakeOptions,
): Effect.Effect<ReadonlyArray<Taken>> =>
  Effect.gen(function* () {
    yield* takeName(running, name)
    const { max = running.thread.limits.inputsTaken } = options
    if (!isCount(max)) return yield* misuse(`take ${name}: max must be a positive integer`)
    const recorded = yield* recall(running, name)
    if (recorded !== undefined) return yield* replay(running, agent, name, recorded)
    const most = Math.min(max, running.thread.limits.inputsTaken)
    const candidates = yield* candidatesOf(running, agent, most)
    return yield* writeFact(running, "join", (block) => takeIn(block, running, name, candidates))
  })
