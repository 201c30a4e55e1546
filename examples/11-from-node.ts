/** A program outside of Workers: it has orders placed over HTTPS, and looks at them, with the SDK and with Effect. */
import { Effect, Stream } from "effect"
import { AgentId, HeddleClient, IdempotencyKey, OwnerId, ThreadId } from "../client/index.ts"
import { createHeddle } from "../client/sdk/index.ts"

/** Of the deployment, and where its tokens come from. */
interface Deployment {
  readonly url: string
  readonly token: () => Promise<string>
}

/** Has orders placed that a file or a queue has, each once however often this is run. */
export const placeOrders = async (
  deployment: Deployment,
  orders: ReadonlyArray<{ readonly id: string; readonly sku: string; readonly quantity: number }>,
) => {
  const heddle = createHeddle(deployment)
  const { outcomes } = await heddle.submitMany({
    ownerId: "shop-7",
    submissions: orders.map(({ id, sku, quantity }) => ({
      threadId: "customer-12",
      agent: "place-order",
      input: { sku, quantity },
      idempotencyKey: `order-${id}`,
    })),
  })
  return Promise.all(
    outcomes.map(async (outcome) => {
      if (outcome._tag === "Refused") return outcome.error._tag
      // As long as it takes, over restarts of the deployment, but no longer than a minute.
      const signal = AbortSignal.timeout(60_000)
      const settlement = await heddle.awaitSettled(outcome.receipt, { signal })
      return settlement.outcome
    }),
  )
}

/** Places one order, and tells what its thread wrote until it had settled. */
export const followOrder = (deployment: Deployment, id: string) =>
  Effect.gen(function* () {
    const heddle = yield* HeddleClient
    const place = { ownerId: OwnerId.make("shop-7"), threadId: ThreadId.make("customer-12") }
    const { submissionId } = yield* heddle.submit({
      ...place,
      agent: AgentId.make("place-order"),
      input: { sku: "weft", quantity: 1 },
      idempotencyKey: IdempotencyKey.make(`order-${id}`),
    })
    return yield* heddle.observe(place).pipe(
      Stream.filter((frame) => frame._tag === "Record"),
      Stream.map(({ record }) => record),
      Stream.filter((record) => record.submissionId === submissionId),
      Stream.takeUntil(({ kind }) => kind === "Settled"),
      Stream.map(({ kind }) => kind),
      Stream.runCollect,
    )
  }).pipe(
    // What cannot be reached is an error of the types, and so is what may not be done.
    Effect.catchTag(["Unavailable", "OperationDenied"], ({ _tag }) => Effect.succeed([_tag])),
    Effect.provide(HeddleClient.layerHttp(deployment)),
  )
