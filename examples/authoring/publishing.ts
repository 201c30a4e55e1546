/** A deployment that publishes what its threads record, as the guide shows it. */
import { Heddle, queueSink, type QueueProducer } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

interface Env {
  readonly EVENTS: QueueProducer
}

export const heddle = Heddle.make({
  agents: [PlaceOrderLive],
  publication: { sink: queueSink((env: Env) => env.EVENTS) },
})
