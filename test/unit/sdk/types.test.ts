/** What the compiler knows of the SDK. The assertions are made by `tsc`; running them only proves that they load. */
import { describe, expectTypeOf, it } from "vitest"
import {
  createHeddle,
  type Heddle,
  type HeddleBinding,
  type HeddleStream,
  isHeddleError,
  type ObserveFrame,
  type OperationErrors,
  type Operations,
  type Outcome,
  type Receipt,
  type RecoveryFault,
  type Schedule,
  type SearchPage,
  type Settlement,
  type SignalReply,
  type SubmissionNotFound,
  type SubmitPayload,
  type Unrecognized,
  type WatchFrame,
} from "../../../client/sdk/index.ts"
import type { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import type { Schema } from "effect"
import type { Rpc, RpcGroup, RpcSchema } from "effect/rpc"
import type { EntrypointClass } from "../../../client/Entrypoint.ts"

const run = { ownerId: "shop", threadId: "order-7", submissionId: "s" }
const payload = { ownerId: "shop", threadId: "order-7", agent: "refund", input: { order: 7 } }

/** One operation of the contract. */
type Contract<Name extends keyof Operations> = Extract<
  RpcGroup.Rpcs<typeof HeddleRpc>,
  { readonly _tag: Name }
>

/** Its answer as it crosses; one value of a stream. */
type Sent<R> =
  R extends Rpc.Rpc<infer _T, infer _P, infer S, infer _E, infer _M, infer _Q>
    ? S extends RpcSchema.Stream<infer A, infer _F>
      ? A["Encoded"]
      : S["Encoded"]
    : never

/** Its payload as it crosses. */
type Taken<R> =
  R extends Rpc.Rpc<infer _T, infer P extends Schema.Top, infer _S, infer _E, infer _M, infer _Q>
    ? P["Encoded"]
    : never

/** Its answer in the SDK. */
type Told<Name extends keyof Operations> =
  ReturnType<Operations[Name]> extends HeddleStream<infer Value>
    ? Value
    : Awaited<ReturnType<Operations[Name]>>

/** The operations of which something is not assignable. */
type Wrong<Checks extends { readonly [Name in keyof Operations]: boolean }> = {
  readonly [Name in keyof Operations]: Checks[Name] extends true ? never : Name
}[keyof Operations]

describe("the SDK's types", () => {
  it("are those of what crosses", () => {
    type Answers = {
      [Name in keyof Operations]: Sent<Contract<Name>> extends Told<Name> ? true : false
    }
    type Back = {
      [Name in keyof Operations]: Told<Name> extends Sent<Contract<Name>> ? true : false
    }
    type Payloads = {
      [Name in keyof Operations]: Taken<Contract<Name>> extends Parameters<Operations[Name]>[0]
        ? true
        : false
    }
    // Of a watch any tag may cross: the SDK reads an unknown one as `Unrecognized`.
    expectTypeOf<Wrong<Answers>>().toEqualTypeOf<"watch">()
    expectTypeOf<Wrong<Back>>().toEqualTypeOf<never>()
    expectTypeOf<Wrong<Payloads>>().toEqualTypeOf<never>()
  })

  it("take the binding that wrangler types as one", () => {
    expectTypeOf<Service<InstanceType<EntrypointClass>>>().toExtend<HeddleBinding>()
  })

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
      // @ts-expect-error: a decision says which way
      heddle.resolveApproval({ ...run, name: "refund", author: "ann", reason: "small" }),
      // @ts-expect-error: what is signalled is JSON
      heddle.signal({ ...run, name: "carrier", payload: new Date() }),
      // @ts-expect-error: no such state of a thread
      heddle.listThreads({ ownerId: "shop", state: "lost" }),
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
    expectTypeOf<Heddle["resolveApproval"]>().returns.resolves.toExtend<{ approved: boolean }>()
    expectTypeOf<Heddle["callback"]>().returns.resolves.toEqualTypeOf<SignalReply>()
    expectTypeOf<Heddle["schedule"]>().returns.resolves.toEqualTypeOf<Schedule>()
    expectTypeOf<Heddle["search"]>().returns.resolves.toEqualTypeOf<SearchPage>()
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
