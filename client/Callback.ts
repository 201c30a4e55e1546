/**
 * A callback at an edge: the thread says which wait a token is for, then its owner is signalled. Whoever holds the
 * token may, and speaks as the principal `callback`.
 *
 * - K1 The thread is asked first, by a read: a token that was made up never comes to an owner, and leaves nothing.
 */
import { Effect } from "effect"
import {
  callbackAddress,
  callbackPrincipal,
  type CallbackTarget,
  type CallbackToken,
} from "../contracts/Callback.ts"
import { InvalidInput } from "../contracts/Errors.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Rpc, RpcGroup } from "effect/rpc"
import { type EdgeTargets, type Lane, makeClients } from "./ObjectClients.ts"

type SignalPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "callback" }>
>

/** The two steps of a callback. */
export const makeCallbackSteps = Effect.fnUntraced(function* (targets: EdgeTargets) {
  const { owner, thread } = yield* makeClients(targets, callbackPrincipal)
  return {
    targetOf: (token: CallbackToken) => {
      const { ownerId, threadId } = callbackAddress(token)
      return thread.callback({ ownerId, threadId, token }) // K1
    },
    give: (token: CallbackToken, target: CallbackTarget, payload: SignalPayload["payload"]) => {
      const { ownerId, threadId } = callbackAddress(token)
      return owner.callback({ ownerId, threadId, ...target, payload })
    },
  }
})

interface CallbackPayload extends Lane {
  readonly token: CallbackToken
  readonly payload: SignalPayload["payload"]
}

/** `callback` as the public contract has it: the grants were judged by the owner and thread that it names. */
export const callback = (
  targets: EdgeTargets,
  { ownerId, payload, threadId, token }: CallbackPayload,
) =>
  Effect.gen(function* () {
    const address = callbackAddress(token)
    if (address.ownerId !== ownerId || address.threadId !== threadId) {
      return yield* new InvalidInput({
        path: "token",
        reason: "the token is not one of this owner and thread",
      })
    }
    const { give, targetOf } = yield* makeCallbackSteps(targets)
    return yield* give(token, yield* targetOf(token), payload)
  }).pipe(Effect.scoped)
