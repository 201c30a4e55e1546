/**
 * The Worker that wrangler.toml deploys: the numbered examples, behind a service binding and HTTPS.
 * A Worker of your own looks like this one.
 */
import { Heddle } from "../heddle.ts"
import { PlaceOrderLive } from "./00-order.ts"
import { DigestLive } from "./01-digest.ts"
import { RefundLive } from "./02-approval.ts"
import { ConversationLive } from "./03-conversation.ts"
import { GiveBackLive, OrderLive, ReserveLineLive } from "./04-order-saga.ts"
import { StationLive } from "./05-mailbox.ts"
import { RemindLive } from "./06-reminder.ts"
import { PurchasedLive } from "./07-webhook.ts"
import { CheckoutLive } from "./08-checkout.ts"

const heddle = Heddle.make({
  agents: [
    PlaceOrderLive,
    DigestLive,
    RefundLive,
    ConversationLive,
    OrderLive,
    ReserveLineLive,
    GiveBackLive,
    StationLive,
    RemindLive,
    PurchasedLive,
    CheckoutLive,
  ],
})

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}
export class Api extends heddle.Entrypoint {}

export default { fetch: heddle.fetch, scheduled: heddle.scheduled }
