/** What clients do about all that is open in a thread whose submissions have no keys that they know: a child's. */
import { Effect } from "effect"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { Client, Doing } from "./Doing.ts"
import type { Address } from "./Plan.ts"

const said = { author: "operator", reason: "because" }

/** What is open there, and what was seen to begin there: that may have settled. */
const idsIn = ({ rpcs }: Client, { ownerId, threadId }: Address, { talk }: Doing) =>
  Effect.map(
    Effect.orElseSucceed(rpcs.thread.explain({ ownerId, threadId }), () => []),
    (explained) =>
      new Set([
        ...explained.map(({ submissionId }) => submissionId),
        ...[...talk.works].flatMap(([id, { thread }]) =>
          thread === `${ownerId}/${threadId}` ? [id as SubmissionId] : [],
        ),
      ]),
  )

/** Has all of it aborted, or tried again. */
export const endOrRetry = (
  client: Client,
  what: "AbortOpen" | "RetryOpen",
  address: Address,
  doing: Doing,
) =>
  Effect.gen(function* () {
    const { owner } = client.rpcs
    const { told } = doing
    for (const submissionId of yield* idsIn(client, address, doing)) {
      const payload = { ...address, submissionId, ...said }
      if (what === "RetryOpen") yield* Effect.ignore(owner.retry(payload))
      else {
        told.abortedIds.add(submissionId)
        const sure = Effect.map(owner.abort(payload), () => told.abortedSurely.add(submissionId))
        yield* Effect.ignore(sure)
      }
    }
  })
