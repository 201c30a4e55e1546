import { afterEach, describe, expect, it, vi } from "vitest"
import { createHeddle, type ObserveFrame } from "../../../client/sdk/index.ts"
import { ownerId, submissionId, threadId } from "../client/fakes.ts"
import { type Answer, failed, fakeBinding, gate, gone, lost, never, ok } from "./fakeBinding.ts"

const place = { ownerId, threadId }
const opened: ObserveFrame = { _tag: "Opened", tailSequence: 3 }
const recorded = (sequence: number): ObserveFrame => ({
  _tag: "Record",
  record: { sequence, submissionId, kind: "Progress", epoch: 1, recordedAt: 1_000, payload: null },
})
const cursor = (after: number): ObserveFrame => ({ _tag: "Cursor", after })

/** Pushes, and ends. */
const showing =
  (end: Answer, ...frames: ReadonlyArray<ObserveFrame>): Answer =>
  async (request, push) => {
    await push(...frames)
    return end(request, push)
  }

const losing: Answer = () => Promise.reject(lost())
const ending: Answer = () => ok(undefined)

/** The first records of a thread, then leaves. */
const take = async (frames: AsyncIterable<ObserveFrame>, count: number) => {
  const sequences: Array<number> = []
  for await (const frame of frames) {
    if (frame._tag === "Record") sequences.push(frame.record.sequence)
    if (sequences.length === count) break
  }
  return sequences
}

const afters = (fake: ReturnType<typeof fakeBinding>) =>
  fake.requests.map(({ payload }) => (payload as { readonly after?: number }).after)

const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable("nothing failed"),
    (error: unknown) => error,
  )

afterEach(() => void vi.useRealTimers())

