/** Threads that talk, as the guide shows them: messages, also across owners, and children. */
import { Effect, Option, Result, Schema } from "effect"
import { OwnerId, ThreadId } from "../../contracts/index.ts"
import type { AcceptMessages } from "../../owner-object/AcceptMessages.ts"
import * as Agent from "../../thread-actors/Agent.ts"

const Sold = Schema.Struct({ order: Schema.String, cents: Schema.Int })

/** A thread that adds up what others tell it. */
export const Booking = Agent.make("booking", {
  input: Sold,
  output: Schema.Struct({ total: Schema.Int }),
  state: Schema.Int,
})

export const BookingLive = Booking.handler(
  Effect.fn("Booking")(function* ({ cents }, run) {
    const total = yield* run.state.update("add", (sum) => Option.getOrElse(sum, () => 0) + cents)
    return { total }
  }),
)

export const Sale = Agent.make("sale", { input: Sold, output: Schema.String })

// Your warehouse goes here.
const pack = (order: string): Effect.Effect<string> => Effect.succeed(`packed ${order}`)

export const SaleLive = Sale.handler(
  Effect.fn("Sale")(function* (sold, run) {
    yield* run.send("book", {
      threadId: ThreadId.make("books"),
      agent: Booking,
      input: sold,
      title: `Order ${sold.order}`,
    })
    yield* run.send("report", {
      ownerId: OwnerId.make("head-office"),
      threadId: ThreadId.make(`shop-${run.info.ownerId}`),
      agent: Booking,
      input: sold,
    })
    return yield* run.step("pack", Schema.String, pack(sold.order))
  }),
)

/** The head office takes bookings of every shop, each into the shop's own thread; nobody else takes anything. */
export const acceptMessages: AcceptMessages = ({ agent, from, ownerId, threadId }) =>
  ownerId === "head-office" && agent === "booking" && threadId === `shop-${from.ownerId}`

const Wish = Schema.Struct({ sku: Schema.String, quantity: Schema.Int })

class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { sku: Schema.String }) {}

export const Offer = Agent.make("offer", {
  input: Wish,
  output: Schema.Struct({ cents: Schema.Int }),
  error: SoldOut,
})

/** The seller takes a day for its answer, and has no more than a hundred of anything. */
export const OfferLive = Offer.handler(
  Effect.fn("Offer")(function* ({ quantity, sku }, run) {
    yield* run.sleep("think", "1 day")
    if (quantity > 100) return yield* new SoldOut({ sku })
    return { cents: quantity * 250 }
  }),
)

export const Purchase = Agent.make("buy", { input: Wish, output: Schema.String })

export const PurchaseLive = Purchase.handler(
  Effect.fn("Purchase")(function* (wish, run) {
    const offered = yield* Effect.result(run.child("offer", Offer, wish, { title: wish.sku }))
    if (Result.isSuccess(offered)) return `bought for ${offered.success.cents}`
    switch (offered.failure._tag) {
      case "ChildFailed": // it failed, was aborted, or could not be admitted
        return `no offer: ${offered.failure.tag}`
      case "ChildLimitExceeded": // this run has, or nests, too many
        return `no more than ${offered.failure.maximum} (${offered.failure.limit})`
    }
  }),
)

export const Haste = Agent.make("haste", { input: Wish, output: Schema.String })

export const HasteLive = Haste.handler(
  Effect.fn("Haste")(function* (wish, run) {
    const first = yield* run.race("in-time", {
      offered: Effect.result(run.child("offer", Offer, wish)),
      late: run.sleep("deadline", "1 hour"),
    })
    if (first.branch === "late") return "went elsewhere"
    return Result.isSuccess(first.value) ? `bought for ${first.value.success.cents}` : "no offer"
  }),
)

export const Errand = Agent.make("errand", { input: Wish, output: ThreadId })

export const ErrandLive = Errand.handler(
  Effect.fn("Errand")(function* (wish, run) {
    const { threadId } = yield* Effect.orDie(run.child("offer", Offer, wish, { detached: true }))
    return threadId
  }),
)
