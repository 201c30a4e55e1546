/** The smallest agent that shows the idea: a step that is recorded once, and a state of its thread. */
import { Effect, Option, Schema } from "effect"
import { Agent } from "../heddle.ts"

const Order = Schema.Struct({ sku: Schema.String, quantity: Schema.Int })
const Placed = Schema.Struct({ reservation: Schema.String, ordersSoFar: Schema.Int })

// Your call to the stock goes here.
const reserve = ({ quantity, sku }: typeof Order.Type) => Effect.succeed(`${quantity} × ${sku}`)

export const PlaceOrder = Agent.make("place-order", {
  input: Order,
  output: Placed,
  state: Schema.Int,
})

export const PlaceOrderLive = PlaceOrder.handler(
  Effect.fn("PlaceOrder")(function* (order, run) {
    const reservation = yield* run.step("reserve", Schema.String, reserve(order))
    yield* run.progress("reserved", { reservation })
    const ordersSoFar = yield* run.state.update("count", (n) => Option.getOrElse(n, () => 0) + 1)
    return { reservation, ordersSoFar }
  }),
)
