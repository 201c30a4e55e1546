/** The testing kit where runs wait: who decides, who signals, and time that passes. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { CallbackToken } from "../../../contracts/Callback.ts"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import { NotAwaiting } from "../../../contracts/Errors.ts"
import { StepName, ThreadId } from "../../../contracts/Identifiers.ts"
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

const Naps = Agent.make("naps", json)
const naps = Naps.handler((_, run) => Effect.as(run.sleep("nap", "40 days"), "rested"))

/** How many bytes the signature of a text has; of no key none. */
const signed = async (text: string): Promise<number> => {
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const bytes = new TextEncoder().encode(text)
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"])
  return (await crypto.subtle.sign("HMAC", key, bytes)).byteLength
}

const Digests = Agent.make("digests", { input: Schema.String, output: Schema.Number })
const digests = Digests.handler((text, run) =>
  run.step(
    "sign",
    Schema.Number,
    Effect.orElseSucceed(
      Effect.tryPromise(() => signed(text)),
      () => 0,
    ),
  ),
)

const deployed = () => TestDeployment.make({ agents: [asks, hook, naps] })

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

  it("decides what a run asks as soon as it has asked, without a word about settling", async () => {
    const heddle = deployed()
    const receipt = await heddle.submit({ agent: Asks, input: 1, threadId })
    await heddle.approve(receipt)
    expect((await heddle.settled(receipt)).output).toEqual([true, "test"])
  })

  it("tells at once of a run that waits for somebody beside a schedule that never ends", async () => {
    const heddle = deployed()
    const receipt = await heddle.submit({ agent: Asks, input: 1, threadId })
    const behind = await heddle.submit({ agent: Asks, input: 2, threadId })
    await heddle.run(
      Effect.flatMap(HeddleClient, ({ rpc }) =>
        rpc.schedule({
          ownerId: receipt.ownerId,
          threadId: ThreadId.make("ticks"),
          name: StepName.make("tick"),
          cron: "* * * * *",
          agent: Hook.name,
          input: 1,
        }),
      ),
    )
    const startedAt = heddle.now()
    await expect(heddle.settled(receipt)).rejects.toThrow(/heddle approve thread-1/)
    await expect(heddle.settled(behind)).rejects.toThrow(NotSettled)
    // Else every expiry within a month would fire first.
    expect(heddle.now() - startedAt).toBeLessThan(60_000)
  })

  it("waits for a word that another run gives in its time", async () => {
    const heddle = deployed()
    const asked = await heddle.submit({ agent: Hook, input: 1, threadId })
    await heddle.settle()
    const other = await heddle.submit({ agent: Naps, input: 1, threadId: "other" })
    await expect(heddle.advanceToRest()).rejects.toThrow(/`advance` moves time/)
    const { settledAt } = await heddle.settled(other)
    expect(settledAt - other.acceptedAt).toBeGreaterThanOrEqual(40 * 24 * 3_600_000)
    // Which was the longer one.
    expect((await heddle.settled(asked)).output).toBe("late")
  })

  it("awaits the platform's cryptography, in any number of steps, at no time of its own", async () => {
    const heddle = TestDeployment.make({ agents: [digests] })
    const startedAt = heddle.now()
    const [first, second] = await Promise.all([
      heddle.submit({ agent: Digests, input: "a", threadId }),
      heddle.submit({ agent: Digests, input: "b", threadId: "other" }),
    ])
    const [one, two] = await Promise.all([heddle.settled(first), heddle.settled(second)])
    expect([one.output, two.output]).toEqual([32, 32])
    expect(heddle.now() - startedAt).toBeLessThan(1_000)
    // Between the calls it is the process's own.
    expect((await crypto.subtle.digest("SHA-256", new Uint8Array(1))).byteLength).toBe(32)
  })

  it("tells a handler of what cryptography rejects with", async () => {
    const heddle = TestDeployment.make({ agents: [digests] })
    const receipt = await heddle.submit({ agent: Digests, input: "", threadId })
    expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed", output: 0 })
  })
})
