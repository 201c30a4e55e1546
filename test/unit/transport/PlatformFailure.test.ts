import { describe, expect, it } from "vitest"
import { Unavailable } from "../../../contracts/Errors.ts"
import { classify } from "../../../contracts/transport/index.ts"

const marked = (message: string, marks: object = {}) => Object.assign(new Error(message), marks)

interface Row {
  readonly message: string
  readonly marks?: object
  readonly retryable: boolean
  readonly overloaded?: true
  readonly reason: RegExp
}

const rows: ReadonlyArray<Row> = [
  {
    message: "Durable Object reset because its code was updated.",
    marks: { retryable: true, durableObjectReset: true },
    retryable: true,
    reason: /updated to new code/,
  },
  {
    message: "Durable Object reset because its code was updated.",
    retryable: true,
    reason: /updated to new code/,
  },
  {
    message:
      "The Durable Object's code has been updated, this version can no longer access storage.",
    retryable: true,
    reason: /updated to new code/,
  },
  {
    message: "Cannot access storage because object has moved to a different machine",
    retryable: true,
    reason: /moved/,
  },
  { message: "Network connection lost.", retryable: true, reason: /connection/ },
  {
    message: "Network connection lost.",
    marks: { retryable: true, remote: true },
    retryable: true,
    reason: /connection/,
  },
  { message: "Connection lost", retryable: true, reason: /connection/ },
  { message: "Durable Object was reset.", retryable: true, reason: /reset/ },
  {
    message: "Application called abort() to reset Durable Object.",
    retryable: true,
    reason: /reset/,
  },
  {
    message: "internal error; reference = 0123456789abcdef",
    retryable: true,
    reason: /reset/,
  },
  {
    message: "Durable Object storage operation exceeded timeout which caused object to be reset.",
    retryable: true,
    reason: /storage did not answer/,
  },
  {
    message: "Durable Object's isolate exceeded its memory limit and was reset.",
    retryable: true,
    reason: /memory/,
  },
  {
    message: "Durable Object exceeded its CPU time limit and was reset.",
    retryable: true,
    reason: /processor time/,
  },
  {
    message: "Durable Object is overloaded. Requests queued for too long.",
    marks: { overloaded: true, retryable: true },
    retryable: false,
    overloaded: true,
    reason: /overloaded/,
  },
  {
    message: "Durable Object is overloaded. Too many requests queued.",
    retryable: false,
    overloaded: true,
    reason: /overloaded/,
  },
  {
    message: "Durable Object is overloaded. Too many requests for the same object.",
    marks: { retryable: true },
    retryable: false,
    overloaded: true,
    reason: /overloaded/,
  },
  { message: "Too many subrequests.", retryable: false, reason: /subrequests/ },
  {
    message: 'The RPC receiver does not implement the method "call".',
    retryable: false,
    reason: /does not serve this method/,
  },
  {
    message:
      'Could not serialize object of type "Thing". This type does not support serialization.',
    retryable: false,
    reason: /cannot be carried/,
  },
  {
    message: "#<Object> could not be cloned.",
    retryable: false,
    reason: /cannot be carried/,
  },
  // Thrown here, before anything is sent.
  {
    message: "Maximum call stack size exceeded",
    marks: { name: "RangeError" },
    retryable: false,
    reason: /cannot be carried/,
  },
  {
    message: "Symbol(x)",
    marks: { name: "DataCloneError" },
    retryable: false,
    reason: /cannot be carried/,
  },
  {
    message:
      "Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: 34603079 bytes.",
    retryable: false,
    reason: /cannot be carried/,
  },
  // Thrown there: the object failed, whatever of.
  {
    message: "Invalid array length",
    marks: { name: "RangeError", remote: true },
    retryable: true,
    reason: /without an answer/,
  },
  // `ctx.abort("deploying")` reaches the caller with its own text and no mark.
  { message: "deploying", retryable: true, reason: /without an answer/ },
  { message: "", retryable: true, reason: /without an answer/ },
  {
    message: "the target is closed",
    marks: { retryable: false },
    retryable: false,
    reason: /refused/,
  },
  { message: "anything", marks: { retryable: true }, retryable: true, reason: /went away/ },
  {
    message: "anything",
    marks: { overloaded: true },
    retryable: false,
    overloaded: true,
    reason: /overloaded/,
  },
]

describe("a rejected native call", () => {
  for (const { marks = {}, message, overloaded, reason, retryable } of rows) {
    it(`"${message}" ${JSON.stringify(marks)} is ${retryable ? "" : "not "}to be retried`, () => {
      const failure = classify(marked(message, marks))
      expect(failure).toBeInstanceOf(Unavailable)
      expect(failure.retryable).toBe(retryable)
      expect(failure.overloaded).toBe(overloaded ?? false)
      expect(failure.reason).toMatch(reason)
    })
  }

  it("never quotes the error", () => {
    for (const { marks, message } of rows) {
      const { reason } = classify(marked(`${message} sk_live_secret at vault.ts:12`, marks))
      expect(reason).not.toContain("secret")
      expect(reason).not.toContain("vault")
    }
  })

  it("has an answer whatever was thrown", () => {
    const throws = () => {
      throw new Error("trap")
    }
    const hostile: ReadonlyArray<unknown> = [
      undefined,
      null,
      0,
      "Network connection lost.",
      Symbol("s"),
      () => {},
      {},
      Object.create(null),
      { message: 7, retryable: "yes", overloaded: 1 },
      { message: { toString: throws } },
      Object.defineProperty({}, "message", { get: throws }),
      Object.defineProperties(new Error("x"), {
        retryable: { get: throws },
        overloaded: { get: throws },
      }),
      new Proxy({}, { get: throws, has: throws, getPrototypeOf: throws, ownKeys: throws }),
      Proxy.revocable({}, {}).proxy,
    ]
    for (const error of hostile) expect(classify(error)).toBeInstanceOf(Unavailable)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(classify(proxy)).toMatchObject({ retryable: true, overloaded: false })
    expect(classify("Network connection lost.").reason).toMatch(/connection/)
  })

  it("is read in bounded time from a message of any length", () => {
    expect(classify(marked("x".repeat(10_000_000))).retryable).toBe(true)
    expect(classify(marked("exceeded ".repeat(1_000_000))).retryable).toBe(true)
  })
})
