/** The half without Effect: promises, async iterators, and errors that are thrown. */
import { createHeddle, type HeddleBinding, isHeddleError } from "../../client/sdk/index.ts"
import { type Shown, shown } from "./shown.ts"

type Client = ReturnType<typeof createHeddle>

const ownerId = "shop-7"
const agent = "place-order"
const order = (quantity: number) => ({ sku: "warp", quantity })

const settled = async (heddle: Client): Promise<Shown> => {
  const { outcome, output } = await heddle.submitAndWait({
    ownerId,
    threadId: "sdk-settled",
    agent,
    input: order(2),
  })
  return shown("an order, and its settlement", output, outcome === "completed")
}

/** The records of a thread while they are written: the order is placed once the stream is open. */
async function* live(heddle: Client): AsyncGenerator<Shown, void> {
  const place = { ownerId, threadId: "sdk-live" }
  for await (const frame of heddle.observe(place)) {
    if (frame._tag === "Opened") {
      await heddle.submit({ ...place, agent, input: order(3), idempotencyKey: "sdk-live" })
    }
    if (frame._tag !== "Record") continue
    yield shown("a thread, live", frame.record.kind, true)
    if (frame.record.kind === "Settled") return
  }
}

const conflict = async (heddle: Client): Promise<Shown> => {
  const tried = "one key for two orders"
  const place = { ownerId, threadId: "sdk-conflict", agent, idempotencyKey: "sdk-once" }
  const { submissionId } = await heddle.submit({ ...place, input: order(1) })
  try {
    await heddle.submit({ ...place, input: order(2) })
    return shown(tried, "a receipt", false)
  } catch (error) {
    // The tag says which error it is, and the compiler then knows its fields.
    if (!isHeddleError(error) || error.tag !== "IdempotencyConflict") throw error
    return shown(tried, error.tag, error.submissionId === submissionId)
  }
}

const denied = async (heddle: Client): Promise<Shown> => {
  const tried = "an owner that is not its own"
  try {
    await heddle.submit({ ownerId: "bank-1", threadId: "sdk-denied", agent, input: order(1) })
    return shown(tried, "a receipt", false)
  } catch (error) {
    if (!isHeddleError(error) || error.tag !== "OperationDenied") throw error
    return shown(tried, `${error.tag}: ${error.operation}`, true)
  }
}

const many = async (heddle: Client): Promise<Shown> => {
  const submissions = Array.from({ length: 20 }, (_, nth) => ({
    threadId: `sdk-many-${nth % 5}`,
    agent: nth === 7 ? "place-odrer" : agent,
    input: order(nth + 1),
  }))
  const { outcomes } = await heddle.submitMany({ ownerId, submissions })
  const receipts = outcomes.flatMap((one) => (one._tag === "Accepted" ? [one.receipt] : []))
  const refused = outcomes.flatMap((one) => (one._tag === "Refused" ? [one.error._tag] : []))
  const settlements = await Promise.all(receipts.map((receipt) => heddle.awaitSettled(receipt)))
  const completed = settlements.filter(({ outcome }) => outcome === "completed").length
  const saw = `${completed} completed, refused: ${refused.join(", ")}`
  return shown("20 orders in one call", saw, completed === 19 && refused.length === 1)
}

/** All that this half shows. */
export async function* withSdk(binding: HeddleBinding): AsyncGenerator<Shown, void> {
  const heddle = createHeddle({ binding })
  yield await settled(heddle)
  yield* live(heddle)
  yield await conflict(heddle)
  yield await denied(heddle)
  yield await many(heddle)
}
