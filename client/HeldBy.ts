/**
 * What an owner knows of why a thread does not run, in words for an operator. Pure.
 *
 * - H1 A pause is not among it: the thread tells that itself, with who paused it.
 * - H2 What ends a wait sooner is named by its command; what ends by itself says so.
 */
import type { ExplainedWait } from "../contracts/Explain.ts"
import type { LaneStatus } from "../contracts/Maintenance.ts"

const messageMax = 1_024

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** The time if there is one: an absent field and an undefined one are not the same in a contract. */
const until = (at: number | undefined) => (at === undefined ? {} : { untilAt: at })

const condemned = ({ abort, author, reason, sinceAt }: NonNullable<LaneStatus["condemned"]>) => {
  const meanwhile = abort
    ? "what it owes is aborted first"
    : "it is refused if the thread still owes work"
  const message = `The thread is being forgotten, on the word of ${author}: ${reason}`
  return {
    blocker: "condemned" as const,
    sinceAt,
    whoCanAct: "nobody" as const,
    message: `${message.slice(0, messageMax - 64).toWellFormed()} (${meanwhile}).`,
  }
}

const fault = ({
  attempts,
  failure,
  firstFailedAt,
  retryAt,
}: NonNullable<LaneStatus["fault"]>) => ({
  blocker: "fault" as const,
  name: failure.tag,
  sinceAt: firstFailedAt,
  untilAt: retryAt,
  whoCanAct: "operator" as const,
  message:
    `Its ${failure.operation} failed ${times(attempts)}: ${failure.message} (${failure.tag}). ` +
    "Nothing of it runs until that succeeds. It is tried again by itself; retry has it tried at once.",
})

const binding = ({ attempts, name, notBefore }: NonNullable<LaneStatus["binding"]>) => ({
  blocker: "binding" as const,
  ...(name === undefined ? {} : { name }),
  untilAt: notBefore,
  whoCanAct: "deployer" as const,
  message:
    `"${name ?? "Its agent"}" is not in this deployment (looked ${times(attempts)}). Its work is kept; a ` +
    "deployment that has it ends the wait, and so does an abort.",
})

const stalled = (untilAt: number) => ({
  blocker: "stalled" as const,
  untilAt,
  whoCanAct: "operator" as const,
  message:
    "Its turns were answered and changed nothing, so it is tried less and less often. wake and retry " +
    "have it tried at once.",
})

const unanswered = (untilAt: number | undefined) => ({
  blocker: "backoff" as const,
  ...until(untilAt),
  whoCanAct: "nobody" as const,
  message:
    "The last call of its object ended without an answer, or changed nothing. It is called again by " +
    "itself; wake has it called at once.",
})

const held: ExplainedWait = {
  blocker: "held",
  whoCanAct: "nobody",
  message:
    "As many attempts run at this owner as may at once. It keeps its place and starts when one of them ends.",
}

/** What holds a thread, as its owner sees it; the strongest first. // H1, H2 */
export const heldBy = (lane: LaneStatus): ReadonlyArray<ExplainedWait> => {
  const waits: Array<ExplainedWait> = []
  if (lane.condemned !== undefined) waits.push(condemned(lane.condemned))
  if (lane.fault !== undefined) waits.push(fault(lane.fault))
  if (lane.binding !== undefined) waits.push(binding(lane.binding))
  if (lane.stalledUntilAt !== undefined) waits.push(stalled(lane.stalledUntilAt))
  const answers = lane.backoffUntilAt === undefined && !lane.suspect
  if (lane.fault === undefined && !answers) waits.push(unanswered(lane.backoffUntilAt))
  if (lane.work === "held") waits.push(held)
  return waits
}
