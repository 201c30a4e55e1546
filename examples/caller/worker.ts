/** A Worker that calls Heddle over its service binding, once with Effect and once without. */
import { Stream } from "effect"
import { HeddleClient, type NativeStub } from "../../client/index.ts"
import { answerOf } from "./shown.ts"
import { withEffect } from "./withEffect.ts"
import { withSdk } from "./withSdk.ts"

interface Environment {
  readonly HEDDLE: NativeStub
}

export default {
  fetch: (request: Request, { HEDDLE }: Environment): Response => {
    switch (new URL(request.url).pathname) {
      case "/effect": {
        // The binding is the request's, and so is the client.
        const layer = HeddleClient.layerServiceBinding(HEDDLE)
        return answerOf(Stream.toAsyncIterable(Stream.provide(withEffect, layer)))
      }
      case "/sdk":
        return answerOf(withSdk(HEDDLE))
      default:
        return new Response("/effect or /sdk", { status: 404 })
    }
  },
}
