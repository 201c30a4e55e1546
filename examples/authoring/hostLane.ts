/** Work of a tenant that is no thread, as the guide shows it. */
import { Context, Effect, Layer } from "effect"
import { Heddle, type HostLane } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

/** Your mailbox goes here. */
class Mailbox extends Context.Service<
  Mailbox,
  {
    readonly importSome: (ownerId: string) => Effect.Effect<void>
    /** When there is something to import; undefined for nothing. */
    readonly nextAt: (ownerId: string) => Effect.Effect<number | undefined>
  }
>()("guide/Mailbox") {}

const agents = [PlaceOrderLive]
const services = Layer.succeed(Mailbox, {
  importSome: () => Effect.void,
  nextAt: () => Effect.undefined,
})

const imports: HostLane<Mailbox> = {
  name: "imports",
  allowanceMillis: 30_000,
  run: ({ ownerId }) => Effect.flatMap(Mailbox, (mailbox) => mailbox.importSome(ownerId)),
  nextDeadline: ({ ownerId }) => Effect.flatMap(Mailbox, (mailbox) => mailbox.nextAt(ownerId)),
}

export const heddle = Heddle.make({ agents, hostLanes: [imports], services })
