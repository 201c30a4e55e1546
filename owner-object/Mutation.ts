/**
 * The gate: every mutation of a thread passes it, so that a committed, actionable change is covered
 * by a committed alarm, whatever happens to the call.
 *
 * enrol (a block) → body (the thread call, at most 30 s) → finish (a block, off the reply path).
 *
 * Invariants
 * - M1 The body does not start unless its enrolment and its alarm are committed.
 * - M2 An enrolment of unknown fate stays until a fenced visit.
 * - M3 Finish never delays the reply: it runs in one macrotask for all that wait, or in the next block.
 * - M4 A mutation that came too late by the thread's own account, behind a newer fence or carried out before, is sent once
 *   more under a new generation.
 * - M5 A condemned lane takes no new mutation, and nothing of one is written; but for what only ends something that
 *   its thread owes, without which it could never be forgotten.
 * - M6 What a mutation may bring is counted from its enrolment to its finish, so that those under way together do not
 *   all take the same room.
 * - M7 An owner whose database is full takes no more work, and every other word: it would else be full for ever.
 * - M8 The bounds on what is under way hold for callers. What their owner has carried is acknowledged all the same: they could
 *   else keep a thread from its next run.
 */
import { Effect } from "effect"
import { StorageFull, type StorageUnavailable, Unavailable } from "../contracts/Errors.ts"
import type { Generation, ThreadId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { type Block, laneOrNew, nextGeneration, writeLane } from "./Block.ts"
import { failureOf, within } from "./Call.ts"
import { freed, laneFull } from "./Finish.ts"
import { forgottenAtOf } from "./Forgotten.ts"
import { type Lane, withoutStall } from "./Lane.ts"
import type { Ended, Life } from "./Life.ts"
import { askStorage, inBlock, type Owner } from "./Owner.ts"

/** What a thread answers to a mutation. */
export interface ThreadAnswer<A, E> {
  readonly report: LaneReport
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

interface Enrolling {
  readonly threadId: ThreadId
  /** How many submissions it may bring; none unless it says so. */
  readonly brings?: number
  /** Whether it only ends what its thread owes: it passes also where the thread is condemned. */
  readonly endsOnly?: boolean
  /** What the block that enrols makes of the lane first. */
  readonly enrolling?: (block: Block, lane: Lane) => Lane
}

export interface MutationOptions<A, E, EC> extends Enrolling {
  /** What the payload occupies while it is held. */
  readonly bytes: number
  /** Whether it brings work although it brings no submission now. */
  readonly bringsLater?: boolean
  /** Whether it acknowledges what this owner has carried: of a thread there is one such word of each kind at a time. */
  readonly acknowledges?: boolean
  /** Whether an answer is as good as a refusal although it is none of the call: of all that it carried, or of nothing. */
  readonly refused?: (value: A) => boolean
  /** The thread call under a generation. */
  readonly call: (generation: Generation, now: number) => Effect.Effect<ThreadAnswer<A, E>, EC>
}

export const overloaded = new Unavailable({
  retryable: true,
  overloaded: true,
  reason: "too many mutations are under way",
})

export const unanswered = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the thread did not answer in time",
})

export const condemned = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the thread is being forgotten",
})

/**
 * Enrols one mutation: the lane is covered from here until a finish or a fenced visit. None of a lane
 * that is condemned.
 */
export const enrol = (block: Block, options: Enrolling): Generation | undefined => {
  const { brings = 0, endsOnly = false, enrolling, threadId } = options
  const { life, now, limits } = block
  const { before, lane: found } = laneOrNew(block, threadId)
  if (found.marks.condemned !== undefined && !endsOnly) return undefined // M5
  const generation = nextGeneration(block)
  const lane = enrolling === undefined ? found : enrolling(block, found)
  const coverUntilAt = now + limits.coverMillis
  life.bringing += brings // M6
  const overlap = life.overlaps.get(threadId)
  if (overlap === undefined) {
    life.overlaps.set(threadId, {
      count: 1,
      coverUntilAt,
      cleanAtFirst: lane.enrolled === undefined,
      sentUnder: lane.report,
      madeRow: before === undefined,
      allAnswered: true,
      allRefused: true,
      newest: generation,
      forgottenAt: undefined,
    })
  } else {
    overlap.count += 1
    overlap.coverUntilAt = coverUntilAt
    overlap.newest = generation
  }
  const enrolled = { ...lane, enrolled: generation, marks: withoutStall(freed(block, lane.marks)) }
  writeLane(block, before, enrolled, { afterTurn: false }) // M1
  return generation
}

/** What mutations hold while they are under way. */
interface Held {
  readonly mutations: number
  readonly bytes: number
  /** Whether they bring work. What brings none is what makes room in the end, and passes also where there is none. */
  readonly isWork: boolean
}

/** Refuses what the owner has no room for, before anything is written. // M7 */
export const admit = (owner: Owner, life: Life, { bytes, isWork, mutations }: Held) =>
  Effect.gen(function* () {
    const { limits, host } = owner
    const actualBytes = yield* askStorage("admit", () => host.storage.databaseBytes())
    if (actualBytes >= limits.databaseBytes && isWork) {
      return yield* new StorageFull({ actualBytes, maximumBytes: limits.databaseBytes })
    }
    const full =
      life.mutations + mutations > limits.mutationsPerOwner ||
      life.heldBytes + bytes > limits.mutationBytesPerOwner
    if (full) return yield* overloaded
  })

