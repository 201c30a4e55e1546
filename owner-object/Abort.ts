/**
 * Abort: the command passes the gate into its thread, which decides. The owner adds who called.
 */
import type { Rpc, RpcGroup } from "effect/rpc"
import type { Principal } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Life } from "./Life.ts"
import { withMutation } from "./Mutation.ts"
import type { Owner } from "./Owner.ts"

export type AbortPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "abort" }>
>

/** What the words occupy while they are held, at most. */
const bytesOf = ({ author, reason }: AbortPayload): number => 3 * (author.length + reason.length)

export const abort = (owner: Owner, life: Life, payload: AbortPayload, principal: Principal) =>
  withMutation(owner, life, {
    threadId: payload.threadId,
    bytes: bytesOf(payload),
    call: (generation, now) =>
      owner.threads.requestAbort({ ...payload, principal, generation, now }),
  })
