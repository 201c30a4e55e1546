/** A failing run in words: what was asked, what went wrong, and what was seen. */
import type { Operation, Plan, Submitted } from "./Plan.ts"
import { isTalk, type Op, type Script } from "./Script.ts"
import type { Shrunk } from "./Shrink.ts"
import { firstChild, nameAt } from "./Strikes.ts"
import { talkWords } from "./TalkWords.ts"
import { startsAt } from "./World.ts"
import { worldWords } from "./WorldWords.ts"

const opWords = (op: Op): string => {
  if (op._tag !== "Parallel" && isTalk(op)) return talkWords(op, opWords)
  switch (op._tag) {
    case "Step":
      return `step ${op.name} (${op.behaviour.takesMillis} ms, ends ${op.behaviour.ends}${
        op.behaviour.failures === 0 ? "" : ` after ${op.behaviour.failures} failures`
      }${op.retries === 0 ? "" : `, ${op.retries} retries`})`
    case "Call":
      return `call ${op.name} of ${op.tool} (${op.behaviour.takesMillis} ms, ends ${op.behaviour.ends}, ${
        op.landsMillis === undefined
          ? "never carried out"
          : `carried out after ${op.landsMillis} ms`
      })`
    case "Small":
      return `${op.what} ${op.name}`
    case "Work":
      return `work for ${op.millis} ms`
    case "Parallel":
      return `at once [${op.branches.map(opWords).join("; ")}]`
  }
}

const threadWords = (plan: Plan, index: number): string =>
  nameAt(
    plan,
    index < plan.threads.length
      ? plan.owners.length + index
      : firstChild(plan) + index - plan.threads.length,
  )

const scriptWords = ({ ends, ops }: Script): string =>
  `${ops.map(opWords).join("; ") || "nothing"}; it ends ${ends === "well" ? "well" : `as it ${ends}`}`

const submittedWords = (plan: Plan, { agent, key, script, thread, title }: Submitted): string =>
  `submits ${key}${title === undefined ? "" : ` "${title}"`} to ${threadWords(plan, thread)} for ${agent}: ${scriptWords(script)}`

const operationWords = (plan: Plan, operation: Operation): string => {
  switch (operation._tag) {
    case "Submit":
      return submittedWords(plan, operation)
    case "SubmitMany":
      return `in one call ${operation.submissions.map((one) => submittedWords(plan, one)).join(", ")}`
    case "Abort":
    case "Retry":
      return `asks to ${operation._tag.toLowerCase()} ${operation.key}`
    case "Resubmit":
      return `has ${operation.of} done again as ${operation.key}${
        operation.script === undefined ? "" : `: ${scriptWords(operation.script)}`
      }`
    case "Approve":
      return `${operation.approved ? "approves" : "denies"} ${operation.name} of ${operation.key}`
    case "Signal":
      return `signals ${operation.value} to ${operation.name} of ${operation.key}`
    case "Callback":
      return `uses token ${operation.nth}${operation.forged ? ", made up," : ""} with ${operation.value}`
    case "Schedule":
      return `schedules ${operation.name} of ${threadWords(plan, operation.thread)} every ${operation.everySeconds} s`
    case "Unschedule":
      return `cancels ${operation.name} of ${threadWords(plan, operation.thread)}`
    case "AbortSent":
      return `aborts the run of place ${operation.nth} of those that others asked for`
    case "Maintenance":
    case "RetryMany":
    case "AbortMany":
    case "List":
    case "RebuildLists":
    case "Cron":
    case "Rebuild":
      return `${operation._tag.toLowerCase()} of ${plan.owners[operation.owner]}`
    case "AbortOpen":
    case "RetryOpen":
      return `asks to ${operation._tag === "AbortOpen" ? "abort" : "retry"} all that is open in ${threadWords(plan, operation.thread)}`
    default:
      return `${operation._tag.toLowerCase()} of ${threadWords(plan, operation.thread)}`
  }
}

/** Of what waits until a child's thread is there. */
const laterWords = ({ lateMillis }: Operation): string =>
  lateMillis === undefined ? "" : `, and ${lateMillis} ms after it has come to be,`

/** The shortest failing schedule, line by line. */
export const tell = ({ outcome, plan }: Shrunk): ReadonlyArray<string> => {
  const [violation] = outcome.violations
  return [
    `Seed ${plan.seed} violates ${violation?.invariant}: ${violation?.detail}`,
    `Owners ${plan.owners.join(", ")}; messages take up to ${plan.latencyMillis} ms, flushes ${plan.flushMillis} ms; the world heals after ${plan.healsAt} ms.`,
    ...worldWords(plan).map((sentence) => `  ${sentence}`),
    ...plan.operations.map(
      (one) =>
        `  at ${one.at} ms${laterWords(one)} client ${one.client} ${operationWords(plan, one)}`,
    ),
    ...outcome.happened.map(
      ({ at, kind, where }) =>
        `  at ${at - startsAt} ms: ${kind}${where === "" ? "" : `: ${where}`}`,
    ),
  ]
}
