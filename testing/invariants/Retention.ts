/**
 * Retention: what has settled loses its content after its time, and nothing else does; receipts and outcomes stay.
 *
 * Judged by the rows of each commit, by when they settled, and by what clients were told before and are told after.
 *
 * - N1 Nothing of what is open is pruned, nor what has settled lately, nor work of an agent that keeps all.
 * - N2 A settlement that was pruned is what it was, but for its content.
 * - N3 Within the time a key gets its receipt; after it, it is a new submission.
 * - N4 In a quiet world nothing is left to prune, but for what paused threads hold, and what has something for others:
 *   that is looked at again later.
 * - N5 A thread that is at rest, and kept all when it was called last, hears of another time when it is called again.
 */
import { Effect } from "effect"
import type { Settlement } from "../../contracts/Settlement.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import type { Doing } from "../Doing.ts"
import { ownerIdOf, type SimulatedObject } from "../Incarnation.ts"
import { persist } from "../Persist.ts"
import type { Plan } from "../Plan.ts"
import type { Intent } from "../Told.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const name = "Retention"

/** The shortest time for which anything is kept by the deployments of a plan. */
const shortest = ({ keeps }: Plan): number => Math.min(keeps?.v1 ?? Infinity, keeps?.v2 ?? Infinity)

/** Whether the agent keeps what it has done for ever. */
const keepsAll = ({ keeps }: Plan, agent: string): boolean =>
  keeps?.second === true && agent === "second"

interface Pruned {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly state: string
  readonly agent: string
  readonly settledAt: number | null
}

/** Submissions of which anything was pruned. A token's record is empty of content from the start. */
const prunedText = `SELECT s.sequence, s.state, s.agent,
    (SELECT recordedAt FROM journal WHERE sequence = s.settledSequence) AS settledAt
  FROM submissions s WHERE s.input = ''
    OR EXISTS (SELECT 1 FROM journal j WHERE j.submission = s.sequence AND j.payload = '')`

/** A thread that was looked at, and how often its rows had changed by then. */
const lookedAt = new WeakMap<SimulatedObject, number>()

/** Looks at a thread after a commit. // N1 */
export const prunesOnlyOld = (world: World, thread: SimulatedObject, violate: Violate): void => {
  const { plan, queue } = world
  const { name: at, state } = thread
  if (plan.keeps === undefined || !state.hasTable("submissions")) return
  if (lookedAt.get(thread) === state.changes()) return
  lookedAt.set(thread, state.changes())
  for (const row of state.read<Pruned>(prunedText)) {
    const told = `${at}: submission ${row.sequence} of ${row.agent}`
    if (row.state !== "settled") violate(name, `${told} is ${row.state}, and pruned`)
    else if (keepsAll(plan, row.agent)) violate(name, `${told} is to be kept, and pruned`)
    else if ((row.settledAt ?? 0) + shortest(plan) > queue.now() + plan.skewMillis)
      violate(name, `${told} settled at ${row.settledAt}, and is pruned at ${queue.now()}`)
  }
}

/** Whether a submission has lost its content. */
export const isPruned = ({ state }: SimulatedObject, submissionId: string): boolean =>
  state.hasTable("submissions") &&
  state.read("SELECT 1 FROM submissions WHERE id = ? AND input = ''", submissionId).length > 0

/** Whether a key that had the first receipt may have been given the second. // N3 */
export const mayBeNew = (
  { plan }: World,
  { state }: SimulatedObject,
  first: Receipt,
  second: Receipt,
): boolean => {
  if (plan.keeps === undefined || !state.hasTable("submissions")) return false
  const [row] = state.read<{ settledAt: number | null }>(
    `SELECT (SELECT recordedAt FROM journal WHERE sequence = s.settledSequence) AS settledAt
     FROM submissions s WHERE s.id = ?`,
    first.submissionId,
  )
  // Of a thread that was forgotten since nobody can tell when it had settled.
  if (row === undefined) return true
  const settledAt = row.settledAt ?? undefined
  return (
    settledAt !== undefined && second.acceptedAt + 2 * plan.skewMillis >= settledAt + shortest(plan)
  )
}

/** What stays of a settlement that was pruned. // N2 */
const remains = ({ abort: _a, failure: _f, output: _o, pruned: _p, ...rest }: Settlement): string =>
  JSON.stringify(rest)

