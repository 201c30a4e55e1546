/**
 * `retryMany` and `abortMany`: one command for all that a filter means, a page at a time.
 *
 * - W1 Each effect is that of the single command, through the gate, and told for itself.
 * - W2 Where a thread did not answer, nothing more of the page is sent to it: what is left there is told the same.
 * - W3 A dry run calls nothing that writes.
 * - W4 Of one thread the last is aborted first: what waits behind a run is not begun because that is ended.
 */
import { Effect, Result } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import type { OwnerId, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { SubmissionState } from "../contracts/Submission.ts"
import { look, type Meant } from "./BulkLook.ts"
import { abort, type Caller, retry } from "./Command.ts"

type BulkPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "retryMany" }>
>

/** The single command about one submission. */
interface Command {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  readonly author: string
  readonly reason: string
}

type Would = "settle" | "interrupt" | "retry" | "nothing" | "refuse"

/** What an abort does by the state of its submission. Pure. */
export const wouldAbort = (state: SubmissionState): Would => {
  switch (state) {
    case "ready":
    case "suspended":
    case "unknown":
      return "settle"
    case "running":
      return "interrupt"
    default:
      return "refuse"
  }
}

/** What a retry does by the state of its submission. Pure. */
export const wouldRetry = (state: SubmissionState): Would => {
  switch (state) {
    case "ready":
    case "suspended":
      return "retry"
    case "running":
      return "nothing"
    default:
      return "refuse"
  }
}

const byThread = (meant: ReadonlyArray<Meant>): ReadonlyArray<ReadonlyArray<Meant>> => {
  const groups = new Map<ThreadId, Array<Meant>>()
  for (const one of meant) groups.set(one.threadId, [...(groups.get(one.threadId) ?? []), one])
  return [...groups.values()]
}

/** Commands the submissions of one thread, one after the other. // W1 */
const commandAll = <A, E extends { readonly _tag: string }>(
  meant: ReadonlyArray<Meant>,
  act: (one: Meant) => Effect.Effect<A, E>,
) =>
  Effect.gen(function* () {
    const results = []
    let silent: E | undefined
    for (const one of meant) {
      const end = silent === undefined ? yield* Effect.result(act(one)) : Result.fail(silent)
      if (Result.isFailure(end) && end.failure._tag === "Unavailable") silent = end.failure // W2
      const effect = Result.isSuccess(end)
        ? ({ _tag: "Done", reply: end.success } as const)
        : ({ _tag: "Refused", error: end.failure } as const)
      results.push({ ...one, effect })
    }
    return results
  })

const bulk = <A, E extends { readonly _tag: string }>(
  caller: Caller,
  payload: BulkPayload,
  {
    act,
    would,
    falling = false,
  }: {
    readonly act: (command: Command) => Effect.Effect<A, E>
    readonly would: (state: SubmissionState) => Would
    readonly falling?: boolean
  },
) =>
  Effect.gen(function* () {
    const { author, dryRun, ownerId, reason } = payload
    const { meant, ...rest } = yield* look(caller, { ...payload, falling })
    if (dryRun) {
      const results = meant.map((one) => ({
        ...one,
        effect: { _tag: "Planned" as const, would: would(one.state) },
      })) // W3
      return { results, ...rest }
    }
    const command = ({ submissionId, threadId }: Meant) =>
      act({ ownerId, threadId, submissionId, author, reason })
    const results = yield* Effect.forEach(byThread(meant), (group) => commandAll(group, command), {
      concurrency: caller.owner.limits.bulkSlots,
    })
    return { results: results.flat(), ...rest }
  })

export const retryMany = (caller: Caller, payload: BulkPayload) =>
  bulk(caller, payload, { act: (command) => retry(caller, command), would: wouldRetry })

export const abortMany = (caller: Caller, payload: BulkPayload) =>
  bulk(caller, payload, {
    act: (command) => abort(caller, command),
    would: wouldAbort,
    falling: true, // W4
  })