describe("observing a thread", () => {
  it("gives every record once and in order, over lost connections and ended waits", async () => {
    const fake = fakeBinding(
      showing(losing, opened, recorded(1), recorded(2)),
      losing,
      showing(ending, opened, recorded(2), recorded(3), cursor(3)),
      showing(() => failed(gone), opened, recorded(4)),
      showing(never, opened, recorded(3), recorded(5), recorded(6)),
    )
    expect(await take(createHeddle(fake).observe(place), 6)).toEqual([1, 2, 3, 4, 5, 6])
    expect(afters(fake)).toEqual([undefined, 2, 2, 3, 4])
  })

  it("starts where it is told to", async () => {
    const fake = fakeBinding(showing(never, opened, recorded(7), recorded(8), recorded(9)))
    expect(await take(createHeddle(fake).observe({ ...place, after: 7 }), 2)).toEqual([8, 9])
    expect(afters(fake)).toEqual([7])
  })

  it("ends where its thread has nothing more to tell, for who says so, and not where it was lost", async () => {
    const fake = fakeBinding(
      showing(losing, opened, recorded(7)),
      showing(() => failed(gone), cursor(7)),
      showing(ending, recorded(8), cursor(8)),
      never,
    )
    const frames = createHeddle(fake).observe({ ...place, after: 6 }, { whenQuiet: "end" })
    expect(await take(frames, 9)).toEqual([7, 8])
    expect(afters(fake)).toEqual([6, 7, 7])
  })

  it("sends nothing before it is read, and hides cursors", async () => {
    const fake = fakeBinding(showing(ending, opened, cursor(9)), showing(never, recorded(10)))
    const frames = createHeddle(fake).observe(place)
    expect(fake.requests).toEqual([])
    const seen = [await frames.next(), await frames.next()]
    expect(seen.map(({ value }) => value)).toEqual([opened, recorded(10)])
    expect(afters(fake)).toEqual([undefined, 9])
    await frames.return()
  })

  it("asks no more often than it takes to notice, where a deployment ends each connection at once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const expired = { _tag: "Unauthenticated", reason: "The token has expired" }
    for (const [end, least, most] of [
      [ending, 50, 250],
      // A token that is always over has the stream end.
      [() => failed(expired), 2, 50],
    ] as const) {
      const fake = fakeBinding(showing(end, cursor(9)))
      const frames = createHeddle(fake).observe(place)
      const next = frames.next().catch(() => undefined)
      await vi.advanceTimersByTimeAsync(10_000)
      expect(fake.requests.length).toBeGreaterThanOrEqual(least)
      expect(fake.requests.length).toBeLessThan(most)
      await frames.return()
      await next
    }
    vi.useRealTimers()
  })

  it("ends the call when its reader breaks off, and refuses what is still pushed", async () => {
    const taken = gate<boolean>()
    const after = gate<boolean>()
    const fake = fakeBinding(async (_request, push) => {
      taken.resolve(await push(recorded(1), recorded(2)))
      await new Promise((resolve) => setImmediate(resolve))
      after.resolve(await push(recorded(3)))
      return never(_request, push)
    })
    expect(await take(createHeddle(fake).observe(place), 1)).toEqual([1])
    // It left before it had taken both.
    expect(await taken.promise).toBe(false)
    expect(await after.promise).toBe(false)
    expect(fake.interrupts).toEqual(fake.requests.map(({ id }) => id))
  })

  it("takes no more before its reader asks for it", async () => {
    let pushed = 0
    const fake = fakeBinding(async (request, push) => {
      while (await push(recorded(++pushed)));
      return never(request, push)
    })
    const frames = createHeddle(fake).observe(place)
    await frames.next()
    await new Promise((resolve) => setImmediate(resolve))
    expect(pushed).toBe(1)
    await frames.next()
    await new Promise((resolve) => setImmediate(resolve))
    expect(pushed).toBe(2)
    await frames.return()
  })

  it("is done at once when it is returned from while it waits", async () => {
    const fake = fakeBinding(showing(never, opened))
    const frames = createHeddle(fake).observe(place)
    await frames.next()
    const waiting = frames.next()
    expect(await frames.return()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await frames.next()).toEqual({ done: true, value: undefined })
    expect(fake.interrupts).toHaveLength(1)
  })

  it("rejects with the reason of its signal, also in a pause", async () => {
    for (const answer of [showing(never, opened), showing(() => failed(gone), opened)]) {
      const controller = new AbortController()
      const fake = fakeBinding(answer)
      const frames = createHeddle(fake).observe(place, { signal: controller.signal })
      await frames.next()
      const waiting = frames.next()
      setImmediate(() => controller.abort(new Error("the user left")))
      expect(await rejection(waiting)).toMatchObject({ message: "the user left" })
      expect((await frames.next()).done).toBe(true)
    }
  })

  it("fails at once with what will not be better, and in the end with what is not", async () => {
    const denied = { _tag: "OperationDenied", operation: "observe" }
    const once = fakeBinding(() => failed(denied))
    expect(await rejection(take(createHeddle(once).observe(place), 1))).toMatchObject({
      tag: "OperationDenied",
    })
    expect(once.requests).toHaveLength(1)
    vi.useFakeTimers()
    const away = fakeBinding(() => failed(gone))
    const failing = rejection(take(createHeddle(away).observe(place), 1))
    await vi.runAllTimersAsync()
    expect(await failing).toMatchObject({ tag: "Unavailable", reason: "A fence" })
    expect(away.requests).toHaveLength(21)
  })

  it("is not given up where a thread has nothing to say and connections stand for a while", async () => {
    vi.useFakeTimers()
    const quiet: Answer = async (_request, push) => {
      await push(opened)
      await new Promise((resolve) => setTimeout(resolve, 5_000))
      throw lost()
    }
    const losses = Array.from({ length: 15 }, () => losing)
    const fake = fakeBinding(...losses, quiet, ...losses, showing(never, opened, recorded(1)))
    const taking = take(createHeddle(fake).observe(place), 1)
    await vi.advanceTimersByTimeAsync(10 * 60_000)
    expect(await taking).toEqual([1])
  })

  it("is opened again when its token ended with it, and fails if that is refused", async () => {
    const expired = { _tag: "Unauthenticated", reason: "The token has expired" }
    const fake = fakeBinding(
      showing(() => failed(expired), opened, recorded(1)),
      showing(() => failed(expired), opened, recorded(2)),
      () => failed(expired),
    )
    const seen: Array<number> = []
    const reading = async () => {
      for await (const frame of createHeddle(fake).observe(place))
        if (frame._tag === "Record") seen.push(frame.record.sequence)
    }
    expect(await rejection(reading())).toMatchObject({ tag: "Unauthenticated" })
    expect(seen).toEqual([1, 2])
    expect(afters(fake)).toEqual([undefined, 1, 2])
  })

  it("refuses a payload that cannot be sent at its first value", async () => {
    const fake = fakeBinding(never)
    const frames = createHeddle(fake).observe({ ...place, after: Number.NaN })
    expect(await rejection(frames.next())).toMatchObject({ tag: "InvalidInput", path: "after" })
    expect(fake.requests).toEqual([])
  })
})

describe("watching an owner", () => {
  const first = { _tag: "Opened", faultedLanes: 0 }

  it("is opened again only before its first value", async () => {
    const fake = fakeBinding(losing, losing, async (_request, push) => {
      await push(first)
      throw lost()
    })
    const frames = createHeddle(fake).watch({ ownerId })
    expect((await frames.next()).value).toEqual(first)
    expect(await rejection(frames.next())).toMatchObject({ tag: "Unavailable", retryable: true })
    expect(fake.requests).toHaveLength(3)
  })

  it("shows what a newer deployment adds as unrecognized", async () => {
    const sent = { _tag: "Eclipsed", until: 7 }
    const fake = fakeBinding(async (_request, push) => {
      await push(first, sent)
      return ok(undefined)
    })
    const frames = []
    for await (const frame of createHeddle(fake).watch({ ownerId })) frames.push(frame)
    expect(frames).toEqual([first, { _tag: "Unrecognized", sent }])
  })

  it("ends when the other side ends it", async () => {
    const fake = fakeBinding(async (_request, push) => {
      await push(first, { _tag: "Ended" })
      return ok(undefined)
    })
    const tags: Array<string> = []
    for await (const frame of createHeddle(fake).watch({ ownerId })) tags.push(frame._tag)
    expect(tags).toEqual(["Opened", "Ended"])
  })
})
