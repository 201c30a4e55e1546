/** Schedules under an owner: it comes for them by its alarm, and for nothing else. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AgentId, IdempotencyKey, StepName, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const threadId = ThreadId.make("clock")

const Echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler((input) =>
  Effect.succeed(input),
)
const Asks = Agent.make("asks", { input: Schema.Json, output: Schema.Json }).handler((_, run) =>
  Effect.as(run.approval("ok", { summary: "?" }), "asked"),
)

const makeClock = () => {
  const loom = makeLoom({ agents: [Echo, Asks] })
  const set = (cron: string) =>
    go(
      loom.client.schedule({
        ownerId,
        threadId,
        name: StepName.make("tick"),
        cron,
        agent: AgentId.make("echo"),
        input: "tick",
      }),
    )
  const remove = () =>
    go(loom.client.unschedule({ ownerId, threadId, name: StepName.make("tick") }))
  const submit = (agent: string, extra: { readonly notBefore?: number } = {}) =>
    go(
      loom.client.submit({
        ownerId,
        threadId,
        agent: AgentId.make(agent),
        input: null,
        idempotencyKey: IdempotencyKey.make(agent),
        ...extra,
      }),
    )
  const reported = () => JSON.parse(String(loom.lane("clock")?.["report"] ?? "{}"))
  /** Delivers alarms until the thread has settled so many. */
  const settled = async (count: number) => {
    await loom.alarmsUntil(`${count} have settled`, () => reported().tailSequence >= 2 * count)
    return loom.kinds("clock")
  }
  return { loom, set, remove, submit, settled, reported }
}

const once = ["InputApplied", "Settled"]

describe("an owner", () => {
  it("comes for a schedule by its alarm, each time, until it is removed", async () => {
    const { loom, remove, reported, set, settled } = makeClock()
    const { nextAt } = await set("* * * * * *")
    await loom.alarmsUntil("the owner knows when", () => reported().upkeepAt === nextAt)
    expect(Math.floor(Number(loom.lane("clock")?.["next_at"]) / 1_000)).toBe(nextAt)
    expect(reported()).toMatchObject({ nonterminal: 0 })
    expect(await settled(2)).toEqual([...once, ...once])
    expect(await remove()).toEqual({ removed: true })
    await loom.quiet()
    const kinds = await loom.kinds("clock")
    expect(kinds).toHaveLength(kinds.filter((kind) => kind === "Settled").length * 2)
    expect(await go(loom.client.obligations({ ownerId }))).toMatchObject({ obligations: [] })
  })

  it("comes though it and the thread have died since, and the head waits for somebody", async () => {
    const { loom, remove, reported, set, submit } = makeClock()
    await submit("asks")
    await loom.alarmsUntil("it asks", () => reported().head?.state === "suspended")
    await set("* * * * * *")
    loom.crash()
    loom.crashThread("clock")
    await loom.alarmsUntil("two wait behind it", () => reported().nonterminal >= 3)
    await remove()
    await loom.quiet()
    expect(await loom.kinds("clock")).toEqual(["InputApplied", "ApprovalRequested"])
    expect(reported()).toMatchObject({ head: { sequence: 1, state: "suspended" } })
  })

  it("holds no alarm for a schedule that never comes", async () => {
    const { loom, set } = makeClock()
    await set("0 0 30 2 *")
    await loom.quiet()
  })

  it("comes for a submission at its time, and not before", async () => {
    const { loom, submit } = makeClock()
    const notBefore = Date.now() + 300
    const { submissionId } = await submit("echo", { notBefore })
    await loom.quiet()
    const { settlement } = await loom.status("clock", submissionId)
    expect(settlement).toMatchObject({ outcome: "completed" })
    expect(settlement?.settledAt).toBeGreaterThanOrEqual(notBefore)
  })
})
