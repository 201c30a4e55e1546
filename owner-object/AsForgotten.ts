/**
 * A thread that is condemned with its work, to those that send messages to it: as good as forgotten.
 *
 * - A1 What would be refused for good once it is gone is refused for good now. Else two such threads that have something for
 *   each other, or one for itself, would each wait for the other to take it, and neither could be forgotten. Not so the
 *   request for a child, which is carried without this: a thread of a child waits for none that waits for it.
 */
import { Effect } from "effect"
import { type StorageUnavailable, ThreadForgotten } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { readLane } from "./LaneTable.ts"
import { condemned } from "./Mutation.ts"
import { askStorage, type Owner } from "./Owner.ts"

/** The refusal of a condemned lane, for good where nothing brings it back. // A1 */
export const asForgotten = <A, E, R>(
  owner: Owner,
  threadId: ThreadId,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | StorageUnavailable | ThreadForgotten, R> =>
  Effect.catchIf(
    work,
    (error) => (error as unknown) === condemned,
    (error) =>
      Effect.flatMap(
        askStorage("condemned", () => readLane(owner.host.storage.sql, threadId)?.marks.condemned),
        (mark) =>
          Effect.fail(
            mark?.abort === true
              ? new ThreadForgotten({ threadId, forgottenAt: mark.sinceAt })
              : error,
          ),
      ),
  )
