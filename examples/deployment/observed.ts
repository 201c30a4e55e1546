/** A deployment that tells a collector of its spans and metrics. */
import { Heddle, otlp } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

interface Env {
  readonly OTLP_KEY: string
}

const heddle = Heddle.make({
  agents: [PlaceOrderLive],
  observability: {
    otlp: otlp((env: Env) => ({
      url: "https://otlp.example.com", // without /v1/traces
      headers: { "x-api-key": env.OTLP_KEY },
      serviceName: "shop",
      sampleRatio: 0.1, // of the traces that begin here
    })),
  },
})

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}
export class Api extends heddle.Entrypoint {}

export default { fetch: heddle.fetch, scheduled: heddle.scheduled }
