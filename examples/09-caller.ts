/** Another Worker: it has an order placed over its service binding, and answers with how it ended. */
import { Effect } from "effect"
import {
  AgentId,
  HeddleClient,
  IdempotencyKey,
  type NativeStub,
  OwnerId,
  ThreadId,
} from "../client/index.ts"

const placeOrder = Effect.fn("placeOrder")(function* (orderId: string) {
  const heddle = yield* HeddleClient
  return yield* heddle.submitAndWait({
    ownerId: OwnerId.make("shop-7"),
    threadId: ThreadId.make("customer-12"),
    agent: AgentId.make("place-order"),
    input: { sku: "warp", quantity: 2 },
    idempotencyKey: IdempotencyKey.make(`order-${orderId}`), // a retry with it gets the same receipt
  })
})

export default {
  fetch: (request: Request, env: { readonly HEDDLE: NativeStub }): Promise<Response> =>
    placeOrder(new URL(request.url).pathname.slice(1)).pipe(
      Effect.map((settlement) => Response.json(settlement)),
      Effect.provide(HeddleClient.layerServiceBinding(env.HEDDLE)),
      Effect.runPromise,
    ),
}
