/** What a user of the checkout may rely on when objects die, shown with `heddle/testing`. */
import { Effect, Layer, Option } from "effect"
import { expect, it } from "vitest"
import { NotSettled, TestDeployment } from "../../testing/index.ts"
import { Checkout, CheckoutLive, Declined, Provider, Unreachable } from "./checkout.ts"

/** A provider of the test. It lives outside the objects: what dies with them, it keeps. */
const makeBank = () => {
  const payments = new Map<string, string>()
  const bank = { payments, isReachable: true }
  const layer = Layer.succeed(Provider, {
    pay: (key, cents) =>
      cents > 100_000
        ? Effect.fail(new Declined({ code: "limit" }))
        : Effect.sync(() => {
            const transaction = `t-${payments.size + 1}`
            payments.set(key, transaction)
            return transaction
          }),
    find: (key) =>
      bank.isReachable
        ? Effect.succeed(Option.fromUndefinedOr(payments.get(key)))
        : Effect.fail(new Unreachable()),
  })
  return Object.assign(bank, { layer })
}

const input = { order: "7", cents: 1_200 }

it("pays once although the object dies after paying", async () => {
  const bank = makeBank()
  const heddle = TestDeployment.make({ agents: [CheckoutLive], services: bank.layer })
  heddle.crashAt("settleTool:before") // paid, and nothing of it recorded

  const receipt = await heddle.submit({ agent: Checkout, input, threadId: "order-7" })
  const settlement = await heddle.settled(receipt)

  expect(heddle.crashes()).toMatchObject([{ name: "owner/order-7", point: "settleTool:before" }])
  expect(settlement).toMatchObject({ outcome: "completed", output: { transaction: "t-1" } })
  expect(settlement.attempts).toBe(2)
  expect(bank.payments.size).toBe(1)
})

it("pays although the object dies before paying", async () => {
  const bank = makeBank()
  const heddle = TestDeployment.make({ agents: [CheckoutLive], services: bank.layer })
  heddle.crashAt("prepare:after") // about to pay

  const receipt = await heddle.submit({ agent: Checkout, input, threadId: "order-7" })

  expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed" })
  expect(heddle.crashes().length).toBe(1)
  expect(bank.payments.size).toBe(1)
})

it("waits for a word when nobody can tell whether it was paid", async () => {
  const bank = makeBank()
  const heddle = TestDeployment.make({ agents: [CheckoutLive], services: bank.layer })
  heddle.crashAt("settleTool:before")
  bank.isReachable = false

  const receipt = await heddle.submit({ agent: Checkout, input, threadId: "order-7" })
  await expect(heddle.settled(receipt)).rejects.toThrow(NotSettled)
  expect(await heddle.obligations()).toMatchObject([{ blocker: "unknown", name: "pay" }])

  const result = { transaction: "t-1" }
  await heddle.resolve(receipt, { _tag: "CompletedWithResult", result })
  expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed", output: result })
  expect(bank.payments.size).toBe(1)
})

it("fails for good when the payment is declined", async () => {
  const heddle = TestDeployment.make({ agents: [CheckoutLive], services: makeBank().layer })
  const receipt = await heddle.submit({
    agent: Checkout,
    input: { order: "8", cents: 200_000 },
    threadId: "order-8",
  })
  expect(await heddle.settled(receipt)).toMatchObject({
    outcome: "failed",
    failure: { tag: "Declined", error: { code: "limit" } },
  })
})
