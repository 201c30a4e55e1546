/**
 * WebCrypto in a test: the platform's own, which handlers use for digests and signatures. It is real work of other threads,
 * and takes no time of the test clock.
 *
 * - W1 The clock does not move while one of its calls is under way.
 * - W2 What calls come to is delivered within turns of the test, in the order of the calls: the same test is the same run.
 * - W3 Calls that nobody made within a turn are left alone, and so is the process between turns.
 */
export interface HeldCrypto {
  /** Runs work whose calls are held. // W3 */
  readonly within: <A>(work: () => A) => A
  readonly isBusy: () => boolean
  /** Resolves once all calls that are under way have ended. */
  readonly ended: () => Promise<void>
  /** Delivers what they came to. // W2 */
  readonly deliver: () => void
}

type Method = (...given: ReadonlyArray<unknown>) => unknown

const prototype = Object.getPrototypeOf(crypto.subtle) as object

const methods = (): ReadonlyArray<readonly [string, PropertyDescriptor]> =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([name, { value }]) => typeof value === "function" && name !== "constructor",
  )

export const makeHeldCrypto = (): HeldCrypto => {
  /** Of each call what ends with it, and what tells whoever made it. */
  const calls: Array<{ readonly end: Promise<void>; tell: () => void }> = []

  const hold = (promise: Promise<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const call = { end: Promise.resolve(), tell: () => {} }
      call.end = promise.then(
        (value) => {
          call.tell = () => resolve(value)
        },
        (error: unknown) => {
          // What WebCrypto rejects with is told as it is.
          call.tell = () => reject(error)
        },
      )
      calls.push(call)
    })

  const held = (method: Method): Method =>
    function (this: unknown, ...given) {
      const answer = Reflect.apply(method, this, given)
      return answer instanceof Promise ? hold(answer) : answer
    }

  return {
    within: (work) => {
      const own = methods()
      for (const [name, descriptor] of own)
        Object.defineProperty(prototype, name, {
          ...descriptor,
          value: held(descriptor.value as Method),
        })
      try {
        return work()
      } finally {
        for (const [name, descriptor] of own) Object.defineProperty(prototype, name, descriptor) // W3
      }
    },
    isBusy: () => calls.length > 0, // W1
    ended: async () => {
      await Promise.all(calls.map(({ end }) => end))
    },
    deliver: () => {
      for (const { tell } of calls.splice(0)) tell() // W2
    },
  }
}
