/** The payment that a provider tells about: by a token that stands in no record. */
import { expect, it, vi } from "vitest"
import type { CallbackToken } from "../../../contracts/index.ts"
import { provider, Purchased, PurchasedLive } from "../../../examples/07-webhook.ts"
import { TestDeployment } from "../../../testing/index.ts"

// The package root joins the objects too, whose classes the platform brings.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object, WorkerEntrypoint: Object }))

const buy = async (order: string) => {
  const heddle = TestDeployment.make({ agents: [PurchasedLive] })
  const input = { order, cents: 900 }
  const receipt = await heddle.submit({ agent: Purchased, input, threadId: order })
  await heddle.settle()
  const [, token = ""] = /^\/callback\/(.+)$/.exec(provider.notify.get(order) ?? "") ?? []
  return { heddle, receipt, token: token as CallbackToken }
}

it("a purchase is what its provider posts, once, and no record tells where to", async () => {
  const { heddle, receipt, token } = await buy("12")
  const paid = { status: "paid", transaction: "t-1" }
  expect(await heddle.callback(token, paid)).toMatchObject({ duplicate: false })
  expect(await heddle.callback(token, paid)).toMatchObject({ duplicate: true })
  expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed", output: paid })
  const [, , secret = ""] = token.split("~")
  expect(secret).toMatch(/^[0-9a-f]{32}$/)
  const history = JSON.stringify(await heddle.history("12"))
  expect(history).toContain("https://pay.example/12?cents=900")
  expect(history).not.toContain(secret)
})

it("a purchase that is declined, or of which nothing is heard, fails in its own words", async () => {
  const declined = await buy("13")
  await declined.heddle.callback(declined.token, { status: "declined", transaction: "t-2" })
  expect(await declined.heddle.settled(declined.receipt)).toMatchObject({
    failure: { tag: "NotPaid", error: { because: "declined" } },
  })
  const silent = await buy("14")
  expect(await silent.heddle.settled(silent.receipt)).toMatchObject({
    failure: { tag: "NotPaid", error: { because: "WaitTimedOut" } },
  })
})
