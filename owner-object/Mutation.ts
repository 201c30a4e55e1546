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
 * - M4 A mutation that a newer fence refused is sent once more under a new generation.
 * - M5 A condemned lane takes no new mutation, and nothing of one is written.
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
  /** What the block that enrols makes of the lane first. */
  readonly enrolling?: (block: Block, lane: Lane) => Lane
}

export interface MutationOptions<A, E, EC> extends Enrolling {
  /** What the payload occupies while it is held. */
  readonly bytes: number
  /** The thread call under a generation. */
  readonly call: (generation: Generation, now: number) => Effect.Effect<ThreadAnswer<A, E>, EC>
}

export const overloaded = new Unavailable({
  retryable: true,
  overloaded: true,
  reason: "too many mutations are under way",
})

const unanswered = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the thread did not answer in time",
})

const condemned = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the thread is being forgotten",
})

/**
 * Enrols one mutation: the lane is covered from here until a finish or a fenced visit. None of a lane
 * that is condemned.
 */
const enrol = (block: Block, { enrolling, threadId }: Enrolling): Generation | undefined => {
  const { life, now, limits } = block
  const { before, lane: found } = laneOrNew(block, threadId)
  if (found.marks.condemned !== undefined) return undefined // M5
  const generation = nextGeneration(block)
  const lane = enrolling === undefined ? found : enrolling(block, found)
  const coverUntilAt = now + limits.coverMillis
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

/** Refuses before anything is written. */
const admit = (owner: Owner, life: Life, threadId: ThreadId, bytes: number) =>
  Effect.gen(function* () {
    const { limits, host } = owner
    const actualBytes = yield* askStorage("admit", () => host.storage.databaseBytes())
    if (actualBytes >= limits.databaseBytes) {
      return yield* new StorageFull({ actualBytes, maximumBytes: limits.databaseBytes })
    }
    const full =
      laneFull(life, threadId, limits) ||
      life.mutations >= limits.mutationsPerOwner ||
      life.heldBytes + bytes > limits.mutationBytesPerOwner
    if (full) return yield* overloaded
  })

/** Has the mutation finished in a macrotask, unless a block takes it first. */
const finishSoon = (owner: Owner, life: Life, ended: Ended): void => {
  if (owner.life !== life) return // M2
  life.ended.push(ended)
  if (life.finishScheduled) return
  life.finishScheduled = true
  owner.host.macrotask(() => {
    life.finishScheduled = false
    if (life.ended.length === 0 || owner.life !== life) return
    owner.background(inBlock(owner, life, "finish", () => undefined)) // M3
  })
}

const refusedByFence = <A, E>(answer: ThreadAnswer<A, E>, generation: Generation): boolean =>
  answer.result._tag === "Failure" &&
  answer.result.error instanceof Unavailable &&
  answer.report.fence !== undefined &&
  answer.report.fence >= generation

/** One try: enrol, call, and have it finished. */
const attempt = <A, E, EC>(owner: Owner, life: Life, options: MutationOptions<A, E, EC>) =>
  Effect.gen(function* () {
    const { threadId } = options
    const generation = yield* inBlock(owner, life, "enroll", (block) => enrol(block, options))
    if (generation === undefined) return yield* condemned
    const answer = yield* owner.failpoints.reach("body:before").pipe(
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
          finishSoon(owner, life, {
            threadId,
            answer:
              exit._tag === "Success"
                ? { report: exit.value.report, refused: exit.value.result._tag === "Failure" }
                : undefined, // M2
            forgottenAt: forgottenAtOf(failureOf(exit)),
          }),
        ),
      ),
    )
    return { answer, generation }
  })

/** Passes the gate. Fails with the thread's own refusal, or with what kept the call from it. */
export const withMutation = <A, E, EC>(
  owner: Owner,
  life: Life,
  options: MutationOptions<A, E, EC>,
): Effect.Effect<A, E | EC | StorageFull | StorageUnavailable | Unavailable> =>
  Effect.gen(function* () {
    yield* admit(owner, life, options.threadId, options.bytes)
    life.heldBytes += options.bytes
    life.mutations += 1
    return yield* Effect.gen(function* () {
      const first = yield* attempt(owner, life, options)
      const { answer } = refusedByFence(first.answer, first.generation)
        ? yield* attempt(owner, life, options) // M4
        : first
      return yield* answer.result._tag === "Success"
        ? Effect.succeed(answer.result.value)
        : Effect.fail(answer.result.error)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          life.heldBytes -= options.bytes
          life.mutations -= 1
        }),
      ),
    )
  })
