/** What several generators of plans make alike. */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Plan } from "./Plan.ts"
import type { CallOp, StepOp } from "./Script.ts"

/** A step that does well. */
export const step = (name: string, takesMillis: number): StepOp => ({
  _tag: "Step",
  name,
  behaviour: { takesMillis, failures: 0, ends: "well" },
  retries: 0,
  retryMillis: 10,
  timeoutMillis: 300_000,
})

/** An ordinary call that breaks off, so that nobody in the object knows what became of it. */
export const brokenCall = (name: string): CallOp => ({
  _tag: "Call",
  name,
  tool: "wire",
  behaviour: { takesMillis: 5, failures: 0, ends: "breaks" },
})

/** How long the operations of a plan go on. */
export const spreadOf = ({ operations }: Pick<Plan, "operations">): number =>
  Math.max(50, ...operations.map(({ at }) => at))

/** A plan with so many threads at least: those that it lacks are of its first owner. */
export const withThreads = (plan: Plan, least: number): Plan => {
  const [ownerId] = plan.owners
  if (ownerId === undefined) return plan
  const before = plan.threads.length
  const threads = Array.from({ length: Math.max(0, least - before) }, (_, index) => ({
    ownerId,
    threadId: `t${before + index}` as ThreadId,
  }))
  return { ...plan, threads: [...plan.threads, ...threads] }
}
