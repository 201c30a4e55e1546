/**
 * Our own calls of the storage as effects: what it throws becomes a typed error, once, here.
 *
 * - Q1 The error names the operation and nothing of the database; the log has the rest.
 */
import { Effect } from "effect"
import { StorageUnavailable, ThreadUnreadable } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { bracket } from "../platform/Failpoint.ts"
import type { Thread } from "./Thread.ts"
import type { ThreadFailpoint } from "./ThreadFailpoints.ts"
import { Unreadable } from "./Unreadable.ts"

export type ReadFailure = StorageUnavailable | ThreadUnreadable

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
  return Effect.andThen(
    Effect.logError(`The thread's storage failed in ${operation}`, error), // Q1
    Effect.fail(new StorageUnavailable({ operation })),
  )
}

const threadIdOf = (thread: Thread): ThreadId =>
  thread.identity?.threadId ?? ("unknown" as ThreadId)

/** A read. */
export const reading = <A>(
  thread: Thread,
  operation: string,
  read: () => A,
): Effect.Effect<A, ReadFailure> => Effect.suspend(() => told(thread, operation, attempt(read)))

/** A block between its failpoints. */
export const durable = <A>(
  thread: Thread,
  point: ThreadFailpoint,
  block: () => A,
): Effect.Effect<A, ReadFailure> =>
  Effect.flatMap(
    bracket(thread.options.failpoints, point, () => attempt(block)),
    (tried) => told(thread, point, tried),
  )
