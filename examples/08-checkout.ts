/** An agent that pays once: the call is recorded before it is made, and asked about when its outcome was lost. */
import { Effect, Schema } from "effect"
import { Agent } from "../heddle.ts"

const Order = Schema.Struct({ order: Schema.String, cents: Schema.Int })
const Paid = Schema.Struct({ transaction: Schema.String })

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}

// Your provider goes here: it knows a payment again by the key that it was given.
const transactions = new Map<string, string>()
const pay = (key: string, cents: number) =>
  cents > 100_000
    ? Effect.fail(new Declined({ code: "limit" }))
    : Effect.sync(() => {
        transactions.set(key, `t-${key.slice(0, 8)}`)
        return { transaction: `t-${key.slice(0, 8)}` }
      })

const Payment = Agent.tool("payment", {
  result: Paid,
  error: Declined, // what says for certain that nothing was paid
  execution: "ordinary", // never made again on a guess
  timeout: "20 seconds",
  reconcile: ({ key }) =>
    Effect.sync(() => {
      const transaction = transactions.get(key)
      return transaction === undefined
        ? { _tag: "NeverStarted" }
        : { _tag: "Completed", result: { transaction } }
    }),
})

export const Checkout = Agent.make("checkout", { input: Order, output: Paid, error: Declined })

export const CheckoutLive = Checkout.handler(
  (order, run) => run.tool("pay", Payment, ({ key }) => pay(key, order.cents), { request: order }),
  { tools: [Payment] },
)
