/** The half with Effect: typed errors in the types of the calls, streams as `Stream`. */
import { Effect, Stream } from "effect"
import { AgentId, HeddleClient, IdempotencyKey, OwnerId, ThreadId } from "../../client/index.ts"
import { type Shown, shown } from "./shown.ts"

const ownerId = OwnerId.make("shop-7")
const agent = AgentId.make("place-order")
const order = (quantity: number) => ({ sku: "warp", quantity })
const threadOf = (name: string) => ThreadId.make(`effect-${name}`)
const keyOf = (name: string) => IdempotencyKey.make(`effect-${name}`)

const settled = Effect.gen(function* () {
  const heddle = yield* HeddleClient
  const { outcome, output } = yield* heddle.submitAndWait({
    ownerId,
    threadId: threadOf("settled"),
    agent,
    input: order(2),
  })
  return shown("an order, and its settlement", output, outcome === "completed")
})

/** The records of a thread while they are written: the order is placed once the stream is open. */
const live = Effect.gen(function* () {
  const heddle = yield* HeddleClient
  const place = { ownerId, threadId: threadOf("live") }
  // The stream opens again by itself after a lost connection, and the key keeps it one order.
  const submit = heddle.submit({ ...place, agent, input: order(3), idempotencyKey: keyOf("live") })
  return heddle.observe(place).pipe(
    Stream.tap((frame) => (frame._tag === "Opened" ? submit : Effect.void)),
    Stream.filter((frame) => frame._tag === "Record"),
    Stream.takeUntil(({ record }) => record.kind === "Settled"),
    Stream.map(({ record }) => shown("a thread, live", record.kind, true)),
  )
}).pipe(Stream.unwrap)

const conflict = Effect.gen(function* () {
  const heddle = yield* HeddleClient
  const place = { ownerId, threadId: threadOf("conflict"), agent, idempotencyKey: keyOf("once") }
  const { submissionId } = yield* heddle.submit({ ...place, input: order(1) })
  return yield* heddle.submit({ ...place, input: order(2) }).pipe(
    Effect.as(["a receipt", false] as const),
    // The compiler knows what submit can fail with, and the fields of each.
    Effect.catchTag("IdempotencyConflict", (error) =>
      Effect.succeed([error._tag, error.submissionId === submissionId] as const),
    ),
    Effect.map(([saw, isRight]) => shown("one key for two orders", saw, isRight)),
  )
})

const denied = Effect.gen(function* () {
  const heddle = yield* HeddleClient
  const place = { ownerId: OwnerId.make("bank-1"), threadId: threadOf("denied") }
  return yield* heddle.submit({ ...place, agent, input: order(1) }).pipe(
    Effect.as(["a receipt", false] as const),
    Effect.catchTag("OperationDenied", ({ _tag, operation }) =>
      Effect.succeed([`${_tag}: ${operation}`, true] as const),
    ),
    Effect.map(([saw, isRight]) => shown("an owner that is not its own", saw, isRight)),
  )
})

const many = Effect.gen(function* () {
  const heddle = yield* HeddleClient
  const submissions = Array.from({ length: 20 }, (_, nth) => ({
    threadId: threadOf(`many-${nth % 5}`),
    agent: nth === 7 ? AgentId.make("place-odrer") : agent,
    input: order(nth + 1),
  }))
  const { outcomes } = yield* heddle.submitMany({ ownerId, submissions })
  const receipts = outcomes.flatMap((one) => (one._tag === "Accepted" ? [one.receipt] : []))
  const refused = outcomes.flatMap((one) => (one._tag === "Refused" ? [one.error._tag] : []))
  const settlements = yield* Effect.forEach(receipts, heddle.awaitSettled, { concurrency: 5 })
  const completed = settlements.filter(({ outcome }) => outcome === "completed").length
  const saw = `${completed} completed, refused: ${refused.join(", ")}`
  return shown("20 orders in one call", saw, completed === 19 && refused.length === 1)
})

/** All that this half shows. */
export const withEffect: Stream.Stream<Shown, unknown, HeddleClient> = Stream.fromEffect(
  settled,
).pipe(
  Stream.concat(live),
  Stream.concat(Stream.fromEffect(conflict)),
  Stream.concat(Stream.fromEffect(denied)),
  Stream.concat(Stream.fromEffect(many)),
)
