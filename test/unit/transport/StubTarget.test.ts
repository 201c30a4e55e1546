import { describe, expect, it } from "vitest"
import { stubTarget, type WireExit, type WireMessage } from "../../../contracts/transport/index.ts"

const message: WireMessage = { _tag: "Interrupt", requestId: "r" }
const success: WireExit = { _tag: "Success", value: 1 }

/** Stubs that answer when told, and know whether they were disposed. */
const source = () => {
  const made: Array<{
    readonly calls: Array<{ resolve: (exit: WireExit) => void; reject: (error: unknown) => void }>
    disposed: number
  }> = []
  const target = stubTarget(() => {
    const stub = { calls: [] as (typeof made)[number]["calls"], disposed: 0 }
    made.push(stub)
    return {
      call: () => new Promise<WireExit>((resolve, reject) => stub.calls.push({ resolve, reject })),
      [Symbol.dispose]: () => {
        stub.disposed++
      },
    }
  })
  return { made, target }
}

const lost = new Error("Network connection lost.")

describe("a target over stubs", () => {
  it("asks for its stub at the first call and uses it again", async () => {
    const { made, target } = source()
    expect(made).toHaveLength(0)
    const first = target.call(message)
    made[0]?.calls[0]?.resolve(success)
    expect(await first).toEqual(success)
    const second = target.call(message)
    made[0]?.calls[1]?.resolve(success)
    await second
    expect(made).toHaveLength(1)
    expect(made[0]?.disposed).toBe(0)
  })

  it("replaces and disposes a stub that has failed, once for all calls that fail with it", async () => {
    const { made, target } = source()
    const calls = [target.call(message), target.call(message)]
    for (const { reject } of made[0]?.calls ?? []) reject(lost)
    for (const call of calls) await expect(call).rejects.toBe(lost)
    expect(made[0]?.disposed).toBe(1)
    const again = target.call(message)
    made[1]?.calls[0]?.resolve(success)
    await again
    expect(made).toHaveLength(2)
    expect(made[1]?.disposed).toBe(0)
  })

  it("keeps the fresh stub when a call on the old one fails late", async () => {
    const { made, target } = source()
    const calls = [target.call(message), target.call(message)]
    made[0]?.calls[0]?.reject(lost)
    await expect(calls[0]).rejects.toBe(lost)
    const fresh = [target.call(message)]
    made[0]?.calls[1]?.reject(lost)
    await expect(calls[1]).rejects.toBe(lost)
    fresh.push(target.call(message))
    for (const { resolve } of made[1]?.calls ?? []) resolve(success)
    expect(await Promise.all(fresh)).toEqual([success, success])
    expect(made.map(({ disposed }) => disposed)).toEqual([1, 0])
  })

  it("lets the calls under way on a replaced stub end before it is disposed", async () => {
    const { made, target } = source()
    const failing = target.call(message)
    const slow = target.call(message)
    made[0]?.calls[0]?.reject(lost)
    await expect(failing).rejects.toBe(lost)
    expect(made[0]?.disposed).toBe(0)
    made[0]?.calls[1]?.resolve(success)
    expect(await slow).toEqual(success)
    expect(made[0]?.disposed).toBe(1)
  })

  it("has at most two stubs alive", async () => {
    const { made, target } = source()
    const pending: Array<Promise<unknown>> = []
    for (let stub = 0; stub < 4; stub++) {
      pending.push(target.call(message))
      const failing = target.call(message)
      made[stub]?.calls[1]?.reject(lost)
      await expect(failing).rejects.toBe(lost)
      expect(made.filter(({ disposed }) => disposed === 0).length).toBeLessThanOrEqual(2)
    }
    expect(made).toHaveLength(4)
    for (const { calls } of made) calls[0]?.resolve(success)
    await Promise.all(pending)
    expect(made.map(({ disposed }) => disposed)).toEqual([1, 1, 1, 1])
  })

  it("disposes what it holds when it is closed, and refuses calls from then on", async () => {
    const { made, target } = source()
    const call = target.call(message)
    made[0]?.calls[0]?.resolve(success)
    await call
    target.close()
    target.close()
    expect(made[0]?.disposed).toBe(1)
    await expect(target.call(message)).rejects.toMatchObject({ retryable: false })
    expect(made).toHaveLength(1)
  })

  it("rejects when there is no stub to be had, and asks again the next time", async () => {
    let asked = 0
    const target = stubTarget(() => {
      if (++asked === 1) throw lost
      return { call: () => Promise.resolve(success) }
    })
    await expect(target.call(message)).rejects.toBe(lost)
    expect(await target.call(message)).toEqual(success)
  })

  it("lets a reader refuse a push without a rejection, which the platform would report", async () => {
    const answers: Array<unknown> = []
    const target = stubTarget(() => ({
      call: async (_message, sink) => {
        answers.push(await sink?.([1]), await sink?.([2]))
        return success
      },
    }))
    await target.call(message, ([value]) =>
      value === 1 ? Promise.resolve() : Promise.reject(new Error("gone")),
    )
    expect(answers).toEqual([true, false])
  })

  it("passes the sink on, and disposes each answer", async () => {
    let disposed = 0
    const answer = { ...success, [Symbol.dispose]: () => disposed++ }
    const given: Array<unknown> = []
    const target = stubTarget(() => ({
      call: (...all: Array<unknown>) => {
        given.push(all)
        return Promise.resolve(answer)
      },
    }))
    await target.call(message)
    await target.call(message, () => Promise.resolve())
    expect(given).toEqual([[message], [message, expect.any(Function)]])
    expect(disposed).toBe(2)
  })
})
