/**
 * Clients of the simulation that have work done again.
 *
 * - S1 One that is sent again names the same submission, whatever has become of its key meanwhile.
 */
import { Effect } from "effect"
import type { RpcGroup } from "effect/rpc"
import type { IdempotencyKey } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Receipt } from "../contracts/Submission.ts"
import type { WireClient } from "../contracts/transport/WireClient.ts"
import type { Doing } from "./Doing.ts"
import type { Operation } from "./Plan.ts"
import type { Again, Intent } from "./Told.ts"

type Resubmit = Extract<Operation, { readonly _tag: "Resubmit" }>
type Owner = WireClient<RpcGroup.Rpcs<typeof OwnerRpc>>

/** The intent to do the work of another again; none where nobody knows that one. */
export const resubmission = (
  { at, client, key, of, patient, script, waits }: Resubmit,
  { queue, told }: Doing,
): Intent | undefined => {
  const first = told.intents.get(of)
  const receipt = first?.receipts[0]
  if (first === undefined || receipt === undefined) return undefined
  const { agent, thread, script: its } = first.operation
  return told.intent(
    {
      _tag: "Submit",
      at,
      client,
      key,
      agent,
      thread,
      script: script ?? its,
      afterMillis: undefined,
      waits,
    },
    first.address,
    queue.now(),
    { of: receipt, isOther: script !== undefined, patient }, // S1
  )
}

const looks = 12
const lookEveryMillis = 8_000

/** Asks for it; one who is patient until that one has settled. */
export const resubmitCall = (
  owner: Owner,
  { key, operation }: Intent,
  { isOther, of, patient }: Again,
  isHealed: () => boolean,
): Effect.Effect<Receipt, { readonly _tag: string }> => {
  const { ownerId, submissionId, threadId } = of
  const once = Effect.suspend(() =>
    owner.resubmit({
      ownerId,
      threadId,
      submissionId, // S1
      idempotencyKey: key as IdempotencyKey,
      author: "operator",
      reason: "once more",
      ...(isOther ? { input: operation.script } : {}),
    }),
  )
  const ask = (turns: number): Effect.Effect<Receipt, { readonly _tag: string }> =>
    Effect.catch(once, (error: { readonly _tag: string }) =>
      patient && error._tag === "NotSettled" && turns < looks && !isHealed()
        ? Effect.andThen(
            Effect.sleep(lookEveryMillis),
            Effect.suspend(() => ask(turns + 1)),
          )
        : Effect.fail(error),
    )
  return ask(0)
}
