/** What a plan's world has besides what every world has, in words: nothing of what is as usual. */
import type { Plan } from "./Plan.ts"
import { nameAt } from "./Strikes.ts"

const list = (parts: ReadonlyArray<string>): string => parts.join(", ")

const keepsWords = ({ second, v1, v2 }: NonNullable<Plan["keeps"]>): string =>
  `what has settled keeps its content for ${v2} ms${v1 === undefined ? "" : `, with the older deployment ${v1} ms`}${
    second === true ? "; that of the second agent for ever" : ""
  }`

const denialWords = (
  plan: Plan,
  { client, operations, thread }: NonNullable<Plan["denials"]>[number],
): string =>
  `client ${client} may not ${operations.length === 0 ? "do anything" : list(operations)}${
    thread === undefined ? "" : ` on ${nameAt(plan, plan.owners.length + thread)}`
  }`

const runningWords = (running: NonNullable<Plan["running"]>): ReadonlyArray<string> =>
  Object.entries(running).flatMap(([version, limits]) =>
    Object.entries(limits).map(
      ([agent, most]) => `at most ${most} of ${agent} run at once in an owner of ${version}`,
    ),
  )

/** One sentence for each thing. */
export const worldWords = (plan: Plan): ReadonlyArray<string> => {
  const { alarmLagMillis, callbacks, denials, doors, hostLanes, keeps, killsTake, limits } = plan
  const { asksAfter, lists, reconciling, running = {}, sink, skewMillis, strayMillis, talks } = plan
  const said: ReadonlyArray<string | false> = [
    limits !== undefined &&
      `limits: ${list(Object.entries(limits).map(([name, value]) => `${name} ${value}`))}`,
    skewMillis > 0 && `clocks are wrong by up to ${skewMillis} ms`,
    alarmLagMillis !== undefined && `alarms ring up to ${alarmLagMillis} ms late`,
    strayMillis !== undefined && `one message in ten takes up to ${strayMillis} ms`,
    ...(denials ?? []).map((denial) => denialWords(plan, denial)),
    reconciling !== undefined && `until the world heals every reconciler ${reconciling}`,
    killsTake !== undefined &&
      `with an object that a submission kills die ${list(killsTake.map((place) => nameAt(plan, place)))}`,
    asksAfter === true && "clients ask an object right after one of its blocks has failed",
    lists !== undefined &&
      `lists show titles${lists === "outcomes" ? ", and outcomes are searched" : ""}`,
    talks === true && "runs wait and talk",
    doors !== undefined &&
      `messages of other owners are let in by ${doors === "open" ? "every thread" : "threads with an even number"}`,
    sink !== undefined &&
      `records are published${sink.newer === true ? " by the newer deployment" : ""}; of ${sink.share} of the batches: ${list(sink.ills)}`,
    hostLanes !== undefined && `host lanes ${list(hostLanes.map(({ name }) => name))}`,
    callbacks === true && "runs give away tokens for their waits",
    keeps !== undefined && keepsWords(keeps),
    ...runningWords(running),
  ]
  return said.filter((sentence) => sentence !== false)
}
