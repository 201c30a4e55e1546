/**
 * A payment that a provider tells about by a webhook: the run gives it a token, and waits. Whoever has the token may
 * give that one wait its one value, `POST /callback/TOKEN`, without any other credentials.
 */
import { Effect, Result, Schema } from "effect"
import { Agent, callbackPath } from "../heddle.ts"

const Purchase = Schema.Struct({ order: Schema.String, cents: Schema.Int })

/** What the provider posts. */
const Notice = Schema.Struct({
  status: Schema.Literals(["paid", "declined"]),
  transaction: Schema.String,
})

class NotPaid extends Schema.TaggedError<NotPaid>()("NotPaid", { because: Schema.String }) {}

/** Your provider goes here: it keeps where to post the outcome, and gives a page that anybody may see. */
export const provider = {
  notify: new Map<string, string>(),
  askForPayment: (order: string, cents: number, path: string): Effect.Effect<string> =>
    Effect.sync(() => {
      provider.notify.set(order, path)
      return `https://pay.example/${order}?cents=${cents}`
    }),
}

export const Purchased = Agent.make("purchase", { input: Purchase, output: Notice, error: NotPaid })

export const PurchasedLive = Purchased.handler(
  Effect.fn("Purchased")(function* ({ cents, order }, run) {
    const token = yield* run.callback("payment")
    const page = yield* run.step(
      "ask",
      Schema.String,
      provider.askForPayment(order, cents, callbackPath(token)),
    ) // the page is on record, and the token is not in it
    yield* run.progress("payment-page", { page })
    const notice = yield* Effect.result(run.waitFor("payment", Notice, { timeout: "3 days" }))
    if (Result.isFailure(notice)) return yield* new NotPaid({ because: notice.failure._tag })
    if (notice.success.status === "declined") return yield* new NotPaid({ because: "declined" })
    return notice.success
  }),
)
