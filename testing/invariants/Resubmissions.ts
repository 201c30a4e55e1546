/**
 * I1 and I2 (of work that is done again): what comes of `resubmit` is a submission of its own, with its own receipt and
 * one settlement; what completed, or is still open, is never done again by it.
 *
 * Judged by what clients were told, and by which handlers were entered when. That the same key gets the same receipt, and
 * that there is one settlement, is judged as of every submission.
 *
 * - A1 It is another submission than the one whose work it does, and says which.
 * - A2 That one has failed, or was aborted: before the first handler of the new one was entered, its last one was.
 * - A3 It has the input of that one, as it stood, unless it was given another; of what was pruned nobody can tell.
 * - A4 It is refused for what is true: that one completed, or its input is gone.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Again, Intent } from "../Told.ts"
import type { World } from "../World.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import { isPruned } from "./Retention.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | null
  readonly state: string
  readonly outcome: string | null
  readonly input: string
}

const rowOf = ({ state }: SimulatedObject, submissionId: string): Row | undefined =>
  state.hasTable("submissions")
    ? state.read<Row>("SELECT state, outcome, input FROM submissions WHERE id = ?", submissionId)[0]
    : undefined

const isDoneAgain = (
  { times }: World,
  thread: SimulatedObject,
  receipt: Receipt,
  { isOther, of }: Again,
): string | undefined => {
  if (receipt.submissionId === of.submissionId) return "is that one itself"
  if (receipt.resubmissionOf !== of.submissionId) return `says it is of ${receipt.resubmissionOf}` // A1
  const first = rowOf(thread, of.submissionId)
  const again = rowOf(thread, receipt.submissionId)
  if (first === undefined || again === undefined) return undefined // It was forgotten.
  if (first.outcome !== "failed" && first.outcome !== "aborted")
    return `does again what is ${first.outcome ?? first.state}` // A2
  const lastOfFirst = times.entered.get(of.submissionId)?.at(-1) ?? 0
  const firstOfAgain = times.entered.get(receipt.submissionId)?.[0] ?? Infinity
  if (lastOfFirst > firstOfAgain) return "was entered before that one had ended" // A2
  const isKnown = first.input !== "" && again.input !== "" && !isOther
  return isKnown && first.input !== again.input ? "has another input" : undefined // A3
}

const isRefusedRightly = (
  thread: SimulatedObject,
  refusal: string,
  { isOther, of }: Again,
): boolean => {
  switch (refusal) {
    case "SettlementConflict":
      return (rowOf(thread, of.submissionId)?.outcome ?? "completed") === "completed"
    case "InputPruned":
      return !isOther && isPruned(thread, of.submissionId)
    case "SubmissionNotFound":
      return rowOf(thread, of.submissionId) === undefined
    case "IdempotencyConflict":
      return false
    default:
      return true
  }
}

const judgeOne = (
  world: World,
  { address, again, key, receipts, refusals }: Intent,
  violate: Violate,
): void => {
  if (again === undefined) return
  const thread = world.platform.object("thread", `${address.ownerId}/${address.threadId}`)
  const told = `${key}, of ${again.of.submissionId},`
  for (const receipt of receipts) {
    const wrong = isDoneAgain(world, thread, receipt, again)
    if (wrong !== undefined) violate("I1", `${told} ${wrong}`)
  }
  for (const refusal of refusals)
    if (!isRefusedRightly(thread, refusal, again))
      violate("I1", `${told} was refused with ${refusal}`) // A4
}

/** Looked at once all has settled. */
export const workIsDoneAgain = (world: World, violate: Violate): void => {
  for (const intent of world.told.intents.values()) judgeOne(world, intent, violate)
}
