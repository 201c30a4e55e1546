/** A lane at a terminal: how the owner sees one thread. */
import type { LaneStatus } from "../contracts/Maintenance.ts"
import { fields } from "./Table.ts"
import { isoOf } from "./Times.ts"

const at = (millis: number | undefined) => (millis === undefined ? undefined : isoOf(millis))

/** What is in the way of a lane, in a word or two each. */
export const hindrances = (lane: LaneStatus): ReadonlyArray<string> => [
  ...(lane.condemned === undefined ? [] : ["condemned"]),
  ...(lane.paused ? ["paused"] : []),
  ...(lane.fault === undefined ? [] : [`fault ${lane.fault.failure.tag}`]),
  ...(lane.binding === undefined ? [] : [`missing ${lane.binding.name ?? "agent"}`]),
  ...(lane.stalledUntilAt === undefined ? [] : ["stalled"]),
  ...(lane.backoffUntilAt === undefined ? [] : ["backoff"]),
  ...(lane.suspect ? ["suspect"] : []),
]

export const laneText = (lane: LaneStatus): string =>
  fields({
    thread: lane.threadId,
    open: lane.nonterminal,
    running: lane.running,
    "in its way": hindrances(lane).join(", ") || undefined,
    head: lane.head?.submissionId,
    "head is": lane.head?.state,
    agent: lane.head?.agent,
    work: lane.work,
    "work at": lane.workAt === 0 ? "now" : at(lane.workAt),
    "backoff until": at(lane.backoffUntilAt),
    "stalled until": at(lane.stalledUntilAt),
    "fault since": at(lane.fault?.firstFailedAt),
  })
