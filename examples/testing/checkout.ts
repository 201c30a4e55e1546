/** An agent that pays, with its provider as a service: a test brings one of its own. */
import { Context, Effect, Option, Schema } from "effect"
import * as Agent from "../../thread-actors/Agent.ts"

const Order = Schema.Struct({ order: Schema.String, cents: Schema.Int })
const Paid = Schema.Struct({ transaction: Schema.String })

export class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", {}) {}

export class Provider extends Context.Service<
  Provider,
  {
    readonly pay: (key: string, cents: number) => Effect.Effect<string, Declined>
    /** The transaction of an earlier payment with this key. */
    readonly find: (key: string) => Effect.Effect<Option.Option<string>, Unreachable>
  }
>()("checkout/Provider") {}

const Payment = Agent.tool("payment", {
  result: Paid,
  error: Declined,
  execution: "ordinary",
  timeout: "20 seconds",
  reconcile: ({ key }) =>
    Effect.flatMap(Provider, (provider) => provider.find(key)).pipe(
      Effect.map(
        Option.match({
          onNone: () => ({ _tag: "NeverStarted" as const }),
          onSome: (transaction) => ({ _tag: "Completed" as const, result: { transaction } }),
        }),
      ),
      Effect.catchTag("Unreachable", () => Effect.succeed({ _tag: "Uncertain" as const })),
    ),
})

export const Checkout = Agent.make("checkout", { input: Order, output: Paid, error: Declined })

export const CheckoutLive = Checkout.handler(
  (order, run) =>
    run.tool(
      "pay",
      Payment,
      ({ key }) =>
        Effect.gen(function* () {
          const provider = yield* Provider
          return { transaction: yield* provider.pay(key, order.cents) }
        }),
      { request: order },
    ),
  { tools: [Payment] },
)
