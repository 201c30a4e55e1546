/**
 * `watch`: lane changes and faults of an owner as they appear and clear.
 *
 * Invariants
 * - W1 Registered first, read second, then parked: what is committed in between is not missed.
 * - W2 A watcher belongs to one life; when that ends, its stream fails as retryable.
 * - W3 A stream that has been idle for `limits.waitMillis` ends.
 */
import { Deferred, Effect, Option, Stream } from "effect"
import type { WatchFrame } from "../contracts/Maintenance.ts"
import type { StorageUnavailable, Unavailable } from "../contracts/Errors.ts"
import type { Life } from "./Life.ts"
import { lifeEnded, type Owner } from "./Owner.ts"
import { faultedThreads } from "./FaultTable.ts"
import { reading } from "./Reading.ts"
import * as Status from "./Status.ts"
import { faultsSince } from "./Tables.ts"
import { makeWatcher, type Watcher } from "./Watcher.ts"

type Step = readonly [ReadonlyArray<WatchFrame>, Option.Option<void>]

const framesOf = (owner: Owner, life: Life, watcher: Watcher): ReadonlyArray<WatchFrame> => {
  const { threadIds, dropped } = watcher.take()
  const lanes = threadIds.map((threadId): WatchFrame => ({
    _tag: "Lane",
    lane: Status.statusOfThread(owner.host, life, threadId),
  }))
  return dropped === 0 ? lanes : [...lanes, { _tag: "Gap", dropped }]
}

const advance = (
  owner: Owner,
  life: Life,
  watcher: Watcher,
): Effect.Effect<Step, Unavailable | StorageUnavailable> =>
  Effect.gen(function* () {
    const bell = watcher.bell()
    if (owner.life !== life) return yield* lifeEnded // W2
    const frames = yield* reading("watch", () => framesOf(owner, life, watcher))
    if (frames.length > 0) return [frames, Option.some(undefined)]
    const rung = yield* Effect.timeoutOption(Deferred.await(bell), owner.limits.waitMillis)
    return Option.isSome(rung) || owner.life !== life
      ? [[], Option.some(undefined)]
      : [[{ _tag: "Ended" } as const], Option.none()] // W3
  })

/** The frames from now on. Its scope registers the watcher, and takes it away again. */
export const watch = (
  owner: Owner,
  life: Life,
): Stream.Stream<WatchFrame, Unavailable | StorageUnavailable> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const watcher = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const made = makeWatcher(owner.limits.observerBuffer)
          life.watchers.add(made) // W1
          return made
        }),
        (made) => Effect.sync(() => life.watchers.delete(made)),
      )
      const faulted =
        life.version < faultsSince
          ? []
          : yield* reading("watch", () =>
              faultedThreads(owner.host.storage.sql, owner.limits.pageThreads),
            )
      watcher.changed(new Set(faulted))
      const opened: WatchFrame = {
        _tag: "Opened",
        faultedLanes: life.maintenance.faulted,
      }
      return Stream.concat(
        Stream.make(opened),
        Stream.paginate(undefined, () => advance(owner, life, watcher)),
      )
    }),
  )
