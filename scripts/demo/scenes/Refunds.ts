/** Refunds that people decide about: who decides finds what waits among the obligations of the owner. */
import { Effect } from "effect"
import type { Obligation, Receipt } from "../../../contracts/index.ts"
import { StepName, type ThreadId } from "../../../contracts/index.ts"
import { throughOutage } from "../Client.ts"
import { countOf, each, field, type Scene, type Stage, threadsNamed } from "./Scene.ts"

const refunds = 40

type Kind = "small" | "approved" | "denied"

const kindOf = (index: number): Kind =>
  index % 4 === 0 ? "small" : index % 3 === 0 ? "denied" : "approved"

const centsOf = (index: number): number => (kindOf(index) === "small" ? 1_500 : 5_000 + index)

/** Everything that waits for a decision now. */
const awaited = Effect.fnUntraced(function* ({ ownerId, rpc }: Stage) {
  const found: Array<Obligation> = []
  let after: ThreadId | undefined
  do {
    const query = after === undefined ? { ownerId } : { ownerId, after }
    const page = yield* throughOutage(rpc.obligations(query))
    found.push(...page.obligations.filter(({ blocker }) => blocker === "approval"))
    after = page.next
  } while (after !== undefined)
  return found
})

const decide = (stage: Stage, threads: ReadonlyArray<ThreadId>) => (one: Obligation) => {
  const { name, submissionId, threadId } = one
  const index = threads.indexOf(threadId)
  if (name === undefined || submissionId === undefined || index < 0) return Effect.void
  const { ownerId, rpc } = stage
  const decision = {
    ownerId,
    threadId,
    submissionId,
    name: StepName.make(name),
    approved: kindOf(index) === "approved",
    author: "the demo",
    reason: kindOf(index) === "approved" ? "the parcel came back" : "the parcel is still out",
  }
  return Effect.asVoid(throughOutage(rpc.resolveApproval(decision)))
}

/** Decides until everything has settled: the waits come as their runs get there. */
const decideAll = (stage: Stage, threads: ReadonlyArray<ThreadId>) =>
  Effect.forever(
    Effect.flatMap(awaited(stage), (waits) =>
      Effect.andThen(each(waits, decide(stage, threads)), Effect.sleep("300 millis")),
    ),
  )

const wrongWith = Effect.fnUntraced(function* (stage: Stage, receipt: Receipt, index: number) {
  const { threadId } = receipt
  const settlement = yield* stage.settled(receipt)
  const records = yield* stage.records(threadId)
  const kind = kindOf(index)
  const refunded = field(settlement.output, "refunded")
  const decisions = countOf(records, "ApprovalDecided")
  const payments = countOf(records, "ToolSettled")
  const isRight =
    refunded === (kind !== "denied") &&
    decisions === (kind === "small" ? 0 : 1) &&
    payments === (kind === "denied" ? 0 : 1)
  return isRight
    ? []
    : [
        `${threadId} (${kind}): refunded ${String(refunded)}, ${decisions} decisions, ${payments} payments`,
      ]
})

export const refundsScene: Scene = Effect.fnUntraced(function* (stage) {
  const threads = threadsNamed("refund", refunds)
  const receipts = yield* each(threads, (threadId, index) =>
    stage.submit({
      threadId,
      agent: "refund",
      key: threadId,
      input: { order: `order-${index + 1}`, cents: centsOf(index) },
    }),
  )
  const settled = each(receipts, stage.settled)
  yield* Effect.raceFirst(settled, decideAll(stage, threads))
  const findings = (yield* each(receipts, (receipt, index) =>
    wrongWith(stage, receipt, index),
  )).flat()
  const count = (kind: Kind) => threads.filter((_, index) => kindOf(index) === kind).length
  return {
    example: "02-approval",
    threads: refunds,
    submissions: refunds,
    told: `${count("approved")} approved, ${count("denied")} denied, ${count("small")} needed nobody`,
    findings,
  }
})