/** Whether two answers about one submission are the same settlement. */
export const sameSettlement = (one: Settlement, other: Settlement): boolean =>
  one.pruned === true || other.pruned === true
    ? remains(one) === remains(other)
    : JSON.stringify(one) === JSON.stringify(other)

/** What was told of settlements is told again. // N2 */
export const settlementsStay = (
  world: World,
  { told }: Doing,
  violate: Violate,
  settle: () => boolean,
): void => {
  const { clients, plan, platform, seed } = { ...world, seed: world.plan.seed }
  const [client] = clients
  if (plan.keeps === undefined || client === undefined) return
  const some = [...told.intents.values()].flatMap(({ address, settlements }: Intent, index) => {
    const [first] = settlements
    const { state } = platform.object("thread", `${address.ownerId}/${address.threadId}`)
    const forgotten =
      !state.hasTable("meta") ||
      state.read("SELECT 1 FROM meta WHERE forgottenAt IS NOT NULL").length > 0
    return first === undefined || forgotten || index % 3 !== seed % 3 ? [] : [{ address, first }]
  })
  for (const { address, first } of some) {
    const at = `${address.ownerId}/${address.threadId}`
    const { submissionId } = first
    client.run(
      Effect.match(
        persist(client.rpcs.thread.awaitSettlement({ ...address, submissionId }), () => false),
        {
          onSuccess: (reply) => {
            if (reply._tag !== "Settled")
              return violate(name, `${submissionId} had settled, and is ${reply._tag}`)
            const { settlement } = reply
            if (!sameSettlement(first, settlement))
              violate(
                name,
                `${submissionId} was ${JSON.stringify(first)}, and is ${JSON.stringify(settlement)}`,
              )
            const gone = isPruned(platform.object("thread", at), submissionId)
            if ((settlement.pruned === true) !== gone)
              violate(name, `${submissionId} is told to be pruned: ${settlement.pruned === true}`)
          },
          onFailure: (error) =>
            violate(name, `the settlement of ${submissionId} was refused: ${error._tag}`),
        },
      ),
    )
  }
  if (some.length > 0 && !settle())
    violate("I20", "the world does not come to rest after settlements were read")
}

/** Whether a thread looks again later at what it could not prune. // N4 */
export const holdsBack = ({ plan }: World, { kind, state }: SimulatedObject): boolean =>
  plan.keeps !== undefined &&
  kind === "thread" &&
  state.hasTable("unpruned") &&
  state.read("SELECT 1 FROM unpruned LIMIT 1").length > 0

/** Whether anything is held back in a thread of an owner. */
export const ownerHoldsBack = (world: World, owner: string): boolean =>
  world.platform.objects().some((one) => one.name.startsWith(`${owner}/`) && holdsBack(world, one))

/** Whether an older deployment kept all. // N5 */
const isNews = ({ faults, keeps }: Plan): boolean =>
  keeps?.v1 === undefined && faults.some(({ kind }) => kind === "deployment")

/** Nothing is left to prune. // N4 */
export const allIsPruned = (world: World, violate: Violate): void => {
  const { lost, plan, platform } = world
  if (plan.keeps === undefined || isNews(plan)) return
  for (const thread of platform.objects()) {
    const { kind, name: at, state } = thread
    if (kind !== "thread" || !state.hasTable("submissions")) continue
    const owner = ownerIdOf(at)
    if (lost.has(owner) || lost.has(at) || platform.object("owner", owner).alarm.givenUp) continue
    if (state.read("SELECT 1 FROM meta WHERE paused = 1").length > 0) continue
    for (const { agent, sequence } of state.read<{ agent: string; sequence: number }>(
      `SELECT s.agent, s.sequence FROM submissions s WHERE s.state = 'settled'
         AND NOT EXISTS (SELECT 1 FROM unpruned u WHERE u.sequence = s.sequence)
         AND (s.input <> '' OR EXISTS (SELECT 1 FROM journal j WHERE j.submission = s.sequence
           AND (j.name IS NOT NULL OR j.kind = 'ResultReached') AND j.payload <> '' AND NOT (j.kind = 'ValueDrawn' AND j.part > 0)))`,
    ))
      if (!keepsAll(plan, agent))
        violate(name, `${at}: submission ${sequence} of ${agent} is kept for good`)
  }
}