/** Counts mutations as under way for as long as the work takes. */
export const holding = <A, E>(
  life: Life,
  { bytes, mutations }: Pick<Held, "bytes" | "mutations">,
  work: Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    life.heldBytes += bytes
    life.mutations += mutations
    return Effect.ensuring(
      work,
      Effect.sync(() => {
        life.heldBytes -= bytes
        life.mutations -= mutations
      }),
    )
  })

/** Has what has ended finished in a macrotask, unless a block takes it first. */
export const scheduleFinish = (owner: Owner, life: Life): void => {
  if (life.finishScheduled || life.ended.length === 0 || owner.life !== life) return
  life.finishScheduled = true
  owner.host.macrotask(() => {
    life.finishScheduled = false
    if (life.ended.length === 0 || owner.life !== life) return
    owner.background(inBlock(owner, life, "finish", () => undefined)) // M3
  })
}

/** What becomes of a mutation that has ended. */
export type OnEnded = (ended: Ended) => void

/** Has one mutation finished soon. */
const finishing =
  (owner: Owner, life: Life): OnEnded =>
  (ended) => {
    if (owner.life !== life) return // M2
    life.ended.push(ended)
    scheduleFinish(owner, life)
  }

/** Of all that a thread refuses, this is how it says that a generation is spent. // M4 */
const cameTooLate = <A, E>({ result }: ThreadAnswer<A, E>): boolean =>
  result._tag === "Failure" && result.error instanceof Unavailable

/** Whether nothing of what the call carried was taken. */
const isRefused = <A, E>(
  { result }: ThreadAnswer<A, E>,
  { refused }: Pick<MutationOptions<A, E, never>, "refused">,
): boolean => result._tag === "Failure" || refused?.(result.value) === true

/** The call of a mutation that is enrolled, and what becomes of it once it has ended. */
const calling = <A, E, EC>(
  owner: Owner,
  options: MutationOptions<A, E, EC>,
  { generation, onEnded }: { readonly generation: Generation; readonly onEnded: OnEnded },
) =>
  Effect.suspend(() => {
    const { brings = 0, threadId } = options
    return owner.failpoints.reach("body:before").pipe(
      Effect.andThen(
        Effect.catchTag(
          within(owner.limits.mutationMillis, options.call(generation, owner.host.now())),
          "NoAnswer",
          () => Effect.fail(unanswered),
        ),
      ),
      Effect.tap(() => owner.failpoints.reach("body:after")),
      Effect.onExit((exit) =>
        Effect.sync(() =>
          onEnded({
            threadId,
            brings,
            answer:
              exit._tag === "Success"
                ? { report: exit.value.report, refused: isRefused(exit.value, options) }
                : undefined, // M2
            forgottenAt: forgottenAtOf(failureOf(exit)),
          }),
        ),
      ),
    )
  })

/** Enrols one mutation in a block of its own. */
const enrolling = (owner: Owner, life: Life, options: Enrolling) =>
  Effect.flatMap(
    inBlock(owner, life, "enroll", (block) => enrol(block, options)),
    (generation) =>
      generation === undefined
        ? Effect.fail(condemned)
        : Effect.succeed({ generation, onEnded: finishing(owner, life) }),
  )

const resultOf = <A, E>({ result }: ThreadAnswer<A, E>): Effect.Effect<A, E> =>
  result._tag === "Success" ? Effect.succeed(result.value) : Effect.fail(result.error)

/** The call of a mutation that is enrolled; one that came too late is sent once more. */
export const afterEnrolment = <A, E, EC>(
  owner: Owner,
  life: Life,
  options: MutationOptions<A, E, EC>,
  enrolled: { readonly generation: Generation; readonly onEnded: OnEnded },
): Effect.Effect<A, E | EC | StorageUnavailable | Unavailable> =>
  Effect.gen(function* () {
    const answer = yield* calling(owner, options, enrolled)
    if (!cameTooLate(answer)) return yield* resultOf(answer)
    const again = yield* enrolling(owner, life, options)
    return yield* resultOf(yield* calling(owner, options, again)) // M4
  })

/** Passes the gate. Fails with the thread's own refusal, or with what kept the call from it. */
export const withMutation = <A, E, EC>(
  owner: Owner,
  life: Life,
  options: MutationOptions<A, E, EC>,
): Effect.Effect<A, E | EC | StorageFull | StorageUnavailable | Unavailable> =>
  Effect.gen(function* () {
    const { brings = 0, bringsLater = false, bytes } = options
    const held: Held = { mutations: 1, bytes, isWork: brings > 0 || bringsLater }
    // M8
    if (options.acknowledges !== true) {
      yield* admit(owner, life, held)
      if (laneFull(life, options.threadId, owner.limits)) return yield* overloaded
    }
    const work = Effect.flatMap(enrolling(owner, life, options), (enrolled) =>
      afterEnrolment(owner, life, options, enrolled),
    )
    return yield* holding(life, held, work)
  })
