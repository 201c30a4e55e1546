/** The SDK inside workerd, over a service binding to a real deployment. */
import { describe, expect, it } from "vitest"
import { createHeddle } from "../../client/sdk/index.ts"
import {
  followsOneThread,
  leavesBySignal,
  refusalOf,
  refusals,
  type SdkWorld,
  seesWhatIsWritten,
} from "../conformance/sdk.ts"
import { binding } from "./loom.ts"

const openWorld = (): SdkWorld => ({
  heddle: createHeddle({ binding: binding(["plain.*"]) }),
  ownerId: `plain.sdk.${crypto.randomUUID().slice(0, 8)}`,
  noop: "noop",
  slow: { agent: "hang", input: null },
})

describe("the SDK over a service binding", () => {
  it("submits, waits, reads and observes, and goes on after it broke off", () =>
    followsOneThread(openWorld()))

  it("sees what is written while it observes", () => seesWhatIsWritten(openWorld()))

  it("leaves a wait and a stream by a signal, and what it has begun goes on", () =>
    leavesBySignal(openWorld()))

  it("gives each refusal as its class", async () => {
    for (const [tag, call] of Object.entries(refusals(openWorld()))) {
      expect(await refusalOf(call())).toMatchObject({ tag })
    }
  })
})
