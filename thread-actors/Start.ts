/**
 * The start: what each call runs until it has succeeded once.
 *
 * - U1 A failure answers its own call and leaves nothing behind: the next call starts again.
 * - U2 It reads two rows and decodes no user data; it writes only to migrate tables that exist.
 * - U3 A call that names another owner or thread than this object is refused before any other read.
 * - U4 A forgotten thread lets nobody in.
 * - U5 A time that does not decode moves no clock.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import { IdentityMismatch, ThreadForgotten, Unavailable } from "../contracts/Errors.ts"
import { type OwnerId, type ThreadId, threadObjectName } from "../contracts/Identifiers.ts"
import { readHeader } from "./Header.ts"
import { isMillis } from "./StoredColumns.ts"
import { latestVersion, migrate, tablesExist, tablesVersion } from "./Tables.ts"
import type { Identity } from "./Identity.ts"
import { adoptClock, clockOf, type Thread } from "./Thread.ts"

const load = (thread: Thread): void => {
  const { sql } = thread.host.storage
  const hasTables = tablesExist(sql)
  if (hasTables) {
    const version = tablesVersion(sql)
    if (version < latestVersion)
      thread.host.storage.transaction(() => migrate(sql, version, clockOf(thread)))
    const header = readHeader(sql) // U2
    thread.identity = { ownerId: header.ownerId, threadId: header.threadId }
    thread.tailSequence = header.tail.sequence
    thread.forgottenAt = header.forgottenAt ?? undefined
    const [last] = sql.all<{ recordedAt: number | null; acceptedAt: number | null }>(
      `SELECT (SELECT recordedAt FROM journal ORDER BY sequence DESC LIMIT 1) AS recordedAt,
         (SELECT acceptedAt FROM submissions ORDER BY sequence DESC LIMIT 1) AS acceptedAt`,
    )
    for (const at of [last?.recordedAt ?? 0, last?.acceptedAt ?? 0])
      if (isMillis(at)) adoptClock(thread, at) // U5
  }
  thread.hasTables = hasTables
  thread.started = true // U1
}

const identityOf = (name: string | undefined): Identity | undefined => {
  const [ownerId, threadId, ...rest] = name?.split("/") ?? []
  return ownerId === undefined || threadId === undefined || rest.length > 0
    ? undefined
    : { ownerId: ownerId as OwnerId, threadId: threadId as ThreadId }
}

const start = (thread: Thread): Effect.Effect<void, Unavailable> =>
  Effect.suspend(() => {
    if (thread.started) return Effect.void
    try {
      load(thread)
      return Effect.void
    } catch (error) {
      const failure = new Unavailable({
        retryable: true,
        overloaded: false,
        reason: "The thread could not start",
      })
      return Effect.andThen(
        Effect.logWarning(`The thread could not start: ${describeThrown(error)}`),
        Effect.fail(failure),
      )
    }
  })

const isOwn = (thread: Thread, called: Identity): boolean => {
  const { name } = thread.host
  if (name !== undefined) return name === threadObjectName(called.ownerId, called.threadId)
  const own = thread.identity
  return own === undefined || (own.ownerId === called.ownerId && own.threadId === called.threadId)
}

/** Why a call is not let in. */
export type EnterFailure = Unavailable | IdentityMismatch | ThreadForgotten

/** Lets a call in: the object has started, is the one the call means, and still holds a thread. */
export const enter = (thread: Thread, called: Identity): Effect.Effect<void, EnterFailure> =>
  Effect.suspend((): Effect.Effect<void, EnterFailure> => {
    thread.identity ??= identityOf(thread.host.name)
    if (!isOwn(thread, called)) return mismatch(called) // U3
    return Effect.andThen(
      start(thread),
      Effect.suspend(() => checked(thread, called)),
    )
  })

const checked = (thread: Thread, called: Identity): Effect.Effect<void, EnterFailure> => {
  if (!isOwn(thread, called)) return mismatch(called) // U3
  const { forgottenAt } = thread
  return forgottenAt === undefined
    ? Effect.void
    : Effect.fail(new ThreadForgotten({ threadId: called.threadId, forgottenAt })) // U4
}

const mismatch = (called: Identity): Effect.Effect<never, IdentityMismatch> =>
  Effect.fail(new IdentityMismatch({ ownerId: called.ownerId, threadId: called.threadId }))
