/**
 * The target's rule: which threads of other owners may send to those of this one. Nobody may without one.
 *
 * - X1 Only `true` lets a message in. A rule that fails, or takes longer than a policy may, is no denial: the sender
 *   tries again.
 * - X2 It is logged by its name and where it came from, never in its words.
 */
import { Effect } from "effect"
import { OperationDenied, Unavailable } from "../contracts/Errors.ts"
import type { AgentId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { Sender } from "../contracts/Outbox.ts"
import { describeThrown } from "../contracts/Thrown.ts"

/** What the rule is asked: may this run send work for this agent to this thread? */
export interface MessageRequest {
  readonly from: Sender
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly agent: AgentId
}

export type AcceptMessages = (request: MessageRequest) => boolean | Effect.Effect<boolean, unknown>

/** Whom to ask, and for how long. */
interface Asking {
  readonly acceptMessages: AcceptMessages | undefined
  readonly limits: Pick<Limits, "authorizeMillis">
}

const denied = new OperationDenied({ operation: "deliver" })

const noRule = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the deployment's rule for messages did not answer",
})

/** Asks the rule, before anything of the owner is read. */
export const accepted = (
  { acceptMessages, limits }: Asking,
  request: MessageRequest,
): Effect.Effect<void, OperationDenied | Unavailable> =>
  Effect.gen(function* () {
    if (acceptMessages === undefined) return yield* denied
    const asked = Effect.suspend((): Effect.Effect<unknown, unknown> => {
      const answer = acceptMessages(request)
      return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
    })
    const exit = yield* Effect.exit(
      Effect.timeout(Effect.interruptible(asked), limits.authorizeMillis),
    )
    if (exit._tag === "Success") return exit.value === true ? undefined : yield* denied // X1
    yield* Effect.logError(`the rule for messages failed: ${describeThrown(exit.cause)}`) // X2
    return yield* noRule
  })
