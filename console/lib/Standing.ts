/** How a thread stands, from what `explain` says of its open submissions and its owner of its lane. Pure. */
import type { LaneStatus, RecoveryExplanation } from "../../client/sdk/index.ts"
import { conditionOf } from "./Condition.ts"

const holds: Readonly<Record<string, string>> = {
  condemned: "condemned",
  fault: "faulted",
  paused: "paused",
}

/** The open run says more than what waits behind it. */
const order = ["running", "unknown", "suspended", "ready"]

/** `lane` is as old as the stream's first frame: it speaks only where nothing is open. */
export const standingOf = (
  open: ReadonlyArray<RecoveryExplanation>,
  lane: LaneStatus | undefined,
): string => {
  const held = open.flatMap(({ heldBy }) => heldBy.map(({ blocker }) => blocker))
  const hold = Object.keys(holds).find((blocker) => held.includes(blocker))
  if (hold !== undefined) return holds[hold] ?? hold
  const states = open.map(({ state }) => state)
  const state = order.find((one) => states.includes(one))
  if (state !== undefined) return state
  if (lane === undefined) return "idle"
  const condition = conditionOf({ ...lane, nonterminal: 0, running: false })
  return ["condemned", "faulted", "paused"].includes(condition) ? condition : "idle"
}
