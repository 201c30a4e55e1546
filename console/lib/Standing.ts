/**
 * How a thread stands, from what `explain` says of its open submissions and its owner of its lane. Pure.
 *
 * - S1 Of several that hold, one is told; whether somebody paused it is asked apart from that, as it is ended apart.
 */
import type { LaneStatus, RecoveryExplanation } from "../../client/sdk/index.ts"
import { conditionOf } from "./Condition.ts"

const holds: Readonly<Record<string, string>> = {
  condemned: "condemned",
  fault: "faulted",
  paused: "paused",
}

/** The open run says more than what waits behind it. */
const order = ["running", "unknown", "suspended", "ready"]

const heldBy = (open: ReadonlyArray<RecoveryExplanation>): ReadonlyArray<string> =>
  open.flatMap((one) => one.heldBy.map(({ blocker }) => blocker))

/** `lane` is as old as the stream's first frame: it speaks only where nothing is open. */
export const standingOf = (
  open: ReadonlyArray<RecoveryExplanation>,
  lane: LaneStatus | undefined,
): string => {
  const held = heldBy(open)
  const hold = Object.keys(holds).find((blocker) => held.includes(blocker))
  if (hold !== undefined) return holds[hold] ?? hold
  const states = open.map(({ state }) => state)
  const state = order.find((one) => states.includes(one))
  if (state !== undefined) return state
  if (lane === undefined) return "idle"
  const condition = conditionOf({ ...lane, nonterminal: 0, running: false })
  return ["condemned", "faulted", "paused"].includes(condition) ? condition : "idle"
}

/** Whether somebody paused it, whatever else holds it. `known` is what was heard of it besides, the best first. // S1 */
export const isPaused = (
  open: ReadonlyArray<RecoveryExplanation>,
  ...known: ReadonlyArray<{ readonly paused: boolean } | undefined>
): boolean => {
  if (open.length > 0) return heldBy(open).includes("paused")
  return known.find((one) => one !== undefined)?.paused ?? false
}
