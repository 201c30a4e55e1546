/** A caller without Effect: it has an order placed, follows its thread, and knows why it was refused. */
import { createHeddle, type HeddleOptions, isHeddleError } from "../client/sdk/index.ts"

export const placeOrder = async (options: HeddleOptions, orderId: string, signal: AbortSignal) => {
  const heddle = createHeddle(options)
  const place = { ownerId: "shop-7", threadId: "customer-12" }
  try {
    const receipt = await heddle.submit(
      {
        ...place,
        agent: "place-order",
        input: { sku: "warp", quantity: 2 },
        idempotencyKey: `order-${orderId}`, // a retry with it gets the same receipt
      },
      { signal },
    )
    for await (const frame of heddle.observe(place, { signal })) {
      if (frame._tag !== "Record" || frame.record.submissionId !== receipt.submissionId) continue
      if (frame.record.kind === "Settled") break
    }
    const { outcome, output, failure } = await heddle.awaitSettled(receipt, { signal })
    return outcome === "completed" ? { ordered: output } : { refused: failure?.tag ?? outcome }
  } catch (error) {
    if (!isHeddleError(error)) throw error
    switch (error.tag) {
      case "IdempotencyConflict":
        return { refused: `order ${orderId} was another one: ${error.submissionId}` }
      case "AdmissionLimitExceeded":
        return { refused: `${error.actual} where ${error.maximum} may be (${error.limit})` }
      default:
        return { refused: `${error.message} ${error.remedy}` }
    }
  }
}
