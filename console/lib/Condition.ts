/**
 * How a lane stands, in the words of `listThreads`, from what `watch` tells of it. Pure.
 *
 * - C1 The order of the conditions is the contract's: of several that hold the one is told that most wants a person.
 */
import type { LaneStatus, ThreadCondition } from "../../client/sdk/index.ts"

export const conditionOf = (lane: LaneStatus): ThreadCondition => {
  if (lane.condemned !== undefined) return "condemned" // C1
  if (lane.fault !== undefined) return "faulted"
  if (lane.paused) return "paused"
  const state = lane.head?.state
  if (state === "unknown") return "unknown"
  if (lane.running || state === "running") return "running"
  if (state === "suspended") return "suspended"
  return lane.nonterminal > 0 ? "ready" : "idle"
}

interface Words {
  /** As it stands in a row. */
  readonly label: string
  /** In a sentence, behind the thread's name. */
  readonly means: string
}

const words: Readonly<Record<string, Words>> = {
  condemned: { label: "condemned", means: "is to be forgotten" },
  faulted: { label: "faulted", means: "cannot be recovered" },
  paused: { label: "paused", means: "was paused by somebody" },
  unknown: { label: "unknown", means: "has a call that may have happened" },
  running: { label: "running", means: "has an attempt that runs" },
  suspended: { label: "waiting", means: "waits for something outside" },
  ready: { label: "ready", means: "has work that waits for its turn or its time" },
  idle: { label: "idle", means: "owes nothing" },
  completed: { label: "completed", means: "has ended with an output" },
  failed: { label: "failed", means: "has ended with a failure" },
  aborted: { label: "aborted", means: "was ended on somebody's word" },
  joined: { label: "joined", means: "was taken by another run" },
  untold: { label: "not known", means: "was not told of since the stream was lost" },
  queued: { label: "queued", means: "waits for its turn" },
}

/** The word for a condition, a state or an outcome; one that is newer than this console is its own. */
export const wordsOf = (condition: string): Words =>
  words[condition] ?? { label: condition, means: condition }

/** Which blockers want a person, and what that person is asked. */
const asks: Readonly<Record<string, string>> = {
  unknown: "Say what became of a call",
  approval: "Approve or deny",
  paused: "Resume, when you agree",
  fault: "See why recovery fails",
  binding: "Deploy what is missing",
  stalled: "Report it, then wake",
  signal: "Waits for a value from outside",
  child: "Waits for another thread",
  timer: "Waits for a time",
  backoff: "Its thread does not answer",
  held: "As many runs go as may",
  outbox: "Messages were not taken",
  publication: "The sink does not take its records",
  condemned: "Is being forgotten",
  "ready-aged": "Ready, and old",
  "running-aged": "Runs, and is old",
}

export const askOf = (blocker: string): string => asks[blocker] ?? blocker

/** Those that somebody at this console can end, the most urgent first; the others end by themselves or elsewhere. */
export const humanBlockers = ["fault", "unknown", "approval", "stalled", "paused"] as const

export const isHuman = (blocker: string): boolean =>
  (humanBlockers as ReadonlyArray<string>).includes(blocker)
