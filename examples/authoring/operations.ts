/** The operations of a run, as the guide shows them. */
import { Effect, Schema } from "effect"
import * as Agent from "../../thread-actors/Agent.ts"

const Order = Schema.Struct({ id: Schema.String, total: Schema.Number })
type Order = typeof Order.Type

// Your systems go here.
const loadOrder = (id: string): Effect.Effect<Order> => Effect.succeed({ id, total: 10 })
const mail = (to: string): Effect.Effect<string> => Effect.succeed(`mailed ${to}`)

export const Review = Agent.make("review", { input: Schema.String, output: Schema.String })

export const ReviewLive = Review.handler(
  Effect.fn("Review")(function* (orderId, run) {
    const order = yield* run.step("load-order", Order, loadOrder(orderId), {
      retry: { times: 3, delay: "2 seconds" },
      timeout: "30 seconds",
    })
    const decision = yield* run.approval("release", {
      summary: `Release order ${order.id} of ${order.total}?`,
      data: { order: order.id },
      expires: "2 days",
    })
    if (decision.expired) return "nobody decided"
    if (!decision.approved) return `denied: ${decision.reason ?? ""}`

    const parcel = yield* run.waitFor("parcel", Schema.String)
    yield* run.sleep("cool-down", "1 hour")
    return yield* run.step("tell", Schema.String, mail(parcel))
  }),
)

export const Both = Agent.make("both", { input: Schema.Null, output: Schema.Boolean })

export const BothLive = Both.handler(
  Effect.fn("Both")(function* (_, run) {
    const [one, other] = yield* Effect.all(
      [
        run.approval("finance", { summary: "Is it paid?" }),
        run.approval("legal", { summary: "May we ship it?" }),
      ],
      { concurrency: "unbounded" },
    )
    return one.approved && other.approved
  }),
)

export const Quote = Agent.make("quote", { input: Schema.Null, output: Schema.String })

export const QuoteLive = Quote.handler(
  Effect.fn("Quote")(function* (_, run) {
    const first = yield* run.race("answer", {
      answered: run.waitFor("answer-value", Schema.Number),
      withdrawn: run.waitFor("withdraw", Schema.Null),
      late: run.sleep("deadline", "1 day"),
    })
    return first.branch === "answered" ? `answered ${first.value}` : first.branch
  }),
)
