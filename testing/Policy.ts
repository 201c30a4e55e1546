/**
 * The application's policy of a run: which clients it denies what. It is asked inside the product, and knows
 * nothing but the question.
 *
 * - P1 Client 0 is the operator, who may do everything; the stranger may do nothing.
 * - P2 A policy that fails, or does not answer, denies nothing.
 */
import { Effect } from "effect"
import type { Authorizer, Operation as Question } from "../contracts/Authorization.ts"
import { OperationDenied } from "../contracts/Errors.ts"
import type { Faults } from "./Faults.ts"
import type { Random } from "./Random.ts"

/** What a policy goes by: a plan, as far as it tells of it. */
interface Policed {
  readonly denials?: ReadonlyArray<Denial>
  readonly threads: ReadonlyArray<{ readonly ownerId: string; readonly threadId: string }>
}

/** What one client may not do. */
export interface Denial {
  readonly client: number
  /** Names of operations; of none means of all. */
  readonly operations: ReadonlyArray<string>
  /** A place in the list of threads; of all, and of the owners, without one. */
  readonly thread: number | undefined
}

const operations = [
  "submit",
  "submit",
  "abort",
  "retry",
  "pauseThread",
  "resumeThread",
  "wake",
  "reconcile",
  "resolveUnknown",
  "forgetThread",
  "history",
  "explain",
  "awaitSettlement",
  "obligations",
  "runMaintenance",
] as const

/** Draws what the policy denies; possibly nothing. // P1 */
export const drawDenials = (
  random: Random,
  plan: Pick<Policed, "threads"> & { readonly clients: number },
): ReadonlyArray<Denial> =>
  Array.from({ length: plan.clients - 1 }, (_, index) => ({
    client: index + 1, // P1
    operations: random.chance(0.2)
      ? []
      : Array.from({ length: random.between(1, 4) }, () => random.pick(operations)),
    thread: random.chance(0.4) ? undefined : random.below(plan.threads.length),
  }))

/** The principal of a client. */
export const principalOf = (client: number): string => `client-${client}`

/** Nobody that the deployment knows. // P1 */
export const stranger = "stranger"

/** Whether the policy of a plan denies this. Pure. */
export const denies = (
  { denials, threads }: Policed,
  {
    operation,
    ownerId,
    principal,
    threadId,
  }: Omit<Question, "principal" | "submissionId"> & {
    readonly principal: string
  },
): boolean => {
  if (denials === undefined) return false
  if (principal === stranger) return true // P1
  return denials.some((denial) => {
    if (principalOf(denial.client) !== principal) return false
    if (denial.operations.length > 0 && !denial.operations.includes(operation)) return false
    if (denial.thread === undefined) return true
    const thread = threads[denial.thread]
    return thread?.ownerId === ownerId && thread?.threadId === threadId
  })
}

/** The policy as the product asks it; none if the plan has none. */
export const policyOf = (plan: Policed, faults: Faults): Authorizer | undefined =>
  plan.denials === undefined
    ? undefined
    : {
        authorize: (question) =>
          Effect.suspend((): Effect.Effect<void, OperationDenied | "broken"> => {
            if (faults.strike("policy fails", () => question.operation))
              return faults.happened().length % 2 === 0 ? Effect.never : Effect.fail("broken") // P2
            return denies(plan, question)
              ? Effect.fail(new OperationDenied({ operation: question.operation }))
              : Effect.void
          }),
      }
