import { afterEach, describe, expect, it, vi } from "vitest"
import { createHeddle, HeddleError, isHeddleError } from "../../../client/sdk/index.ts"
import { receipt, settlement, submission } from "../client/fakes.ts"
import { failed, fakeBinding, gone, lost, never, ok } from "./fakeBinding.ts"

const { idempotencyKey: _, ...unkeyed } = submission
const submitted = {
  ownerId: receipt.ownerId,
  threadId: receipt.threadId,
  submissionId: receipt.submissionId,
}

const keyOf = ({ payload }: { readonly payload: unknown }) =>
  (payload as { readonly idempotencyKey: string }).idempotencyKey

afterEach(() => void vi.useRealTimers())

const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable("the call succeeded"),
    (error: unknown) => error,
  )

describe("a call", () => {
  it("sends its payload, and resolves to the answer", async () => {
    const fake = fakeBinding(() => ok(receipt))
    const heddle = createHeddle(fake)
    expect(await heddle.submit(submission)).toEqual(receipt)
    expect(fake.requests).toMatchObject([
      { _tag: "Request", tag: "submit", payload: submission, headers: [] },
    ])
  })

  it("is repeated when it got lost, with one key and ids of its own", async () => {
    const fake = fakeBinding(
      () => Promise.reject(lost()),
      () => failed(gone),
      () => {
        throw lost()
      },
      () => ok(receipt),
    )
    const heddle = createHeddle(fake)
    expect(await heddle.submit(unkeyed)).toEqual(receipt)
    expect(new Set(fake.requests.map(keyOf)).size).toBe(1)
    expect(new Set(fake.requests.map(({ id }) => id)).size).toBe(4)
    await heddle.submit(unkeyed)
    expect(keyOf(fake.requests[4] ?? { payload: {} })).not.toBe(
      keyOf(fake.requests[0] ?? { payload: {} }),
    )
  })

  it("is given up after four repetitions, with the last failure", async () => {
    const fake = fakeBinding(() => failed(gone))
    const error = await rejection(createHeddle(fake).status(submitted))
    expect(error).toMatchObject({ tag: "Unavailable", retryable: true, reason: "A fence" })
    expect(fake.requests).toHaveLength(5)
  })

  it("is not repeated when the other side is overloaded, nor when it would fail again", async () => {
    for (const answer of [
      { ...gone, overloaded: true },
      { ...gone, retryable: false },
      { _tag: "SubmissionNotFound", submissionId: receipt.submissionId },
    ]) {
      const fake = fakeBinding(() => failed(answer))
      expect(await rejection(createHeddle(fake).status(submitted))).toMatchObject({
        tag: answer._tag,
      })
      expect(fake.requests).toHaveLength(1)
    }
  })

  it("makes a key for each item of a batch, and keeps those that are given", async () => {
    const accepted = { _tag: "Accepted", receipt }
    const fake = fakeBinding(() => ok({ outcomes: [accepted, accepted, accepted] }))
    const { ownerId, ...item } = submission
    const { idempotencyKey: _key, ...unkeyedItem } = item
    await createHeddle(fake).submitMany({ ownerId, submissions: [unkeyedItem, item, unkeyedItem] })
    const [request] = fake.requests
    const { submissions } = (request?.payload ?? {}) as {
      submissions: ReadonlyArray<{ readonly idempotencyKey: string }>
    }
    const keys = submissions.map(({ idempotencyKey }) => idempotencyKey)
    expect(keys[1]).toBe("key-1")
    expect(new Set(keys).size).toBe(3)
    expect(keys.every((key) => key.length > 0)).toBe(true)
  })

  it("repeats of a batch what nobody could answer, with the same keys, and only that", async () => {
    const { ownerId, idempotencyKey: _key, ...item } = submission
    const accepted = { _tag: "Accepted", receipt }
    const refused = (error: object) => ({ _tag: "Refused", error })
    const full = refused({ ...gone, overloaded: true })
    const itemsOf = (nth: number) =>
      ((fake.requests[nth]?.payload ?? {}) as { readonly submissions: ReadonlyArray<object> })
        .submissions
    const fake = fakeBinding(
      () => ok({ outcomes: [refused(gone), accepted, full, refused(gone)] }),
      () => ok({ outcomes: [accepted, refused(gone)] }),
      () => failed({ ...gone, retryable: false }),
    )
    const submissions = [item, item, item, item]
    expect(await createHeddle(fake).submitMany({ ownerId, submissions })).toEqual({
      outcomes: [accepted, accepted, full, refused(gone)],
    })
    expect(itemsOf(1)).toEqual([itemsOf(0)[0], itemsOf(0)[3]])
    expect(itemsOf(2)).toEqual([itemsOf(0)[3]])
  })

  it("repeats a batch that gets lost as often as any other call", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const { ownerId, ...item } = submission
    const submissions = [item, item]
    const batch = { ownerId, submissions }
    const losing = fakeBinding(() => Promise.reject(lost()))
    const failing = rejection(createHeddle(losing).submitMany(batch))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await failing).toMatchObject({ tag: "Unavailable" })
    expect(losing.requests).toHaveLength(5)
    // Of an answered one the same count is left to what is open.
    const refused = { _tag: "Refused", error: gone }
    const halves = fakeBinding(
      () => ok({ outcomes: [{ _tag: "Accepted", receipt }, refused] }),
      () => Promise.reject(lost()),
    )
    const reply = createHeddle(halves).submitMany(batch)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await reply).toEqual({ outcomes: [{ _tag: "Accepted", receipt }, refused] })
    expect(halves.requests).toHaveLength(5)
  })

  it("fails typed where a batch is not answered one by one", async () => {
    const { ownerId, ...item } = submission
    const one = { _tag: "Accepted", receipt }
    for (const answer of [null, {}, { outcomes: null }, { outcomes: [one] }]) {
      const fake = fakeBinding(() => ok(answer))
      const submitting = createHeddle(fake).submitMany({ ownerId, submissions: [item, item] })
      expect(await rejection(submitting)).toMatchObject({ tag: "Unavailable", retryable: false })
      expect(fake.requests).toHaveLength(1)
    }
  })

  it("sends again of a batch what it sent, whatever the caller has made of the objects since", async () => {
    const { ownerId, idempotencyKey: _key, ...item } = submission
    const input = { order: "12" }
    const inputs: Array<unknown> = []
    const fake = fakeBinding(
      (request) => {
        inputs.push(structuredClone(request.payload))
        input.order = "another"
        return ok({ outcomes: [{ _tag: "Refused", error: gone }] })
      },
      (request) => {
        inputs.push(structuredClone(request.payload))
        return ok({ outcomes: [{ _tag: "Accepted", receipt }] })
      },
    )
    await createHeddle(fake).submitMany({ ownerId, submissions: [{ ...item, input }] })
    expect(inputs).toHaveLength(2)
    expect(inputs[1]).toEqual(inputs[0])
  })

  it("refuses a batch that is none as it refuses any other payload", async () => {
    const invalid = { _tag: "InvalidInput", path: "", reason: "Expected object" }
    const fake = fakeBinding(() => failed(invalid))
    const { submitMany } = createHeddle(fake)
    const hostile = {
      get threadId() {
        throw new Error("looked")
      },
    }
    const { ownerId } = submission
    for (const payload of [null, "x", { ownerId }, { ownerId, submissions: [null, hostile] }]) {
      expect(await rejection(submitMany(payload as never))).toMatchObject({ tag: "InvalidInput" })
    }
    expect(fake.requests).toHaveLength(3)
  })

  it("drops what is undefined, and refuses what JSON cannot say before anything is sent", async () => {
    const fake = fakeBinding(() => ok(receipt))
    const heddle = createHeddle(fake)
    await heddle.submit({
      ...submission,
      title: undefined,
      idempotencyKey: undefined,
      input: { at: 1 },
    })
    expect(Object.keys(fake.requests[0]?.payload ?? {})).not.toContain("title")
    expect(keyOf(fake.requests[0] ?? { payload: {} })).toHaveLength(36)
    const itself: Array<unknown> = []
    itself.push(itself)
    for (const [input, path] of [
      [{ amounts: [1, Number.NaN] }, "input.amounts[1]"],
      [{ big: 1n }, "input.big"],
      [[() => 1], "input[0]"],
      [itself, expect.stringMatching(/^input(\[0\])+/)],
      [new Proxy({}, { ownKeys: () => expect.unreachable("looked") }), ""],
    ]) {
      const refused = heddle.submit({ ...submission, input: input as never })
      expect(await rejection(refused)).toMatchObject({ tag: "InvalidInput", path })
    }
    expect(fake.requests).toHaveLength(1)
  })

  it("sends dates and the like as JSON writes them", async () => {
    const fake = fakeBinding(() => ok(receipt))
    const boxed = [Object(5), Object("xy"), Object(false)] as unknown
    const input = { at: new Date(0), none: undefined, boxed, deep: { list: [null, true, "a"] } }
    await createHeddle(fake).submit({ ...submission, input: input as never })
    expect(fake.requests[0]?.payload).toMatchObject({
      input: JSON.parse(JSON.stringify(input)) as unknown,
    })
  })

  it("never hangs on an answer that is none", async () => {
    for (const answer of [
      undefined,
      null,
      7,
      {},
      { _tag: "Failure" },
      { _tag: "Failure", cause: [] },
    ]) {
      const fake = fakeBinding(() => answer as never)
      const error = await rejection(createHeddle(fake).status(submitted))
      expect(error).toMatchObject({ tag: "Unavailable", retryable: false })
    }
  })

  it("carries the trace it belongs to, and nothing that is none", async () => {
    const fake = fakeBinding(() => ok(null))
    const heddle = createHeddle(fake)
    const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]
    for (const traceparent of [`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-00`, "no"]) {
      await heddle.recoveryStatus(submitted, { traceparent })
    }
    expect(fake.requests).toMatchObject([
      { traceId, spanId, sampled: true },
      { traceId, spanId, sampled: false },
      { tag: "recoveryStatus" },
    ])
    expect(fake.requests[2]).not.toHaveProperty("traceId")
  })

  it("takes null for no answer of its own, as over HTTPS", async () => {
    const fake = fakeBinding(() => ok(undefined))
    expect(await createHeddle(fake).recoveryStatus(submitted)).toBeNull()
  })
})

