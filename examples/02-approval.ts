/** A refund that people decide about: the run holds nothing while it waits, and a decision is a value. */
import { Effect, Schema } from "effect"
import { Agent } from "../heddle.ts"

const RefundRequest = Schema.Struct({ order: Schema.String, cents: Schema.Int })
const Refunded = Schema.Struct({
  refunded: Schema.Boolean,
  /** Why it was not. */
  because: Schema.optionalKey(Schema.String),
  transaction: Schema.optionalKey(Schema.String),
})

// Your provider goes here: it knows a refund again by the key that it was given.
const refunds = new Map<string, string>()
const payBack = (key: string) =>
  Effect.sync(() => {
    const transaction = refunds.get(key) ?? `r-${key.slice(0, 8)}`
    refunds.set(key, transaction)
    return { transaction }
  })

const PayBack = Agent.tool("pay-back", {
  result: Schema.Struct({ transaction: Schema.String }),
  execution: "idempotent", // the provider does nothing twice under one key
})

export const Refund = Agent.make("refund", { input: RefundRequest, output: Refunded })

/** What nobody needs to be asked about. */
const smallCents = 2_000

export const RefundLive = Refund.handler(
  Effect.fn("Refund")(function* ({ cents, order }, run) {
    if (cents > smallCents) {
      const decision = yield* run.approval("refund", {
        summary: `Refund ${(cents / 100).toFixed(2)} for order ${order}?`,
        data: { cents, order },
        expires: "7 days",
      })
      if (decision.expired) return { refunded: false, because: "nobody decided in time" }
      if (!decision.approved) return { refunded: false, because: decision.reason ?? "denied" }
    }
    const { transaction } = yield* run.tool("pay-back", PayBack, ({ key }) => payBack(key))
    return { refunded: true, transaction }
  }),
  { tools: [PayBack] },
)
