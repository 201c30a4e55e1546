/** A binding that answers what a test says, and remembers what it was asked. */
import type { HeddleBinding } from "../../../client/sdk/index.ts"
import type {
  WireExit,
  WireMessage,
  WireRequest,
  WireSink,
} from "../../../contracts/transport/Wire.ts"

export const ok = (value: unknown): WireExit => ({ _tag: "Success", value })

export const failed = (error: unknown): WireExit => ({
  _tag: "Failure",
  cause: [{ _tag: "Fail", error }],
})

export const gone = { _tag: "Unavailable", retryable: true, overloaded: false, reason: "A fence" }

/** What the platform throws when an object goes away under a call. */
export const lost = (): Error =>
  Object.assign(new Error("Network connection lost."), { retryable: true })

/** `push` gives a stream's reader values; it resolves to whether they were taken. */
export type Answer = (
  request: WireRequest,
  push: (...values: ReadonlyArray<unknown>) => Promise<boolean>,
) => WireExit | Promise<WireExit>

export interface FakeBinding {
  readonly binding: HeddleBinding
  readonly requests: Array<WireRequest>
  /** The ids of the calls that were ended by their caller. */
  readonly interrupts: Array<string | number>
}

/** Answers the nth call with the nth answer, and all further ones with the last. */
export const fakeBinding = (...answers: ReadonlyArray<Answer>): FakeBinding => {
  const requests: Array<WireRequest> = []
  const interrupts: Array<string | number> = []
  const call = async (message: WireMessage, sink?: WireSink): Promise<WireExit> => {
    if (message._tag === "Interrupt") {
      interrupts.push(message.requestId)
      return ok(undefined)
    }
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    requests.push(message)
    if (answer === undefined) throw new Error("no test answers this")
    // Beyond a binding a sink says whether the values were taken, and never rejects.
    const push = async (...values: ReadonlyArray<unknown>): Promise<boolean> =>
      ((await sink?.(values)) as unknown) === true
    return answer(message, push)
  }
  return { binding: { call }, requests, interrupts }
}

/** A promise that a test ends. */
export const gate = <A = void>() => Promise.withResolvers<A>()

/** Never answers. */
export const never: Answer = () => new Promise<WireExit>(() => undefined)