describe("the signal of a call", () => {
  it("rejects with its reason and tells the other side", async () => {
    const fake = fakeBinding(never)
    const controller = new AbortController()
    const waiting = createHeddle(fake).status(submitted, { signal: controller.signal })
    const reason = new Error("the user left")
    controller.abort(reason)
    expect(await rejection(waiting)).toBe(reason)
    expect(fake.interrupts).toEqual(fake.requests.map(({ id }) => id))
  })

  it("sends nothing when it was aborted before", async () => {
    const fake = fakeBinding(never)
    const signal = AbortSignal.abort()
    expect(await rejection(createHeddle(fake).submit(submission, { signal }))).toBe(signal.reason)
    expect(fake.requests).toEqual([])
  })

  it("ends a pause between two tries", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const controller = new AbortController()
    const { signal } = controller
    const fake = fakeBinding(() => failed(gone))
    const waiting = rejection(createHeddle(fake).status(submitted, { signal }))
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect(await waiting).toBe(signal.reason)
    expect(fake.requests).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe("waiting for a settlement", () => {
  it("asks again when a wait ended, and over lost calls", async () => {
    const fake = fakeBinding(
      () => ok({ _tag: "Pending" }),
      () => Promise.reject(lost()),
      () => ok({ _tag: "Pending" }),
      () => ok({ _tag: "Settled", settlement }),
    )
    expect(await createHeddle(fake).awaitSettled(receipt)).toEqual(settlement)
    // Of a receipt only what names the submission is sent.
    expect(fake.requests.map(({ payload }) => payload)).toEqual(
      Array.from({ length: 4 }, () => submitted),
    )
  })

  it("ends with an answer that is none", async () => {
    for (const answer of [null, {}, { _tag: "Later" }, "Settled"]) {
      const fake = fakeBinding(() => ok(answer))
      expect(await rejection(createHeddle(fake).awaitSettled(submitted))).toMatchObject({
        tag: "Unavailable",
        retryable: false,
      })
      expect(fake.requests).toHaveLength(1)
    }
  })

  it("asks no more often than it takes to notice, where a deployment ends each wait at once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const fake = fakeBinding(() => ok({ _tag: "Pending" }))
    const leaving = new AbortController()
    const waiting = rejection(createHeddle(fake).awaitSettled(submitted, leaving))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(fake.requests.length).toBeGreaterThan(50)
    expect(fake.requests.length).toBeLessThan(250)
    leaving.abort("enough")
    expect(await waiting).toBe("enough")
  })

  it("follows a submit of its own", async () => {
    const fake = fakeBinding(
      () => ok(receipt),
      () => ok({ _tag: "Settled", settlement }),
    )
    expect(await createHeddle(fake).submitAndWait(unkeyed)).toEqual(settlement)
  })
})

describe("an error", () => {
  it("that this client does not know is one all the same, with what was sent", async () => {
    const sent = { _tag: "Eclipsed", until: 7 }
    const error = await rejection(createHeddle(fakeBinding(() => failed(sent))).status(submitted))
    expect(isHeddleError(error)).toBe(true)
    expect(error).toMatchObject({ tag: "Unrecognized", data: sent })
  })

  it("takes nothing from a peer but the fields of its contract", async () => {
    const sent = JSON.parse(
      `{"_tag":"Unauthenticated","reason":"no","stack":"evil","remedy":"pay","__proto__":{"tag":"x"}}`,
    ) as unknown
    const error = await rejection(createHeddle(fakeBinding(() => failed(sent))).status(submitted))
    expect(error).toBeInstanceOf(HeddleError)
    expect(error).toMatchObject({ tag: "Unauthenticated", reason: "no" })
    expect((error as HeddleError).remedy).toMatch(/^Send a valid token/)
    expect((error as HeddleError).stack).not.toBe("evil")
    expect((error as HeddleError).message).toBe("No verified identity. [reason: no]")
  })
})
