/**
 * The gate for many lanes at once: one block enrols them all, each has its call, and what ends together is finished
 * together.
 *
 * - N1 No call starts unless all enrolments and their alarm are committed: in one block.
 * - N2 Each ends for itself: a lane that is full, condemned or out of reach keeps nothing from the others.
 * - N3 The finishes of one batch are one block where its calls end within a moment; a slow one holds up nobody's work
 *   for longer.
 */
import { Deferred, Effect, Fiber, Result } from "effect"
import type { StorageFull, StorageUnavailable, Unavailable } from "../contracts/Errors.ts"
import type { Generation, ThreadId } from "../contracts/Identifiers.ts"
import { laneFull } from "./Finish.ts"
import type { Life } from "./Life.ts"
import {
  admit,
  afterEnrolment,
  condemned,
  enrol,
  holding,
  type MutationOptions,
  type OnEnded,
  overloaded,
  scheduleFinish,
} from "./Mutation.ts"
import { inBlock, type Owner } from "./Owner.ts"

/** How one of them ended. */
export type Outcome<A, E> = Result.Result<A, E | StorageUnavailable | Unavailable>

/** Runs the calls of a batch, and has their finishes wait a moment for each other. // N3 */
const finishedTogether = <A>(
  owner: Owner,
  life: Life,
  calls: (onEnded: OnEnded) => Effect.Effect<A>,
): Effect.Effect<A> =>
  Effect.gen(function* () {
    const first = Deferred.makeUnsafe<void>()
    let held = true
    const release = (): void => {
      held = false
      scheduleFinish(owner, life)
    }
    // They are there for any block that comes first.
    const onEnded: OnEnded = (ended) => {
      if (owner.life !== life) return
      life.ended.push(ended)
      Deferred.doneUnsafe(first, Effect.void)
      if (!held) scheduleFinish(owner, life)
    }
    const moment = Effect.andThen(
      Deferred.await(first),
      Effect.sleep(owner.limits.finishHoldMillis),
    )
    const timer = yield* Effect.forkDetach(
      Effect.interruptible(Effect.andThen(moment, Effect.sync(release))),
    )
    return yield* Effect.ensuring(
      calls(onEnded),
      Effect.andThen(Fiber.interrupt(timer), Effect.sync(release)),
    )
  })

interface Enrolled {
  /** By thread: none where the lane is condemned. */
  readonly enrolled: ReadonlyMap<ThreadId, Generation | undefined>
  readonly onEnded: OnEnded
}

/** Enrols all that have room in one block. None where the lane is condemned. // N1 */
const enrolAll = (owner: Owner, life: Life, all: ReadonlyArray<{ readonly threadId: ThreadId }>) =>
  inBlock(owner, life, "enroll", (block) => all.map((options) => enrol(block, options)))

/** What became of one of them: full, condemned, or called. // N2 */
const oneOf = <A, E, EC>(
  owner: Owner,
  life: Life,
  options: MutationOptions<A, E, EC>,
  { enrolled, onEnded }: Enrolled,
): Effect.Effect<Outcome<A, E | EC>> => {
  const { threadId } = options
  if (!enrolled.has(threadId)) return Effect.succeed(Result.fail(overloaded))
  const generation = enrolled.get(threadId)
  if (generation === undefined) return Effect.succeed(Result.fail(condemned))
  return Effect.result(afterEnrolment(owner, life, options, { generation, onEnded }))
}

/**
 * Passes the gate with one mutation for each of these threads, which are distinct. Fails as a whole only where nothing
 * was sent.
 */
export const withMutations = <A, E, EC>(
  owner: Owner,
  life: Life,
  all: ReadonlyArray<MutationOptions<A, E, EC>>,
): Effect.Effect<
  ReadonlyArray<Outcome<A, E | EC>>,
  StorageFull | StorageUnavailable | Unavailable
> =>
  Effect.gen(function* () {
    const held = {
      mutations: all.length,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      isWork: true,
    }
    yield* admit(owner, life, held)
    const free = all.filter(({ threadId }) => !laneFull(life, threadId, owner.limits))
    if (free.length === 0) return all.map(() => Result.fail(overloaded)) // N2
    const work = Effect.gen(function* () {
      const generations = yield* enrolAll(owner, life, free)
      const enrolled = new Map(free.map(({ threadId }, index) => [threadId, generations[index]]))
      const one = (options: MutationOptions<A, E, EC>, onEnded: OnEnded) =>
        oneOf(owner, life, options, { enrolled, onEnded })
      return yield* finishedTogether(owner, life, (onEnded) =>
        Effect.forEach(all, (options) => one(options, onEnded), { concurrency: "unbounded" }),
      )
    })
    return yield* holding(life, held, work)
  })
