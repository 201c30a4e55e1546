/**
 * How a thread stands, from what `explain` says of its open submissions and its owner of its lane. Pure.
 *
 * - S1 Of several that hold, one is told; whether somebody paused it is asked apart from that, as it is ended apart.
 */
import type { LaneStatus, RecoveryExplanation } from "../../client/sdk/index.ts"
import type { Command } from "./Commands.ts"
import { conditionOf } from "./Condition.ts"

const holds: Readonly<Record<string, string>> = {
  condemned: "condemned",
  fault: "faulted",
  paused: "paused",
}

/** The open run says more than what waits behind it. */
const order = ["running", "unknown", "suspended", "ready"]

type Open = ReadonlyArray<RecoveryExplanation>

const holdersOf = (open: Open) => open.flatMap(({ heldBy }) => heldBy)

/** `lane` is as old as the stream's first frame: it speaks only where nothing is open. */
export const standingOf = (open: Open, lane: LaneStatus | undefined): string => {
  const held = holdersOf(open).map(({ blocker }) => blocker)
  const hold = Object.keys(holds).find((blocker) => held.includes(blocker))
  if (hold !== undefined) return holds[hold] ?? hold
  const states = open.map(({ state }) => state)
  const state = order.find((one) => states.includes(one))
  if (state !== undefined) return state
  if (lane === undefined) return "idle"
  const condition = conditionOf({ ...lane, nonterminal: 0, running: false })
  return ["condemned", "faulted", "paused"].includes(condition) ? condition : "idle"
}

const pauseOf = (open: Open) => holdersOf(open).find(({ blocker }) => blocker === "paused")

/** Whether somebody paused it, whatever else holds it. `known` is what was heard of it besides, the best first. // S1 */
export const isPaused = (
  open: Open,
  ...known: ReadonlyArray<{ readonly paused: boolean } | undefined>
): boolean => {
  if (open.length > 0) return pauseOf(open) !== undefined
  return known.find((one) => one !== undefined)?.paused ?? false
}

/** The way out of a pause, with what the thread tells of it; the way into one where there is none. */
export const pauseCommand = (threadId: string, ...heard: Parameters<typeof isPaused>): Command => {
  if (!isPaused(...heard)) return { kind: "pause", threadId }
  const [open] = heard
  const told = pauseOf(open)?.message
  return { kind: "resume", threadId, ...(told === undefined ? {} : { told }) }
}
