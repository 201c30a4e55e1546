/** The testing kit where runs wait: who decides, who signals, and time that passes. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { CallbackToken } from "../../../contracts/Callback.ts"
import { NotAwaiting } from "../../../contracts/Errors.ts"
import { NotSettled, TestDeployment } from "../../../testing/index.ts"
import * as Agent from "../../../thread-actors/Agent.ts"

const threadId = "thread-1"
const json = { input: Schema.Json, output: Schema.Json }

const Asks = Agent.make("asks", json)
const asks = Asks.handler(
  Effect.fn(function* (_, run) {
    const { approved, author } = yield* run.approval("first", { summary: "?" })
    return [approved, author ?? "nobody"]
  }),
)

const Hook = Agent.make("hook", json)
let given: CallbackToken | undefined
const hook = Hook.handler(
  Effect.fn(function* (_, run) {
    given = yield* run.callback("paid")
    const answer = yield* run.race("answer", {
      paid: run.waitFor("paid", Schema.Number),
      late: run.sleep("late", "30 days"),
    })
    return answer.branch === "paid" ? answer.value : "late"
  }),
)

const deployed = () => TestDeployment.make({ agents: [asks, hook] })

describe("the testing kit", () => {
  it("approves and denies the only question of a run, and names who said so", async () => {
    const heddle = deployed()
    for (const approved of [true, false]) {
      const receipt = await heddle.submit({ agent: Asks, input: approved, threadId })
      await heddle.settle()
      const said = { author: "ann" }
      await (approved ? heddle.approve(receipt, said) : heddle.deny(receipt, said))
      expect((await heddle.settled(receipt)).output).toEqual([approved, "ann"])
    }
  })

  it("refuses to decide what nobody asks", async () => {
    const heddle = deployed()
    const receipt = await heddle.submit({ agent: Asks, input: 1, threadId })
    await heddle.settle()
    await expect(heddle.approve(receipt, { name: "other" })).rejects.toThrow(NotAwaiting)
  })

  it("tells of a run that only somebody's word can end, and which", async () => {
    const heddle = deployed()
    const receipt = await heddle.submit({ agent: Asks, input: 1, threadId })
    await expect(heddle.settled(receipt)).rejects.toThrow(NotSettled)
    const [explained] = await heddle.explain(receipt)
    expect(explained?.waits).toMatchObject([{ blocker: "approval", name: "first" }])
    expect(await heddle.obligations()).toMatchObject([
      { blocker: "approval", name: "first", state: "suspended", agent: "asks" },
    ])
  })

  it("signals by name, and calls back with the token alone", async () => {
    const heddle = deployed()
    const first = await heddle.submit({ agent: Hook, input: 1, threadId })
    await heddle.signal(first, "paid", 5)
    expect((await heddle.settled(first)).output).toBe(5)
    const second = await heddle.submit({ agent: Hook, input: 2, threadId })
    await heddle.settle()
    if (given === undefined) throw new Error("no token was given")
    expect(await heddle.callback(given, 7)).toMatchObject({ duplicate: false })
    expect((await heddle.settled(second)).output).toBe(7)
  })

  it("lets a month pass for a run that sleeps", async () => {
    const heddle = deployed()
    const receipt = await heddle.submit({ agent: Hook, input: 1, threadId })
    await heddle.settle()
    await heddle.advance("30 days")
    const { output, settledAt } = await heddle.settled(receipt)
    expect(output).toBe("late")
    expect(settledAt - receipt.acceptedAt).toBeGreaterThanOrEqual(30 * 24 * 3_600_000)
  })
})
