/**
 * What a seed makes of the restart test: the submissions, and the moments at which the process is
 * killed. Pure: the same plan in every run of a seed.
 *
 * A moment is progress (receipts and settlements as the clients see them) and a few milliseconds more,
 * so that it lies in the same place of the work on a slow machine. Moments are spread over the whole
 * of the work, one in each equal part of it.
 */
import { Effect, Random } from "effect"
import { AgentId, IdempotencyKey, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"

export const ownerId = OwnerId.make("shop")

const threadsCount = 50
const perThread = 10
const submissionsCount = threadsCount * perThread

/** Each submission makes two steps of progress: its receipt and its settlement. */
const progressInAll = 2 * submissionsCount

const momentsCount = 15
/** Some moments have a second kill, a few milliseconds into the new process's life. */
const doubledCount = 5
export const killsCount = momentsCount + doubledCount

/** The last moments leave work, so that each kill comes under load. */
const progressPerMoment = Math.floor((progressInAll * 0.85) / momentsCount)
const freshMax = 8
const thenMillisMax = 40

export interface PlannedSubmission {
  readonly submit: {
    readonly ownerId: OwnerId
    readonly threadId: ThreadId
    readonly agent: AgentId
    readonly input: { readonly workMillis: number }
    readonly idempotencyKey: IdempotencyKey
  }
  /** How many callers send it at one time, with the one key. */
  readonly callers: 1 | 2
}

export interface PlannedKill {
  readonly afterProgress: number
  /** How much of it must have been made since the last start: 0 kills a process that just began. */
  readonly freshProgress: number
  readonly thenMillis: number
}

export interface Plan {
  readonly threads: ReadonlyArray<ThreadId>
  readonly submissions: ReadonlyArray<PlannedSubmission>
  /** In their order. */
  readonly kills: ReadonlyArray<PlannedKill>
}

/** Most steps are short; one in eight outlasts what the owner waits for, and is told when it ends. */
const drawWorkMillis = Effect.gen(function* () {
  const isLong = (yield* Random.nextIntBetween(1, 8)) === 1
  return yield* isLong ? Random.nextIntBetween(110, 200) : Random.nextIntBetween(1, 20)
})

const drawSubmission = Effect.fnUntraced(function* (threadId: ThreadId, round: number) {
  const workMillis = yield* drawWorkMillis
  const callers = (yield* Random.nextIntBetween(1, 5)) === 1 ? 2 : 1
  return {
    submit: {
      ownerId,
      threadId,
      agent: AgentId.make("tally"),
      input: { workMillis },
      idempotencyKey: IdempotencyKey.make(`${threadId}-${round}`),
    },
    callers,
  } satisfies PlannedSubmission
})

const drawKill = Effect.fnUntraced(function* (afterProgress: number, freshProgress: number) {
  const thenMillis = yield* Random.nextIntBetween(0, thenMillisMax)
  return { afterProgress, freshProgress, thenMillis } satisfies PlannedKill
})

const drawKills = Effect.gen(function* () {
  const parts = Array.from({ length: momentsCount }, (_, part) => part)
  const doubled = new Set((yield* Random.shuffle(parts)).slice(0, doubledCount))
  const kills: Array<PlannedKill> = []
  for (const part of parts) {
    const within = yield* Random.nextIntBetween(1, progressPerMoment)
    const afterProgress = part * progressPerMoment + within
    kills.push(yield* drawKill(afterProgress, yield* Random.nextIntBetween(1, freshMax)))
    if (doubled.has(part)) kills.push(yield* drawKill(afterProgress, 0))
  }
  return kills
})

const drawPlan = Effect.gen(function* () {
  const threads = Array.from({ length: threadsCount }, (_, at) => ThreadId.make(`order-${at}`))
  const submissions: Array<PlannedSubmission> = []
  for (let round = 0; round < perThread; round++) {
    for (const threadId of yield* Random.shuffle(threads)) {
      submissions.push(yield* drawSubmission(threadId, round))
    }
  }
  return { threads, submissions, kills: yield* drawKills } satisfies Plan
})

/** The plan of a seed. */
export const planOf = (seed: string): Plan => Effect.runSync(Random.withSeed(drawPlan, seed))
