/** The example of a program outside of Workers, with a real deployment of the examples. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createHeddle } from "../../client/sdk/index.ts"
import { followOrder, placeOrders } from "../../examples/11-from-node.ts"
import { interrupt, listen, say } from "../../examples/13-converse.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { type RunningWorkerd, startWorkerd } from "../../scripts/workerd.ts"
import { secret } from "./server.ts"

let running: RunningWorkerd
let persistDir = ""

beforeAll(async () => {
  persistDir = await mkdtemp(join(tmpdir(), "heddle-from-node-"))
  running = await startWorkerd({ persistDir, secret })
})

afterAll(async () => {
  await running.kill()
  await rm(persistDir, { recursive: true, force: true })
})

const deploymentFor = (owner: string) => ({
  url: running.url,
  token: () =>
    mintToken({
      grants: { principal: "shop" as never, owners: [owner] },
      secret,
      expiresInSeconds: 60,
    }),
})

describe("a program outside of Workers", () => {
  it("has orders placed, each once however often it is run", async () => {
    const deployment = deploymentFor("shop-*")
    const orders = ["1", "2", "3"].map((id) => ({ id, sku: "warp", quantity: Number(id) }))
    const completed = ["completed", "completed", "completed"]
    expect(await placeOrders(deployment, orders)).toEqual(completed)
    expect(await placeOrders(deployment, orders)).toEqual(completed)
    const changed = [{ id: "1", sku: "weft", quantity: 9 }, ...orders.slice(1)]
    expect(await placeOrders(deployment, changed)).toEqual([
      "IdempotencyConflict",
      ...completed.slice(1),
    ])
    expect(await Effect.runPromise(followOrder(deployment, "4"))).toEqual([
      "InputApplied",
      "StepCompleted",
      "Progress",
      "StateChanged",
      "Settled",
    ])
  })

  it("knows what it may not do", async () => {
    const denied = followOrder(deploymentFor("bank-*"), "5")
    expect(await Effect.runPromise(denied)).toEqual(["OperationDenied"])
  })

  it("sees an answer that it listened for, once it is on record", async () => {
    const deployment = deploymentFor("shop-*")
    const talk = { ownerId: "shop-7", threadId: "visitor-1" }
    const { signal } = new AbortController()
    const line = { id: "line-1", text: "hello" }
    const receipt = await say(deployment, talk, line)
    expect(await say(deployment, talk, line)).toMatchObject({
      submissionId: receipt.submissionId,
      duplicate: true,
    })
    let answer: unknown
    for await (const shown of listen(deployment, talk, { signal })) {
      if (!("answer" in shown)) continue
      answer = shown
      break
    }
    const said = { answer: "You said “hello”, after 0 lines." }
    expect(answer).toEqual({ answer: { data: said }, after: 5 })
    await createHeddle(deployment).awaitSettled(receipt)
    expect(await interrupt(deployment, receipt)).toBe("was answered already")
  })
})
