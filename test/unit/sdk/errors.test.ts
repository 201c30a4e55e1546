import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  type AnyHeddleError,
  createHeddle,
  errorOf,
  HeddleError,
  isHeddleError,
} from "../../../client/sdk/index.ts"
import * as sdk from "../../../client/sdk/index.ts"
import * as contract from "../../../contracts/Errors.ts"
import { IdempotencyKey, SubmissionId } from "../../../contracts/Identifiers.ts"
import { ownerId, submissionId, threadId } from "../client/fakes.ts"
import { failed, fakeBinding } from "./fakeBinding.ts"

type KnownTag = Exclude<AnyHeddleError, sdk.UnrecognizedError>["tag"]

/** One of each, as the contracts make them; a new one is missed by the compiler. */
const examples: { readonly [Tag in KnownTag]: { readonly _tag: Tag } } = {
  AdmissionLimitExceeded: new contract.AdmissionLimitExceeded({
    limit: "queuedSubmissions",
    actual: 257,
    maximum: 256,
  }),
  AgentNotRegistered: new contract.AgentNotRegistered({ agent: "refund" as never }),
  IdempotencyConflict: new contract.IdempotencyConflict({
    idempotencyKey: IdempotencyKey.make("key-1"),
    submissionId,
  }),
  IdentityMismatch: new contract.IdentityMismatch({ ownerId, threadId }),
  InputPruned: new contract.InputPruned({ submissionId }),
  InternalDefect: new contract.InternalDefect({ reference: "0198" }),
  InvalidInput: new contract.InvalidInput({ path: "a.b[0]", reason: "Expected a string" }),
  JoinedToHost: new contract.JoinedToHost({
    submissionId,
    hostSubmissionId: SubmissionId.make("018f0000-0000-7000-8000-000000000002"),
  }),
  NotAwaiting: new contract.NotAwaiting({ submissionId, name: "approve the refund" }),
  NotSettled: new contract.NotSettled({ submissionId, state: "running" }),
  OperationDenied: new contract.OperationDenied({ operation: "submit" }),
  ResolutionConflict: new contract.ResolutionConflict({ first: "NeverHappened" }),
  SettlementConflict: new contract.SettlementConflict({ submissionId, outcome: "completed" }),
  StorageFull: new contract.StorageFull({ actualBytes: 10, maximumBytes: 9 }),
  StorageUnavailable: new contract.StorageUnavailable({ operation: "write" }),
  SubmissionNotFound: new contract.SubmissionNotFound({ submissionId }),
  ThreadForgotten: new contract.ThreadForgotten({ threadId, forgottenAt: 1_000 }),
  ThreadUnreadable: new contract.ThreadUnreadable({ threadId, what: "records" }),
  Unauthenticated: new contract.Unauthenticated({ reason: "The token has expired" }),
  Unavailable: new contract.Unavailable({ retryable: false, overloaded: true, reason: "Busy" }),
  WorkOwed: new contract.WorkOwed({ nonterminal: 3, outbox: 1 }),
}

const encode = (error: { readonly _tag: string }): Record<string, unknown> => {
  const { [error._tag as "WorkOwed"]: schema } = contract
  return Schema.encodeUnknownSync(Schema.toCodecJson(schema))(error) as never
}

describe("the SDK's errors", () => {
  it.each(Object.entries(examples))("%s has a class with its fields", async (tag, error) => {
    const sent = encode(error)
    const heddle = createHeddle(fakeBinding(() => failed(sent)))
    const caught: unknown = await heddle
      .readState({ ownerId, threadId })
      .catch((one: unknown) => one)
    const Class = sdk[tag as "WorkOwed"]
    expect(caught).toBeInstanceOf(Class)
    expect(caught).toBeInstanceOf(HeddleError)
    const { _tag, ...fields } = sent
    expect(caught).toMatchObject({ tag, ...fields })
    expect((caught as HeddleError).message).not.toBe("")
    expect((caught as HeddleError).remedy).not.toBe("")
  })

  it("can be made of what stands in a reply, and by hand", () => {
    expect(errorOf(encode(examples.WorkOwed))).toMatchObject({ tag: "WorkOwed", nonterminal: 3 })
    const made = new sdk.WorkOwed({ nonterminal: 1, outbox: 2 })
    expect(made).toMatchObject({ name: "WorkOwed", tag: "WorkOwed", nonterminal: 1, outbox: 2 })
    expect(isHeddleError(new Error("another"))).toBe(false)
    for (const nothing of [undefined, null, 7, "text", []]) {
      expect(errorOf(nothing)).toBeInstanceOf(sdk.UnrecognizedError)
    }
  })
})
