/**
 * What an operator must hear of a call's end, once: a fault, a missing agent, a lane that stalls. Repeats are
 * for debugging.
 */
import { Effect } from "effect"
import * as Answer from "./Answer.ts"
import type { Lane } from "./Lane.ts"
import type { Owner } from "./Owner.ts"
import type { Picked } from "./Select.ts"

const said = (first: boolean, line: string) =>
  first ? Effect.logError(line) : Effect.logDebug(line)

const tellBinding = (owner: Owner, before: Lane, after: Lane | undefined) => {
  const binding = after?.marks.binding
  if (binding === undefined) return Effect.void
  const first = Answer.bindingLogDue(before.marks.binding, owner.host.now(), owner.limits)
  const what = binding.ofTool === true ? "tool" : "agent"
  return said(first, `no ${what} "${binding.name ?? ""}" in this deployment; its submission waits`)
}

const tellFault = (before: Lane, after: Lane | undefined) => {
  if (after?.marks.faultRetryAt === undefined) return Effect.void
  const what =
    after.marks.faultVisit === true
      ? "the thread answers no visit"
      : "the thread cannot be recovered"
  return said(before.marks.faultRetryAt === undefined, `${what}; recoveryStatus tells why`)
}

const tellStall = (before: Lane, after: Lane | undefined) =>
  after?.marks.stalls === 1 && before.marks.stalls === undefined
    ? Effect.logError("the lane stalls: its turns are answered and change nothing")
    : Effect.void

/** Tells the end of a call by what its lane was and has become. */
export const tellEnd = (owner: Owner, { kind, lane }: Picked, after: Lane | undefined) =>
  Effect.gen(function* () {
    if (kind === "forget") return
    yield* tellFault(lane, after)
    if (kind === "visit") return
    yield* tellBinding(owner, lane, after)
    yield* tellStall(lane, after)
  }).pipe(Effect.annotateLogs({ threadId: lane.threadId }))
