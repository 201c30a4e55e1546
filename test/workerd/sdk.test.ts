/** The SDK inside workerd, over a service binding to a real deployment. */
import { env, exports } from "cloudflare:workers"
import { describe, expect, it } from "vitest"
import { createHeddle, type HeddleBinding } from "../../client/sdk/index.ts"
import {
  followsOneThread,
  leavesBySignal,
  refusalOf,
  refusals,
  type SdkWorld,
  seesWhatIsWritten,
  submitsMany,
} from "../conformance/sdk.ts"
import { grants } from "../unit/client/fakes.ts"
import { binding } from "./loom.ts"

const openWorld = (): SdkWorld => ({
  heddle: createHeddle({ binding: binding(["plain.*"]) }),
  ownerId: `plain.sdk.${crypto.randomUUID().slice(0, 8)}`,
  noop: "noop",
  slow: { agent: "hang", input: null },
})

interface LoopbackEntrypoint {
  (options: { readonly props: unknown }): HeddleBinding
}

/** An edge whose objects only count. */
const countingEdge = (): HeddleBinding =>
  (exports as unknown as { readonly EdgeApi: LoopbackEntrypoint }).EdgeApi({ props: grants() })

describe("the SDK over a service binding", () => {
  it("submits, waits, reads and observes, and goes on after it broke off", () =>
    followsOneThread(openWorld()))

  it("sees what is written while it observes", () => seesWhatIsWritten(openWorld()))

  it("submits many at once, each answered for itself", () => submitsMany(openWorld()))

  it("leaves a wait and a stream by a signal, and what it has begun goes on", () =>
    leavesBySignal(openWorld()))

  it("frees the thread when it breaks off, and when its signal ends the stream", async () => {
    const place = { ownerId: `shop-${crypto.randomUUID().slice(0, 8)}`, threadId: "order-7" }
    const thread = env.EDGE_THREAD.getByName(`${place.ownerId}/${place.threadId}`)
    const heddle = createHeddle({ binding: countingEdge() })
    for await (const frame of heddle.observe(place)) {
      expect(frame).toMatchObject({ _tag: "Opened" })
      expect((await thread.seen()).active).toBe(1)
      break
    }
    await thread.idle()
    const controller = new AbortController()
    const frames = heddle.observe(place, { signal: controller.signal })
    await frames.next()
    const waiting = frames.next()
    controller.abort()
    await expect(waiting).rejects.toBe(controller.signal.reason)
    await thread.idle()
  })

  it("gives each refusal as its class", async () => {
    for (const [tag, call] of Object.entries(refusals(openWorld()))) {
      expect(await refusalOf(call())).toMatchObject({ tag })
    }
  })
})
