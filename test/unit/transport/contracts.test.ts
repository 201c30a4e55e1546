import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Rpc } from "effect/rpc"
import {
  inMemoryTarget,
  makeWireClient,
  makeWireServer,
} from "../../../contracts/transport/index.ts"
import {
  contractGroups,
  middlewareLayer,
  roundTripsOf,
  sampleHandlers,
} from "../../conformance/transport.ts"

for (const [name, group] of Object.entries(contractGroups)) {
  layer(Layer.merge(sampleHandlers(group), middlewareLayer))(`${name} in memory`, (it) => {
    for (const trip of roundTripsOf(name)) {
      it.effect(trip.title, () =>
        Effect.gen(function* () {
          const server = yield* makeWireServer(group)
          const target = inMemoryTarget(server)
          const client = yield* makeWireClient<Rpc.Any>(group, { target: () => target })
          yield* trip.check(client, (got, said) => expect(got).toStrictEqual(said))
        }),
      )
    }
  })
}
