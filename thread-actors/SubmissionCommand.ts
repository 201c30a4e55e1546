/**
 * What every command about one submission begins with.
 *
 * - C1 An untouched thread has given no id away, and stays untouched.
 * - C2 The fence comes first. A command about a submission that is not here is kept by its generation: a
 *   replay of it stays refused. So is one that was refused and could be taken later: a replay by the platform, seconds
 *   later, would else be carried out behind its owner's back.
 */
import { Effect, Result } from "effect"
import { SubmissionNotFound, type Unavailable } from "../contracts/Errors.ts"
import type { Generation, SubmissionId } from "../contracts/Identifiers.ts"
import type { Block } from "./Block.ts"
import { fenced, remember } from "./Fence.ts"
import { findRow, type SubmissionRow } from "./Ledger.ts"
import type { Thread } from "./Thread.ts"

interface About {
  readonly submissionId: SubmissionId
}

const notFound = ({ submissionId }: About): Result.Result<never, SubmissionNotFound> =>
  Result.fail(new SubmissionNotFound({ submissionId }))

/** Does the work of a command in a thread that has ever been written to. // C1 */
export const whereKnown = <A, E, X>(
  thread: Thread,
  command: About,
  work: () => Effect.Effect<Result.Result<A, E>, X>,
): Effect.Effect<Result.Result<A, E | SubmissionNotFound>, X> =>
  Effect.suspend((): Effect.Effect<Result.Result<A, E | SubmissionNotFound>, X> =>
    thread.hasTables ? work() : Effect.succeed(notFound(command)),
  )

/** The submission that a command is about, or what refuses it. // C2 */
export const submissionOf = (
  block: Block,
  command: About & { readonly generation: Generation },
): Result.Result<SubmissionRow, Unavailable | SubmissionNotFound> => {
  const late = fenced(block, command.generation)
  if (late !== undefined) return Result.fail(late)
  const row = findRow(block.sql, command.submissionId)
  if (row !== undefined) return Result.succeed(row)
  remember(block, command.generation)
  return notFound(command)
}

/** Refusals of a command that the same call could escape later. */
const passing: ReadonlySet<string> = new Set([
  "NotAwaiting",
  "AdmissionLimitExceeded",
  "AgentNotRegistered",
  "InvalidInput",
])

/** The answer of a command, whose generation is kept if the same call could be answered otherwise later. // C2 */
export const kept = <A, E extends { readonly _tag: string }>(
  block: Block,
  { generation }: { readonly generation: Generation },
  answer: Result.Result<A, E>,
): Result.Result<A, E> => {
  if (Result.isFailure(answer) && passing.has(answer.failure._tag)) remember(block, generation)
  return answer
}
