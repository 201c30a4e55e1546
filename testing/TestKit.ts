/** What the calls and the controls of a test deployment share. */
import { OwnerId, type SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import type { Caller } from "./Caller.ts"
import type { TestClock } from "./TestClock.ts"
import type { TestObjects } from "./TestObjects.ts"
import type { Turning } from "./Turning.ts"

/** A thread, by its id alone or with its owner; a receipt will do, too. */
export type Place =
  | string
  | {
      readonly threadId: string
      readonly ownerId?: string
      /** Where one submission can be meant: this one only. */
      readonly submissionId?: SubmissionId
    }

export interface TestKit {
  /** Runs work where the queue may be run, each after what was asked for before it. */
  readonly inTest: <A>(work: () => Turning<A>) => Promise<A>
  readonly objects: TestObjects
  readonly clock: TestClock
  readonly caller: Caller
  readonly ownerId: string
  keys: number
}

export const addressOf = (kit: TestKit, place: Place) => {
  const { ownerId = kit.ownerId, threadId } =
    typeof place === "string" ? { threadId: place } : place
  return { ownerId: OwnerId.make(ownerId), threadId: ThreadId.make(threadId) }
}
