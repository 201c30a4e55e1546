/**
 * Runs seeds whose submissions are sent in batches, and tells what was violated: `batches.ts FROM TO`. What follows
 * one another at an owner is one call; every abort of one submission is one of all that its owner has open.
 */
import { drawPlan } from "../../testing/DrawPlan.ts"
import type { Operation, Plan } from "../../testing/Plan.ts"
import { runPlan } from "../../testing/Simulation.ts"

/** How long a client gathers what it submits. */
const gatherMillis = 20_000

const inBatches = (plan: Plan): Plan => {
  const operations: Array<Operation> = []
  const gathering = new Map<
    string,
    { at: number; submissions: Array<Operation & { _tag: "Submit" }> }
  >()
  const ownerOf = (thread: number) => plan.threads[thread]?.ownerId
  for (const operation of plan.operations) {
    if (operation._tag === "Abort" || operation._tag === "Retry") {
      operations.push(operation)
      // Each abort of all ends much that others want to see through: one in three is enough.
      if (operation.at % 3 === 0) {
        const owner = operation.at % plan.owners.length
        const { at, client } = operation
        operations.push({
          _tag: operation._tag === "Abort" ? "AbortMany" : "RetryMany",
          at,
          client,
          owner,
        })
      }
      continue
    }
    if (operation._tag !== "Submit") {
      operations.push(operation)
      continue
    }
    const place = `${operation.client} ${ownerOf(operation.thread)}`
    const batch = gathering.get(place)
    if (batch !== undefined && operation.at - batch.at < gatherMillis) {
      batch.submissions.push(operation)
      continue
    }
    const made = { at: operation.at, submissions: [operation] }
    gathering.set(place, made)
    const { at, client } = operation
    operations.push({ _tag: "SubmitMany", at, client, submissions: made.submissions })
  }
  // The policy's denials are of single operations.
  const { denials: _d, ...rest } = plan
  return { ...rest, operations }
}

const [from = 1, to = 1] = process.argv.slice(2).map(Number)
const violations: Array<unknown> = []
const told = { schedules: 0, calls: 0, submissions: 0, most: 0 }
for (let seed = from; seed <= to; seed++) {
  const plan = inBatches(drawPlan(seed))
  const outcome = await runPlan(plan)
  violations.push(...outcome.violations)
  const batches = plan.operations.flatMap((one) =>
    one._tag === "SubmitMany" ? [one.submissions.length] : [],
  )
  told.schedules += 1
  told.calls += batches.length
  told.submissions += outcome.submissions
  told.most = Math.max(told.most, ...batches)
}
process.stdout.write(JSON.stringify({ ...told, violations }))
