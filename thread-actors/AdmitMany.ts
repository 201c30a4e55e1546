/**
 * Several admissions in one block: those of one `submitMany` that are for this thread, in their order.
 *
 * - M1 Each is accepted or refused as it would be alone, and the same keys again give the same receipts.
 * - M2 One generation covers all: if any was refused in a way that could turn out otherwise later, a replay of the
 *   whole call stays refused.
 * - M3 The room of a full owner is taken by new submissions only, in their order.
 */
import { Result } from "effect"
import type { Unavailable } from "../contracts/Errors.ts"
import type { AdmissionRefusal, Receipt, ThreadSubmission } from "../contracts/Submission.ts"
import type { AdmitOutcome } from "../contracts/ThreadRpc.ts"
import {
  type Admission,
  type Admitted,
  cameAgain,
  type Content,
  contentOf,
  mayTurnOut,
  type Sent,
  take,
} from "./Admission.ts"
import { type Block, transactAnyhow } from "./Block.ts"
import { fenced, remember } from "./Fence.ts"
import type { Thread } from "./Thread.ts"

export interface Admissions extends Admitted {
  readonly submissions: ReadonlyArray<ThreadSubmission>
  readonly room?: number | undefined
}

interface Item {
  readonly admission: Admission
  readonly content: ReturnType<typeof contentOf>
}

const itemsOf = (thread: Thread, { room: _r, submissions, ...admitted }: Admissions) =>
  submissions.map((submission): Item => {
    const { replayOnly: _full, ...rest } = admitted
    const admission: Admission = { ...submission, ...rest }
    return { admission, content: contentOf(thread, admission) }
  })

type Answer = Result.Result<Receipt, AdmissionRefusal>

const told = (answer: Answer): AdmitOutcome =>
  Result.isSuccess(answer)
    ? { _tag: "Accepted", receipt: answer.success }
    : { _tag: "Refused", error: answer.failure }

const takeAll = (
  block: Block,
  { replayOnly, room }: Admissions,
  items: ReadonlyArray<Item>,
): ReadonlyArray<Answer> => {
  let left = room ?? Infinity
  const takeOne = (admission: Admission, content: Content): Answer => {
    const answer = take(block, left > 0 ? admission : { ...admission, replayOnly }, content)
    if (Result.isSuccess(answer) && !answer.success.duplicate) left -= 1 // M3
    return answer
  }
  return items.map(({ admission, content }) =>
    Result.isFailure(content) ? Result.fail(content.failure) : takeOne(admission, content.success),
  )
}

/** Admits all in one block. Throws what the storage throws; then nothing is durable. */
export const admitMany = (
  thread: Thread,
  call: Sent<Admissions>,
): Result.Result<ReadonlyArray<AdmitOutcome>, Unavailable> => {
  const items = itemsOf(thread, call)
  const refused = items.flatMap(({ content }) =>
    Result.isFailure(content) ? [told(Result.fail(content.failure))] : [],
  )
  if (refused.length === items.length) return Result.succeed(refused) // It makes no tables.
  return transactAnyhow(thread, call, (block) => {
    const late = fenced(block, call.generation) ?? cameAgain(block, call.now)
    if (late !== undefined) return Result.fail(late)
    const answers = takeAll(block, call, items) // M1
    if (answers.some((answer) => mayTurnOut(block, answer))) remember(block, call.generation) // M2
    return Result.succeed(answers.map(told))
  })
}
