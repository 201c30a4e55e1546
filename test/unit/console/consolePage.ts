/**
 * A page of the console without a browser: what its state asks of a window, and a deployment behind `fetch` that answers as a
 * test says. It takes over what a process has once: who uses it runs alone.
 */
import { vi } from "vitest"

interface Request {
  readonly id: string
  readonly tag: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Answers once with a value, or one after the other with what it iterates; what it throws is an error of the contract. */
export type Answer = (payload: Request["payload"]) => unknown

export type Answers = Readonly<Record<string, Answer>>

/** What the deployment refuses a call with. */
export class Refused extends Error {
  readonly error: { readonly _tag: string }
  constructor(error: { readonly _tag: string } & Readonly<Record<string, unknown>>) {
    super(error._tag)
    this.error = error
  }
}

export const overloaded = (): Refused =>
  new Refused({
    _tag: "Unavailable",
    retryable: true,
    overloaded: true,
    reason: "too much at once",
  })

export const denied = (operation: string): Refused =>
  new Refused({ _tag: "OperationDenied", operation })

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value

async function* linesOf(
  { id, payload, tag }: Request,
  answers: Answers,
): AsyncGenerator<string, void> {
  const line = (value: unknown) => `${JSON.stringify(value)}\n`
  const exit = (given: unknown) => line({ _tag: "Exit", requestId: id, exit: given })
  try {
    const answer = await answers[tag]?.(payload)
    const frames = isStream(answer) ? answer : []
    for await (const frame of frames) yield line({ _tag: "Chunk", requestId: id, values: [frame] })
    yield exit({ _tag: "Success", value: isStream(answer) ? null : (answer ?? null) })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    yield exit({ _tag: "Failure", cause: [{ _tag: "Fail", error: error.error }] })
  }
}

const bodyOf = (lines: AsyncGenerator<string>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await lines.next()
      if (done === true) controller.close()
      else controller.enqueue(new TextEncoder().encode(value))
    },
    // A generator that waits hears of it with its next frame.
    cancel: () => undefined,
  })

/** A stream that a test feeds as it goes. */
export const feed = () => {
  let frames: Array<unknown> = []
  let wake = (): void => undefined
  let end: (() => void) | undefined
  async function* told() {
    for (;;) {
      const waiting = frames
      frames = []
      yield* waiting
      if (end !== undefined) return end()
      if (frames.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const finish = (by: () => void) => {
    end = by
    wake()
  }
  return {
    told,
    tell: (...more: ReadonlyArray<unknown>) => {
      frames.push(...more)
      wake()
    },
    end: () => finish(() => undefined),
    lose: () =>
      finish(() => {
        throw overloaded()
      }),
  }
}

/** Opens it with a token and fake timers; each state module that is imported from now on is its own. */
export const openPage = async (answers: Answers) => {
  vi.resetModules()
  vi.useFakeTimers()
  const listeners: Array<() => void> = []
  const document = {
    visibilityState: "visible",
    addEventListener: (_: string, listener: () => void) => void listeners.push(listener),
  }
  vi.stubGlobal("document", document)
  vi.stubGlobal("location", { hash: "", origin: "http://heddle.test" })
  const asked: Array<Request> = []
  vi.stubGlobal("fetch", async (_: unknown, { body }: { readonly body: string }) => {
    const [first = ""] = body.split("\n")
    const request = JSON.parse(first) as Request
    if (request.tag !== undefined) asked.push(request)
    return new Response(bodyOf(linesOf(request, answers)))
  })
  const { signIn } = await import("../../../console/state/Session.ts")
  signIn("a.b.c", false)
  return {
    /** How often an operation was asked for. */
    count: (tag: string) => asked.filter((request) => request.tag === tag).length,
    look: (isSeen: boolean) => {
      document.visibilityState = isSeen ? "visible" : "hidden"
      for (const listener of listeners) listener()
    },
    /** Lets so much time pass. */
    pass: (millis: number) => vi.advanceTimersByTimeAsync(millis),
    /** Gives another token. */
    renew: () => signIn("d.e.f", false),
  }
}

export const closePage = (): void => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
}
