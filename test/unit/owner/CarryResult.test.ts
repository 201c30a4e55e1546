/** What a failure means for the entry that was to be delivered. */
import { describe, expect, it } from "vitest"
import {
  AdmissionLimitExceeded,
  AgentNotRegistered,
  IdempotencyConflict,
  IdentityMismatch,
  InternalDefect,
  InvalidInput,
  OperationDenied,
  StorageFull,
  StorageUnavailable,
  ThreadForgotten,
  ThreadUnreadable,
  Unavailable,
} from "../../../contracts/Errors.ts"
import { AgentId, IdempotencyKey, OwnerId } from "../../../contracts/Identifiers.ts"
import { NoAnswer } from "../../../owner-object/Call.ts"
import { isSilence, resultOfFailure } from "../../../owner-object/CarryResult.ts"
import { abortOf, childOf, messageTo, noticeTo, submissionOf } from "./FakeOutbox.ts"
import { threadId } from "./lanes.ts"

const ownerId = OwnerId.make("p")
const message = messageTo({ ownerId, threadId: "t" }, "m")
const notice = noticeTo("t", "n")

const final = [
  new InvalidInput({ path: "input.amount", reason: "not a number" }),
  new ThreadForgotten({ threadId, forgottenAt: 7 }),
  new OperationDenied({ operation: "deliver" }),
  new IdempotencyConflict({
    idempotencyKey: IdempotencyKey.make("k"),
    submissionId: submissionOf(1),
  }),
]

const passing = [
  new AdmissionLimitExceeded({ limit: "queuedPerThread", actual: 257, maximum: 256 }),
  new StorageFull({ actualBytes: 2, maximumBytes: 1 }),
  new Unavailable({ retryable: false, overloaded: true, reason: "too much" }),
  new StorageUnavailable({ operation: "admit" }),
  new ThreadUnreadable({ threadId, what: "journal" }),
  new IdentityMismatch({ ownerId }),
  new InternalDefect({ reference: "r" }),
  new NoAnswer({ millis: 30_000 }),
  undefined,
]

describe("the result of an entry", () => {
  it.each(final)("that is refused for good ($_tag) is final", (failure) => {
    for (const entry of [message, childOf("t", "c"), abortOf("t", "c")])
      expect(resultOfFailure(entry, failure, { agreed: true })).toMatchObject({
        _tag: "Refused",
        tag: failure._tag,
      })
  })

  it("tells where an input is refused, and cuts what is too long to be told", () => {
    const [invalid] = final
    expect(resultOfFailure(message, invalid, { agreed: true })).toMatchObject({
      message: "the target refuses the input at input.amount: not a number",
    })
    const long = new InvalidInput({ path: "", reason: "x".repeat(1_024) })
    const result = resultOfFailure(message, long, { agreed: true })
    expect(result._tag === "Refused" && result.message.length).toBe(1_024)
  })

  it("that anything else has kept from being taken is delayed", () => {
    for (const failure of passing)
      expect(resultOfFailure(message, failure, { agreed: true })).toMatchObject({
        _tag: "Delayed",
      })
  })

  it("of a missing agent is final only where both sides know the same agents", () => {
    const missing = new AgentNotRegistered({ agent: AgentId.make("a") })
    expect(resultOfFailure(message, missing, { agreed: true })).toMatchObject({ _tag: "Refused" })
    expect(resultOfFailure(message, missing, { agreed: false })).toEqual({
      _tag: "Delayed",
      tag: "AgentNotRegistered",
    })
  })

  it("of a child's settlement is final only where its parent was forgotten", () => {
    const ends = [...final, ...passing].filter(
      (failure) => resultOfFailure(notice, failure, { agreed: true })._tag === "Refused",
    )
    expect(ends.map((failure) => failure?._tag)).toEqual(["ThreadForgotten"])
  })
})

describe("a failure", () => {
  it("is silence where the peer did not answer, and an answer where it has refused", () => {
    const silent = [...final, ...passing].filter(isSilence)
    expect(silent.map((failure) => failure?._tag)).toEqual([
      "Unavailable",
      "StorageUnavailable",
      "InternalDefect",
      "NoAnswer",
      undefined,
    ])
  })
})
