/**
 * Submit: an input passes the gate into its thread. The receipt is the thread's own.
 *
 * What needs no thread is checked first, and a refusal there writes nothing. Not the agent: after a
 * deploy old and new code coexist for minutes, and the thread's code decides.
 */
import { Effect, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Rpc, RpcGroup } from "effect/rpc"
import { bytesOf, type Caller } from "./Command.ts"
import type { Life } from "./Life.ts"
import { withMutation } from "./Mutation.ts"

type Payload<Tag extends string> = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: Tag }>
>
export type SubmitPayload = Payload<"submit">

/** The payload's size, or why it cannot be stored as given. */
export const measure = (payload: Pick<SubmitPayload, "input" | "title">, limits: Limits) =>
  Result.andThen(
    canonicalJson(payload.input, { maxBytes: limits.inputBytes, maxNesting: limits.jsonNesting }),
    ({ bytes }) =>
      Result.map(
        canonicalJson(payload.title ?? "", {
          maxBytes: limits.recordBytes,
          maxNesting: 1,
          limitName: "titleCharacters",
        }),
        () => bytes,
      ),
  )

/** How many more submissions an owner has room for; what is under way may need some of it, and counts. */
export const roomOf = ({ bringing, maintenance }: Life, { nonterminalPerOwner }: Limits): number =>
  nonterminalPerOwner - maintenance.nonterminal - bringing

/**
 * What an owner says to a submission that is enrolled, if it has not room for it. A key that was accepted before
 * still gets its receipt: a client that lost its answer must not be stranded.
 */
export const fullness = (life: Life, limits: Limits) =>
  roomOf(life, limits) >= 0 ? {} : { replayOnly: refusalOf(life, limits) }

/** What a key that was not accepted before is told. */
export const refusalOf = (life: Life, limits: Limits) => ({
  limit: "nonterminalPerOwner",
  actual: life.maintenance.nonterminal,
  maximum: limits.nonterminalPerOwner,
})

export const submit = ({ life, owner, principal }: Caller, payload: SubmitPayload) =>
  Effect.gen(function* () {
    const bytes = yield* Effect.fromResult(measure(payload, owner.limits))
    return yield* withMutation(owner, life, {
      threadId: payload.threadId,
      brings: 1,
      bytes,
      call: (generation, now) =>
        owner.threads.admit({
          ...payload,
          ...fullness(life, owner.limits),
          principal,
          generation,
          now,
        }),
    })
  })

/** The work of a submission that has settled, once more: its thread has the input, unless another is given. */
export const resubmit = ({ life, owner, principal }: Caller, payload: Payload<"resubmit">) =>
  Effect.gen(function* () {
    const { input = null } = payload
    const bytes = yield* Effect.fromResult(measure({ input }, owner.limits))
    return yield* withMutation(owner, life, {
      threadId: payload.threadId,
      brings: 1,
      bytes: bytes + bytesOf(payload),
      call: (generation, now) =>
        owner.threads.resubmit({
          ...payload,
          ...fullness(life, owner.limits),
          principal,
          generation,
          now,
        }),
    })
  })
