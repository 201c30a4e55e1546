/**
 * Parcels that go from station to station: each station is a thread, and sends the parcel on as a message. A message is
 * taken once, and those from one station to another in their order, whatever crashes on the way.
 */
import { Effect, Option, Schema } from "effect"
import { Agent, ThreadId } from "../heddle.ts"

const Stamp = Schema.Struct({ station: Schema.String, number: Schema.Int })

const Parcel = Schema.Struct({
  parcel: Schema.String,
  /** The stations that are still to come, the next one first. */
  route: Schema.Array(ThreadId),
  stamps: Schema.Array(Stamp),
})

export const Station = Agent.make("station", {
  input: Parcel,
  output: Schema.Struct({ stamps: Schema.Array(Stamp), sentTo: Schema.optionalKey(ThreadId) }),
  /** How many parcels it has stamped. */
  state: Schema.Int,
})

export const StationLive = Station.handler(
  Effect.fn("Station")(function* ({ parcel, route, stamps }, run) {
    const number = yield* run.state.update("stamp", (count) => Option.getOrElse(count, () => 0) + 1)
    const stamped = [...stamps, { station: run.info.threadId, number }]
    const [next, ...rest] = route
    if (next === undefined) return { stamps: stamped }
    yield* run.send("send-on", {
      threadId: next,
      agent: Station,
      input: { parcel, route: rest, stamps: stamped },
      title: `Parcel ${parcel}`,
    })
    return { stamps: stamped, sentTo: next }
  }),
)
