/**
 * An order over several stocks: each line is reserved by a child of its own, all at once. If one cannot be, what the
 * others have reserved is given back, and the order fails in its own words.
 */
import { Effect, Result, Schema } from "effect"
import { Agent } from "../heddle.ts"

const Line = Schema.Struct({ sku: Schema.String, quantity: Schema.Int })
type Line = typeof Line.Type
const Reservation = Schema.Struct({ sku: Schema.String, reservation: Schema.String })

class OutOfStock extends Schema.TaggedError<OutOfStock>()("OutOfStock", { sku: Schema.String }) {}

// Your stock goes here: it gives the same reservation again for the same key.
const reserve = (line: Line, key: string) =>
  line.quantity > 100
    ? Effect.fail(new OutOfStock({ sku: line.sku }))
    : Effect.succeed({ sku: line.sku, reservation: `${line.sku}-${key}` })
const giveBack = (_reservation: string): Effect.Effect<void> => Effect.void

/** Reserves one line, in a thread of its own: lines do not wait for one another. */
export const ReserveLine = Agent.make("reserve-line", {
  input: Line,
  output: Reservation,
  error: OutOfStock,
})
export const ReserveLineLive = ReserveLine.handler(
  Effect.fn("ReserveLine")(function* (line, run) {
    return yield* run.step("reserve", Reservation, reserve(line, run.info.submissionId), {
      error: OutOfStock,
    })
  }),
)

/** Gives a reservation back. */
export const GiveBack = Agent.make("give-back", { input: Reservation, output: Schema.String })
export const GiveBackLive = GiveBack.handler(
  Effect.fn("GiveBack")(function* ({ reservation }, run) {
    yield* run.step("give-back", Schema.Undefined, Effect.asVoid(giveBack(reservation)))
    return reservation
  }),
)

class NotReserved extends Schema.TaggedError<NotReserved>()("NotReserved", {
  skus: Schema.Array(Schema.String),
  /** What was given back again. */
  givenBack: Schema.Array(Schema.String),
}) {}

export const Order = Agent.make("order-saga", {
  input: Schema.Struct({ lines: Schema.Array(Line) }),
  output: Schema.Struct({ reservations: Schema.Array(Schema.String) }),
  error: NotReserved,
})

export const OrderLive = Order.handler(
  Effect.fn("Order")(function* ({ lines }, run) {
    const tried = yield* Effect.all(
      lines.map((line, index) =>
        Effect.result(run.child(`reserve-${index}`, ReserveLine, line, { title: line.sku })),
      ),
      { concurrency: "unbounded" },
    )
    const reserved = tried.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
    if (reserved.length === lines.length)
      return { reservations: reserved.map(({ reservation }) => reservation) }

    const givenBack = yield* Effect.all(
      tried.flatMap((one, index) =>
        Result.isSuccess(one) ? [run.child(`give-back-${index}`, GiveBack, one.success)] : [],
      ),
      { concurrency: "unbounded" },
    )
    const skus = lines.flatMap(({ sku }, index) => {
      const one = tried[index]
      return one !== undefined && Result.isFailure(one) ? [sku] : []
    })
    return yield* new NotReserved({ skus, givenBack })
  }),
)
