/**
 * Commands: each passes the gate into its thread, which decides. The owner adds who called.
 *
 * - D1 What could not be recorded as given is refused before anything is written.
 * - D3 A word that changed nothing is no reason for a lane: of a thread that nobody has heard of none is left.
 * - D2 A retry ends the waits of its lane in the block that enrols it: they stay ended whether or not
 *   the thread can be reached.
 */
import { Effect, Result } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import { InvalidInput } from "../contracts/Errors.ts"
import type { Generation, Principal, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Block } from "./Block.ts"
import { endWaits } from "./Hints.ts"
import type { Lane } from "./Lane.ts"
import type { Life } from "./Life.ts"
import { type MutationOptions, type ThreadAnswer, withMutation } from "./Mutation.ts"
import type { Owner } from "./Owner.ts"

type OwnerRpcs = RpcGroup.Rpcs<typeof OwnerRpc>
export type Payload<Tag extends OwnerRpcs["_tag"]> = Rpc.Payload<
  Extract<OwnerRpcs, { readonly _tag: Tag }>
>

/** What a command says: a person's one who says so and why, a service's neither. */
interface Said {
  readonly threadId: ThreadId
  readonly author?: string
  readonly reason?: string
}

/** Who called, and in whose object. */
export interface Caller {
  readonly owner: Owner
  readonly life: Life
  readonly principal: Principal
}

/** What the thread is told besides the command itself. */
interface Commanded {
  readonly principal: Principal
  readonly generation: Generation
  readonly now: number
}

/** What the words occupy while they are held, at most. */
export const bytesOf = ({ author = "", reason = "" }: Pick<Said, "author" | "reason">): number =>
  3 * (author.length + reason.length)

export const command = <P extends Said, A, E, EC>(
  { life, owner, principal }: Caller,
  payload: P,
  send: (call: P & Commanded) => Effect.Effect<ThreadAnswer<A, E>, EC>,
  options: Partial<
    Pick<MutationOptions<A, E, EC>, "bytes" | "bringsLater" | "enrolling" | "refused">
  > = {},
) =>
  withMutation(owner, life, {
    threadId: payload.threadId,
    bytes: bytesOf(payload),
    ...options,
    call: (generation, now) => send({ ...payload, principal, generation, now }),
  })

export const abort = (caller: Caller, payload: Payload<"abort">) =>
  command(caller, payload, (call) => caller.owner.threads.requestAbort(call))

export const pauseThread = (caller: Caller, payload: Payload<"pauseThread">) =>
  command(caller, payload, (call) => caller.owner.threads.pause(call))

/** Whether the owner has heard of the thread of a lane, or has sent anything to it. */
const isHeardOf = ({ enrolled, mustVisit, report }: Lane): boolean =>
  report !== undefined || enrolled !== undefined || mustVisit

export const resumeThread = (caller: Caller, payload: Payload<"resumeThread">) =>
  Effect.suspend(() => {
    let unheard = false
    const enrolling = (_: Block, lane: Lane): Lane => {
      unheard = !isHeardOf(lane)
      return lane
    }
    return command(
      caller,
      payload,
      (call) => caller.owner.threads.resume(unheard ? { ...call, unheard } : call),
      { enrolling, refused: ({ paused }) => !paused }, // D3
    )
  })

export const resolveApproval = (caller: Caller, payload: Payload<"resolveApproval">) =>
  command(caller, payload, (call) => caller.owner.threads.resolveApproval(call))

/** Ends the waits of the lane, then the rest of the submission. // D2 */
export const retry = (caller: Caller, payload: Payload<"retry">) =>
  command(caller, payload, (call) => caller.owner.threads.retry(call), {
    enrolling: endWaits,
  })

/** The size of what a resolution says, or why it cannot be recorded as given. */
const measure = ({ resolution }: Payload<"resolveUnknown">, limits: Limits) =>
  canonicalJson(resolution._tag === "CompletedWithResult" ? resolution.result : null, {
    maxBytes: limits.recordBytes,
    maxNesting: limits.jsonNesting,
  }).pipe(
    Result.mapError(
      (refusal) =>
        new InvalidInput(
          refusal._tag === "InvalidInput"
            ? { path: `resolution.result${below(refusal.path)}`, reason: refusal.reason }
            : { path: "resolution.result", reason: `above ${refusal.maximum} bytes` },
        ),
    ),
    Result.map(({ bytes }) => bytes),
  )

/** A place inside a field of a payload, behind the field's name. */
export const below = (path: string): string =>
  (path === "" || path.startsWith("[") ? path : `.${path}`).slice(0, 200)

export const resolveUnknown = (caller: Caller, payload: Payload<"resolveUnknown">) =>
  Effect.flatMap(Effect.fromResult(measure(payload, caller.owner.limits)), (bytes) =>
    command(caller, payload, (call) => caller.owner.threads.resolveUnknown(call), {
      bytes: bytes + bytesOf(payload),
    }),
  ) // D1
