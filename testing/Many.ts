/**
 * What clients of the simulation do with many submissions in one call.
 *
 * - M1 What got no definite answer is sent again with the same key, by itself or with what is left of its call.
 */
import { Effect } from "effect"
import type { RpcGroup } from "effect/rpc"
import type { BulkCursor } from "../contracts/Bulk.ts"
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { ThreadSubmission } from "../contracts/Submission.ts"
import type { WireClient } from "../contracts/transport/WireClient.ts"
import { passes, persist, rest, sendAgain, tagOf, triesMax } from "./Persist.ts"
import type { Intent, Told } from "./Told.ts"

type Owner = WireClient<RpcGroup.Rpcs<typeof OwnerRpc>>

interface Sending {
  readonly send: (intent: Intent) => ThreadSubmission
  readonly giveUp: () => boolean
}

/** Submits all, until each is answered for good. // M1 */
export const submitAll = (
  owner: Owner,
  intents: ReadonlyArray<Intent>,
  { giveUp, send }: Sending,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    let open = intents
    for (let tries = 0; open.length > 0; tries++) {
      const ownerId = open[0]?.address.ownerId as OwnerId
      const ended = giveUp() || tries > triesMax
      const reply = yield* Effect.result(owner.submitMany({ ownerId, submissions: open.map(send) }))
      const left: Array<Intent> = []
      for (const [nth, intent] of open.entries()) {
        const outcome = reply._tag === "Success" ? reply.success.outcomes[nth] : undefined
        if (outcome?._tag === "Accepted") {
          intent.receipts.push(outcome.receipt)
          continue
        }
        const error = reply._tag === "Failure" ? reply.failure : outcome?.error
        if (passes(error) && !ended) left.push(intent)
        else intent.refusals.push(tagOf(error))
      }
      open = left
      if (open.length > 0) yield* sendAgain(() => rest(tries), open.length)
    }
  })

const said = { author: "operator", reason: "because", dryRun: false }

/** More pages than any world has. */
const pagesMax = 100

/** Retries all that an owner has open. */
export const retryMany = (owner: Owner, ownerId: OwnerId) =>
  Effect.gen(function* () {
    let after: { readonly after?: BulkCursor } = {}
    for (let page = 0; page < pagesMax; page++) {
      const { next } = yield* persist(
        owner.retryMany({ ownerId, ...said, filter: {}, ...after }),
        () => false,
      )
      if (next === undefined) return
      after = { after: next }
    }
  })

/** How far the clocks of a world are apart, and more. */
const clocksMillis = 10_000

/** Aborts all that an owner has accepted by now. */
export const abortMany = (
  owner: Owner,
  ownerId: OwnerId,
  { now, told }: { readonly now: number; readonly told: Told },
) =>
  Effect.gen(function* () {
    const filter = { acceptedBefore: now + 1 }
    told.abortAll(ownerId, now + clocksMillis)
    let after: { readonly after?: BulkCursor } = {}
    for (let page = 0; page < pagesMax; page++) {
      const command = { ownerId, ...said, filter, ...after }
      const reply = yield* persist(owner.abortMany(command), () => false)
      const done = new Set(
        reply.results.flatMap(({ effect, submissionId }) =>
          effect._tag === "Done" ? [submissionId as string] : [],
        ),
      )
      for (const intent of told.intents.values())
        if (intent.receipts.some(({ submissionId }) => done.has(submissionId)))
          intent.abortAccepted = true
      if (reply.next === undefined) return
      after = { after: reply.next }
    }
  })
