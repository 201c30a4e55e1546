/**
 * I1 One settlement per receipt, none without one. I2 A receipt survives everything.
 *
 * - T1 Every answer that clients were given about one key, or one submission, is the same answer.
 * - T3 What has joined a run ends as that does; whether it had to is judged of the run.
 * - T4 A key whose submission was pruned is a new one: until then it gets its receipt.
 * - T5 What does the work of another again asks for its input once more where both have lost it.
 * - T2 A thread that was forgotten on somebody's word may have forgotten its submissions, and nothing else may.
 */
import { Effect } from "effect"
import { submitCall } from "../Client.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import type { Client, Doing } from "../Doing.ts"
import { persist } from "../Persist.ts"
import type { SimulatedObject } from "../Incarnation.ts"
import type { Intent } from "../Told.ts"
import type { World } from "../World.ts"
import { isPruned, mayBeNew, sameSettlement } from "./Retention.ts"
import type { Violate } from "./Violate.ts"

const threadOf = (world: World, { address }: Intent): SimulatedObject =>
  world.platform.object("thread", `${address.ownerId}/${address.threadId}`)

const isForgotten = ({ state }: SimulatedObject): boolean =>
  state.hasTable("meta") &&
  state.read("SELECT 1 FROM meta WHERE forgottenAt IS NOT NULL").length > 0

const sameAnswers = (world: World, intent: Intent, violate: Violate): void => {
  const [first, ...receipts] = intent.receipts
  if (first === undefined) {
    if (intent.settlements.length > 0) violate("I1", `${intent.key} settled without a receipt`)
    return
  }
  for (const other of receipts)
    if (other.submissionId !== first.submissionId || other.sequence !== first.sequence) {
      const [one, two] = other.sequence < first.sequence ? [other, first] : [first, other]
      if (!mayBeNew(world, threadOf(world, intent), one, two))
        // T4
        violate("I2", `${intent.key} was given two receipts`) // T1
    }
  for (const other of intent.settlements) {
    const settled = intent.settlements.find((one) => one.submissionId === other.submissionId)
    if (settled !== undefined && !sameSettlement(settled, other)) {
      const told = `${JSON.stringify(settled)}, ${JSON.stringify(other)}`
      violate("I1", `${intent.key} was told two settlements: ${told}`) // T1
    }
  }
}

/** One submission of an intent. */
const settledAs = (world: World, intent: Intent, receipt: Receipt, violate: Violate): void => {
  const thread = threadOf(world, intent)
  const [row] = thread.state.hasTable("submissions")
    ? thread.state.read<{ state: string; outcome: string | null; host: number | null }>(
        "SELECT state, outcome, host FROM submissions WHERE id = ?",
        receipt.submissionId,
      )
    : []
  if (row === undefined)
    return violate("I2", `${intent.key} has a receipt, and its thread has no row`)
  if (row.state !== "settled") return violate("I1", `${intent.key} is ${row.state} for good`)
  for (const { outcome, submissionId } of intent.settlements)
    if (submissionId === receipt.submissionId && outcome !== row.outcome)
      violate("I1", `${intent.key} was told ${outcome}, and settled ${row.outcome}`)
  const isFirst = receipt.submissionId === intent.receipts[0]?.submissionId
  if (row.outcome !== "aborted" && intent.abortAccepted && isFirst)
    violate("I1", `${intent.key} settled ${row.outcome}, and its abort had been accepted`)
  const asked =
    intent.abortAsked || world.told.forgotten.has(intent.operation.thread) || row.host !== null // T3
  if (row.outcome === "aborted" && !asked)
    violate("I1", `${intent.key} settled aborted, and nobody asked for it`)
}

const settledOnce = (world: World, intent: Intent, violate: Violate): void => {
  const seen = new Set<string>()
  for (const receipt of intent.receipts) {
    if (!seen.has(receipt.submissionId)) settledAs(world, intent, receipt, violate) // T4
    seen.add(receipt.submissionId)
  }
}

/** Every intent with a receipt has its one settlement. */
export const promisesAreKept = (world: World, violate: Violate): void => {
  const ids = new Map<string, string>()
  for (const intent of world.told.intents.values()) {
    sameAnswers(world, intent, violate)
    const thread = threadOf(world, intent)
    if (isForgotten(thread)) {
      if (!world.told.forgotten.has(intent.operation.thread))
        violate("I2", `${thread.name} was forgotten unasked`) // T2
      continue
    }
    const [receipt] = intent.receipts
    if (receipt !== undefined) {
      const other = ids.get(receipt.submissionId)
      if (other !== undefined) violate("I1", `${other} and ${intent.key} share a submission`)
      ids.set(receipt.submissionId, intent.key)
    }
    settledOnce(world, intent, violate)
  }
}

/** A few keys are sent once more: each gets the receipt it had. */
export const receiptsSurvive = (
  world: World,
  doing: Doing,
  violate: Violate,
  settle: () => boolean,
): void => {
  const intents = [...world.told.intents.values()].filter(
    (intent) => intent.receipts.length > 0 && !isForgotten(threadOf(world, intent)),
  )
  const some = intents.filter((_, index) => index % 7 === world.plan.seed % 7)
  let answered = 0
  for (const intent of some) {
    const thread = threadOf(world, intent)
    const client = world.clients[intent.client] as Client
    client.run(
      Effect.match(
        persist(submitCall(client, intent, doing), () => false),
        {
          onSuccess: (receipt) => {
            answered += 1
            const known = intent.receipts.find((one) => one.submissionId === receipt.submissionId)
            // Looked at now: that it was called may have had an idle thread prune it.
            const gone = intent.receipts.every(({ submissionId }) => isPruned(thread, submissionId))
            const isAgain = known !== undefined && receipt.duplicate
            const isNew = known === undefined && gone && !receipt.duplicate // T4
            if (!isAgain && !isNew)
              violate("I2", `${intent.key} was given another receipt when it was sent again`)
          },
          onFailure: (error) => {
            const isGone = intent.receipts.every((one) => isPruned(thread, one.submissionId))
            const needsInput = intent.again !== undefined && error._tag === "InputPruned" && isGone
            if (needsInput) answered += 1 // T5
            else violate("I2", `${intent.key} was refused when sent again: ${error._tag}`)
          },
        },
      ),
    )
  }
  if (!settle()) violate("I20", "the world does not come to rest after keys were sent again")
  if (answered < some.length) violate("I2", `${some.length - answered} keys got no answer`)
}
