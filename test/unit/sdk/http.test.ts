import { afterEach, describe, expect, it, vi } from "vitest"
import { createHeddle } from "../../../client/sdk/index.ts"
import { ownerId, receipt, submission, submissionId, threadId } from "../client/fakes.ts"

afterEach(() => void vi.useRealTimers())

const place = { ownerId, threadId }
const submitted = { ...place, submissionId }
const record = (sequence: number) => ({
  _tag: "Record",
  record: { sequence, submissionId, kind: "Progress", epoch: 1, recordedAt: 1_000, payload: null },
})

interface Sent {
  readonly url: string
  readonly authorization: string | null
  readonly request: { readonly id: string; readonly tag: string; readonly payload: unknown }
  readonly signal: AbortSignal | undefined
}

/** One open answer, which the test writes. */
interface Open {
  readonly response: Response
  readonly write: (line: object) => void
  readonly end: () => void
}

const openAnswer = (): Open => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const ignore = () => undefined
  return {
    response: new Response(readable),
    write: (line) =>
      void writer.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`)).catch(ignore),
    end: () => void writer.close().catch(ignore),
  }
}

/** A `fetch` that answers as a test says, and what it was given. */
const fakeFetch = (answer: (sent: Sent, nth: number) => Response | Promise<Response>) => {
  const sent: Array<Sent> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const one: Sent = {
      url: request.url,
      authorization: request.headers.get("authorization"),
      request: JSON.parse(await request.text()) as Sent["request"],
      signal: init?.signal ?? undefined,
    }
    sent.push(one)
    return answer(one, sent.length)
  }
  return { fetch, sent }
}

const exit = ({ request }: Sent, value: unknown) => ({
  _tag: "Exit",
  requestId: request.id,
  exit: { _tag: "Success", value },
})

const answering = (sent: Sent, value: unknown): Response =>
  new Response(`${JSON.stringify(exit(sent, value))}\n`)

const url = "https://heddle.test"

const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable("nothing failed"),
    (error: unknown) => error,
  )

describe("the SDK over HTTPS", () => {
  it("speaks to /rpc of the deployment, with the token as it is at each try", async () => {
    let asked = 0
    const fake = fakeFetch((sent, nth) => {
      if (nth === 1) throw new TypeError("fetch failed")
      return answering(sent, receipt)
    })
    const heddle = createHeddle({ url, token: () => `token-${++asked}`, fetch: fake.fetch })
    expect(await heddle.submit(submission)).toEqual(receipt)
    expect(fake.sent).toMatchObject([
      { url: `${url}/rpc`, authorization: "Bearer token-1", request: { tag: "submit" } },
      { url: `${url}/rpc`, authorization: "Bearer token-2", request: { payload: submission } },
    ])
  })

  it("sends nothing where there is no token, says so, and shows none of it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const fake = fakeFetch((sent) => answering(sent, receipt))
    const fails = (): never => {
      throw new Error("secret-1")
    }
    const hangs = () => new Promise<string>(() => undefined)
    for (const [token, error] of [
      ["two\nlines-of-secret-1", { tag: "Unauthenticated", reason: expect.any(String) as string }],
      [async () => "", { tag: "Unauthenticated" }],
      [fails, { tag: "Unavailable", reason: "The function that gives the token failed" }],
      [async () => fails(), { tag: "Unavailable", retryable: true }],
      [hangs, { tag: "Unavailable", reason: expect.stringContaining("in time") as string }],
    ] as const) {
      const heddle = createHeddle({ url, token, fetch: fake.fetch, silenceMillis: 1_000 })
      const failing = rejection(heddle.status(submitted))
      await vi.advanceTimersByTimeAsync(30_000)
      const refused = await failing
      expect(refused).toMatchObject(error)
      expect(String(refused)).not.toContain("secret-1")
    }
    expect(fake.sent).toHaveLength(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("leaves no timer behind when a call is given up before there is a token", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const token = () => new Promise<string>(() => undefined)
    const leaving = new AbortController()
    const failing = rejection(createHeddle({ url, token }).status(submitted, leaving))
    leaving.abort("no more")
    expect(await failing).toBe("no more")
    await new Promise((resolve) => setImmediate(resolve))
    expect(vi.getTimerCount()).toBe(0)
  })

  it("tells what an answer without an exit means, by its status", async () => {
    for (const [status, tries, error] of [
      [401, 1, { tag: "Unauthenticated", reason: "The deployment refused the token" }],
      [413, 1, { tag: "InvalidInput" }],
      [404, 1, { tag: "Unavailable", retryable: false }],
      [503, 1, { tag: "Unavailable", overloaded: true }],
      [502, 5, { tag: "Unavailable", retryable: true }],
      [200, 5, { tag: "Unavailable", retryable: true }],
    ] as const) {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const fake = fakeFetch(() => new Response("<html>\nnot ours\n</html>", { status }))
      const heddle = createHeddle({ url, token: "t", fetch: fake.fetch })
      const turns = { over: false }
      const failing = rejection(heddle.status(submitted)).finally(() => {
        turns.over = true
      })
      for (let turn = 0; turn < 1_000 && !turns.over; turn++) {
        // Less than the silence after which an open answer is taken for lost.
        await vi.advanceTimersByTimeAsync(50)
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await failing).toMatchObject(error)
      expect(fake.sent).toHaveLength(tries)
    }
  })

  it("tells a defect of the deployment as one, with its reference, and does not repeat the call", async () => {
    const defect = { _tag: "InternalDefect", reference: "r-1" }
    const fake = fakeFetch(() => Response.json(defect, { status: 500 }))
    const heddle = createHeddle({ url, token: "t", fetch: fake.fetch })
    expect(await rejection(heddle.status(submitted))).toMatchObject({
      tag: "InternalDefect",
      reference: "r-1",
    })
    expect(fake.sent).toHaveLength(1)
  })

  it("sends nothing on to where its address redirects", async () => {
    const moved = () =>
      new Response(null, { status: 308, headers: { location: "https://elsewhere.test/rpc" } })
    const fake = fakeFetch(moved)
    const redirects: Array<unknown> = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      redirects.push(init?.redirect)
      return fake.fetch(input, init)
    }
    const heddle = createHeddle({ url, token: "t", fetch })
    const error = await rejection(heddle.submit(submission))
    expect(error).toMatchObject({ tag: "Unavailable", retryable: false })
    expect((error as Error).message).toContain("redirects")
    expect(redirects).toEqual(["manual"])
  })

  it("puts a line together that comes in many pieces, and gives up one that has no end", async () => {
    const pieces = (text: string) => new Response(new Blob([text]).stream())
    const fake = fakeFetch((sent, nth) => {
      if (nth > 1) {
        const endless = new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024).fill(120)),
        })
        return new Response(endless)
      }
      return pieces(
        `\n${JSON.stringify(exit(sent, { ...receipt, long: "\u00e9".repeat(300_000) }))}`,
      )
    })
    const heddle = createHeddle({ url, token: "t", fetch: fake.fetch })
    expect(await heddle.submit(submission)).toMatchObject(receipt)
    expect(await rejection(heddle.submit(submission))).toMatchObject({
      tag: "Unavailable",
      retryable: false,
    })
  })

  it("waits for ever where silence may last for ever", async () => {
    const delays: Array<number | undefined> = []
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((_: unknown, millis?: number) => {
      delays.push(millis)
      return 0
    }) as never)
    const fake = fakeFetch((sent) => answering(sent, receipt))
    for (const silenceMillis of [Infinity, 30 * 86_400_000]) {
      const heddle = createHeddle({ url, token: "t", fetch: fake.fetch, silenceMillis })
      expect(await heddle.submit(submission)).toEqual(receipt)
    }
    vi.restoreAllMocks()
    expect(delays.every((millis) => millis === 2 ** 31 - 1)).toBe(true)
    expect(delays).not.toHaveLength(0)
  })

  it("takes a slow reader for no silence, and a silent connection for a lost one", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const answers = [openAnswer(), openAnswer()]
    const fake = fakeFetch((_sent, nth) => answers[nth - 1]?.response ?? Response.error())
    const heddle = createHeddle({ url, token: "t", fetch: fake.fetch, silenceMillis: 1_000 })
    const frames = heddle.observe(place)
    answers[0]?.write({ _tag: "Chunk", requestId: "1", values: [record(1)] })
    expect((await frames.next()).value).toEqual(record(1))
    await vi.advanceTimersByTimeAsync(60_000)
    answers[0]?.write({ _tag: "Chunk", requestId: "1", values: [record(2)] })
    expect((await frames.next()).value).toEqual(record(2))
    expect(fake.sent).toHaveLength(1)
    const waiting = frames.next()
    answers[1]?.write({ _tag: "Chunk", requestId: "1", values: [record(2), record(3)] })
    while (fake.sent.length === 1) await vi.advanceTimersByTimeAsync(100)
    expect((await waiting).value).toEqual(record(3))
    expect(fake.sent[1]?.request.payload).toEqual({ ...place, after: 2 })
    await frames.return()
  })

  it("ends the connection of a reader that leaves", async () => {
    const answer = openAnswer()
    const fake = fakeFetch(() => answer.response)
    const heddle = createHeddle({ url, token: "t", fetch: fake.fetch })
    answer.write({ _tag: "Chunk", requestId: "1", values: [record(1)] })
    for await (const frame of heddle.observe(place)) {
      expect(frame).toEqual(record(1))
      break
    }
    expect(fake.sent.map(({ signal }) => signal?.aborted)).toEqual([true])
  })
})
