/**
 * `deliver`: a message of another owner's thread passes the gate into one of this owner's, like a submit.
 *
 * - E1 The owner that carries it is the one that it is from (the middleware has compared them), and the work is done
 *   for that owner: `owner:` and its id is the principal, whoever the sending run works for.
 * - E2 Its id is its idempotency key: delivered again it gets the first receipt.
 * - E3 That an agent is missing is told only of code that knows the same agents as the sender's: else it may be there
 *   when the deployment is out everywhere.
 */
import { Effect } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import { Unavailable } from "../contracts/Errors.ts"
import type { IdempotencyKey, MessageId, OwnerId, Principal } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { accepted } from "./AcceptMessages.ts"
import { asForgotten } from "./AsForgotten.ts"
import type { Life } from "./Life.ts"
import { withMutation } from "./Mutation.ts"
import { addressOf, type Owner } from "./Owner.ts"
import { fullness, measure } from "./Submit.ts"

export type DeliverPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "deliver" }>
>

/** The key under which a message is admitted. // E2 */
export const keyOf = (id: MessageId): IdempotencyKey => id as string as IdempotencyKey

/** For whom a message of another owner is worked on. // E1 */
const principalOf = (ownerId: OwnerId): Principal => `owner:${ownerId}` as Principal

const otherAgents = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the agent is missing in a deployment that knows other agents than the sender's",
})

/** Whether the target's rule lets it in. */
export const mayDeliver = (owner: Owner, { message, ownerId, threadId }: DeliverPayload) =>
  accepted(owner, { from: message.from, ownerId, threadId, agent: message.agent })

export const deliver = (owner: Owner, life: Life, payload: DeliverPayload) =>
  Effect.gen(function* () {
    const { agentsDigest, threadId } = payload
    const { id, principal: _theirs, ...work } = payload.message
    const bytes = yield* Effect.fromResult(measure(work, owner.limits))
    let told: string | undefined
    const admitted = withMutation(owner, life, {
      threadId,
      brings: 1,
      bytes,
      call: (generation, now) =>
        Effect.tap(
          owner.threads.admit({
            ...addressOf(life, threadId),
            ...work,
            ...fullness(life, owner.limits),
            idempotencyKey: keyOf(id),
            principal: principalOf(work.from.ownerId),
            generation,
            now,
          }),
          ({ report }) => Effect.sync(() => void (told = report.agentsDigest)),
        ),
    })
    const heard = asForgotten(owner, threadId, admitted)
    return yield* Effect.catchTag(heard, "AgentNotRegistered", (missing) =>
      Effect.fail(agentsDigest === undefined || agentsDigest === told ? missing : otherAgents),
    ) // E3
  })
