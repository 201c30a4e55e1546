/** What the compiler knows of the SDK. The assertions are made by `tsc`; running them only proves that they load. */
import { describe, expectTypeOf, it } from "vitest"
import {
  createHeddle,
  type Heddle,
  type HeddleStream,
  isHeddleError,
  type ObserveFrame,
  type OperationErrors,
  type Operations,
  type Outcome,
  type Receipt,
  type RecoveryFault,
  type Settlement,
  type SubmissionNotFound,
  type SubmitPayload,
  type Unrecognized,
  type WatchFrame,
} from "../../../client/sdk/index.ts"
import type { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import type { RpcGroup } from "effect/rpc"

const payload = { ownerId: "shop", threadId: "order-7", agent: "refund", input: { order: 7 } }

describe("the SDK's types", () => {
  it("name every operation of the contract, and no other", () => {
    type Tags = RpcGroup.Rpcs<typeof HeddleRpc>["_tag"]
    expectTypeOf<keyof Operations>().toEqualTypeOf<Tags>()
    expectTypeOf<keyof OperationErrors>().toEqualTypeOf<Tags>()
  })

  it("refuse a wrong payload", () => {
    expectTypeOf(payload).toExtend<SubmitPayload>()
    expectTypeOf<Omit<typeof payload, "agent">>().not.toExtend<SubmitPayload>()
    expectTypeOf<typeof payload & { notBefore: string }>().not.toExtend<SubmitPayload>()
    expectTypeOf<typeof payload & { delivery: "later" }>().not.toExtend<SubmitPayload>()
    expectTypeOf<{ input: Date }>().not.toExtend<Pick<SubmitPayload, "input">>()
    const use = (heddle: Heddle) => [
      // @ts-expect-error: an operation of the owner, without one
      heddle.maintenanceStatus({}),
      // @ts-expect-error: a misspelt field
      heddle.submit({ ...payload, idempotencykey: "key-1" }),
      // @ts-expect-error: no such resolution
      heddle.resolveUnknown({ resolution: { _tag: "Maybe" } }),
      // @ts-expect-error: a timeout is a signal, not a number
      heddle.status({ ownerId: "a", threadId: "b", submissionId: "c" }, { timeout: 1 }),
    ]
    expectTypeOf(use).toBeFunction()
    // @ts-expect-error: neither a binding nor a URL
    expectTypeOf(createHeddle).toBeCallableWith({ token: "t" })
  })

  it("tell what is answered", () => {
    expectTypeOf<Heddle["submit"]>().returns.resolves.toEqualTypeOf<Receipt>()
    expectTypeOf<Heddle["submitAndWait"]>().returns.resolves.toEqualTypeOf<Settlement>()
    expectTypeOf<Heddle["recoveryStatus"]>().returns.resolves.toEqualTypeOf<RecoveryFault | null>()
    expectTypeOf<Heddle["observe"]>().returns.toEqualTypeOf<HeddleStream<ObserveFrame>>()
  })

  it("know a stream's frames by their tags", () => {
    const read = async (heddle: Heddle) => {
      for await (const frame of heddle.observe({ ownerId: "shop", threadId: "order-7" })) {
        if (frame._tag === "Record") expectTypeOf(frame.record.sequence).toEqualTypeOf<number>()
        // @ts-expect-error: only a gap tells what was dropped
        if (frame._tag === "Record") expectTypeOf(frame.dropped).toBeNumber()
      }
    }
    expectTypeOf(read).toBeFunction()
  })

  it("are open for what a newer deployment adds", () => {
    const read = (frame: WatchFrame) => {
      switch (frame._tag) {
        case "Opened":
          return expectTypeOf(frame.faultedLanes).toEqualTypeOf<number>()
        case "Lane":
        case "Gap":
        case "Ended":
          return expectTypeOf(frame).not.toExtend<Unrecognized>()
        default:
          return expectTypeOf(frame).toEqualTypeOf<Unrecognized>()
      }
    }
    expectTypeOf(read).toBeFunction()
    expectTypeOf<"completed">().toExtend<Outcome>()
    expectTypeOf<string>().toExtend<Outcome>()
  })

  it("know an error's fields by its tag", () => {
    const read = (error: unknown) => {
      if (!isHeddleError(error)) return undefined
      // @ts-expect-error: not every error has one
      expectTypeOf(error.submissionId).toBeString()
      switch (error.tag) {
        case "SubmissionNotFound":
          expectTypeOf(error).toEqualTypeOf<SubmissionNotFound>()
          return error.submissionId
        case "AdmissionLimitExceeded":
          return expectTypeOf(error.maximum).toEqualTypeOf<number>()
        case "NotAwaiting":
          return expectTypeOf(error.name).toEqualTypeOf<string>()
        default:
          return expectTypeOf(error.remedy).toEqualTypeOf<string>()
      }
    }
    expectTypeOf(read).toBeFunction()
    expectTypeOf<SubmissionNotFound>().not.toExtend<OperationErrors["submit"]>()
    expectTypeOf<SubmissionNotFound>().toExtend<OperationErrors["abort"]>()
  })
})
