/**
 * Our own calls of the storage as effects: what it throws becomes a typed error, once, here.
 *
 * - Q1 The error names the operation and nothing of the database; the log has what was thrown by name, and where.
 * - Q2 Of a forgotten thread nothing is read, written or reported, also by who was let in before.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import { StorageUnavailable, ThreadForgotten, ThreadUnreadable } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { bracket } from "../platform/Failpoint.ts"
import { Forgotten } from "./Forgotten.ts"
import type { Thread } from "./Thread.ts"
import type { ThreadFailpoint } from "./ThreadFailpoints.ts"
import { Unreadable } from "./Unreadable.ts"

export type ReadFailure = StorageUnavailable | ThreadUnreadable | ThreadForgotten

export type Tried<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Threw"; readonly error: unknown }

/** Runs what may throw. */
export const attempt = <A>(run: () => A): Tried<A> => {
  try {
    return { _tag: "Done", value: run() }
  } catch (error) {
    return { _tag: "Threw", error }
  }
}

const told = <A>(
  thread: Thread,
  operation: string,
  tried: Tried<A>,
): Effect.Effect<A, ReadFailure> => {
  if (tried._tag === "Done") return Effect.succeed(tried.value)
  const { error } = tried
  if (error instanceof Unreadable)
    return Effect.fail(new ThreadUnreadable({ threadId: threadIdOf(thread), what: error.what }))
  if (error instanceof Forgotten) {
    const { forgottenAt } = error
    return Effect.fail(new ThreadForgotten({ threadId: threadIdOf(thread), forgottenAt }))
  }
  return Effect.andThen(
    Effect.logError(`The thread's storage failed in ${operation}: ${describeThrown(error)}`), // Q1
    Effect.fail(new StorageUnavailable({ operation })),
  )
}

const threadIdOf = (thread: Thread): ThreadId =>
  thread.identity?.threadId ?? ("unknown" as ThreadId)

/** A look at what a tombstone has, too. */
export const looking = <A>(
  thread: Thread,
  operation: string,
  read: () => A,
): Effect.Effect<A, ReadFailure> => Effect.suspend(() => told(thread, operation, attempt(read)))

/** What is read or written of a thread that still holds something. // Q2 */
const present =
  <A>(thread: Thread, work: () => A) =>
  (): A => {
    if (thread.forgottenAt !== undefined) throw new Forgotten(thread.forgottenAt)
    return work()
  }

/** A read of what a thread holds. */
export const reading = <A>(
  thread: Thread,
  operation: string,
  read: () => A,
): Effect.Effect<A, ReadFailure> => looking(thread, operation, present(thread, read))

/** A block between its failpoints. */
export const durable = <A>(
  thread: Thread,
  point: ThreadFailpoint,
  block: () => A,
): Effect.Effect<A, ReadFailure> =>
  Effect.flatMap(
    bracket(thread.options.failpoints, point, () => attempt(present(thread, block))),
    (tried) => told(thread, point, tried),
  )
