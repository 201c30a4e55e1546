/**
 * Limits of agents: no more attempts of an agent run at once in an owner than its limit says, as far as the owner can know.
 *
 * Judged by the handlers that are at work, where an owner calls for another, and where one is entered.
 *
 * - L1 An owner that starts an attempt has room for it by the limit of its own deployment, whatever ran before.
 * - L2 A thread with a fault counts for nothing; of what was lost with its rows an owner knows nothing.
 * - L3 A turn that lands when nobody waits for it any more is a surprise: where messages do that, or objects, one may run too
 *   many for a while.
 * - L4 A run has ended where its row says so: its handler may take longer to leave.
 * - L5 Where all is well a lane that was held is called as soon as there is room: the alarm rings for it.
 */
import { type Incarnation, ownerIdOf, type SimulatedObject, threadIdOf } from "../Incarnation.ts"
import type { Working } from "../AtWork.ts"
import type { Plan } from "../Plan.ts"
import type { World } from "../World.ts"
import { highestOf, limitOf } from "./AgentRoom.ts"
import { clocksApart, isWell } from "./Times.ts"
import type { Violate } from "./Violate.ts"

const invariant = "Agent limits"

const surprising = new Set([
  "request late",
  "request doubled",
  "request replayed",
  "replaced, the old one runs on",
  "object slow",
  "owner lost",
  "lane rows deleted",
  "fault rows deleted",
])

/** Whether a turn may land when nobody expects it. // L3 */
const mayBeSurprised = ({ faults, pace, rates, strikes }: Plan): boolean =>
  pace.lags > 0 ||
  Object.entries(rates).some(([kind, rate]) => surprising.has(kind) && rate > 0) ||
  faults.some(({ kind }) => surprising.has(kind)) ||
  (strikes ?? []).some(({ does }) => !["Crashes", "CrashesWith", "Lost"].includes(does._tag))

const isRunning = ({ incarnation, submissionId }: Working): boolean =>
  incarnation.object.state.read(
    "SELECT 1 FROM submissions WHERE id = ? AND state = 'running'",
    submissionId,
  ).length > 0 // L4

/** Whether an owner may count it for nothing. // L2 */
const isUncounted = (
  { forgotten }: World,
  { state }: SimulatedObject,
  { incarnation }: Working,
): boolean => {
  const { name } = incarnation.object
  const threadId = threadIdOf(name)
  return (
    forgotten.has(name) ||
    (state.hasTable("recovery_faults") &&
      state.read("SELECT 1 FROM recovery_faults WHERE thread_id = ?", threadId).length > 0)
  )
}

/** Runs of an agent that its owner must know of, in other threads than this one. */
const others = (
  world: World,
  owner: SimulatedObject,
  { agent, thread }: { readonly agent: string; readonly thread: string },
): ReadonlyArray<Working> =>
  world.atWork
    .of(owner.name, agent)
    .filter(
      (one) =>
        one.incarnation.object.name !== thread && isRunning(one) && !isUncounted(world, owner, one),
    )

const told = (all: ReadonlyArray<Working>): string =>
  all.map(({ incarnation }) => incarnation.object.name).join(", ")

/** An owner calls for a turn. // L1 */
export const mayStartOne = (
  world: World,
  by: Incarnation,
  { tag, threadId }: { readonly tag: string; readonly threadId: string },
  violate: Violate,
): void => {
  const { plan } = world
  if (plan.running === undefined || tag !== "processHead" || mayBeSurprised(plan)) return
  const [head] = by.object.state.read<{ agent: string | null; state: string | null }>(
    `SELECT json_extract(report, '$.head.agent') AS agent,
       json_extract(report, '$.head.state') AS state FROM lanes WHERE thread_id = ?`,
    threadId,
  )
  if (head === undefined || head.agent === null || head.state === "running") return
  const most = limitOf(plan, by.version, head.agent)
  const thread = `${by.object.name}/${threadId}`
  const working = others(world, by.object, { agent: head.agent, thread })
  if (working.length >= most)
    violate(
      invariant,
      `${by.object.name} starts ${head.agent} in ${threadId}; ${most} may run, and do in ${told(working)}`,
    )
}

/** The longest that an alarm, a pass and a call take in a world that is well. */
const soonMillis = 2_000

/** A lane that was held is called, and there is room since then. // L5 */
export const goesInTime = (
  { plan, queue }: World,
  { lane, since }: { readonly lane: string; readonly since: number | undefined },
  violate: Violate,
): void => {
  if (since === undefined || !isWell(plan)) return
  const late = queue.now() - since
  if (late > clocksApart(plan) + soonMillis)
    violate("I19", `${lane} was held by its agent, and is called ${late} ms after there was room`)
}

/** A handler is entered. */
export const isWithinLimit = (
  world: World,
  { agent, incarnation, submissionId }: Working,
  violate: Violate,
): void => {
  const { plan, platform } = world
  if (plan.running === undefined || mayBeSurprised(plan)) return
  const most = highestOf(plan, agent) // L1
  if (most === Infinity) return
  const { name } = incarnation.object
  const owner = platform.object("owner", ownerIdOf(name))
  const working = others(world, owner, { agent, thread: name })
  // One that had a fault until now was not counted when this was called for. // L2
  const uncounted = plan.faults.length
  if (working.length >= most + uncounted)
    violate(
      invariant,
      `${submissionId} of ${agent} begins in ${name}; ${most} may run, and do in ${told(working)}`,
    )
}
