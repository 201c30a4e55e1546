import { describe, expect, it } from "vitest"
import {
  inMemoryTarget,
  type WireExit,
  type WireMessage,
  type WireTarget,
} from "../../../contracts/transport/index.ts"

const request = (payload: unknown): WireMessage => ({
  _tag: "Request",
  id: "r",
  tag: "t",
  payload,
  headers: [],
})

const recording = (exit: unknown = { _tag: "Success", value: null }) => {
  const got: Array<WireMessage> = []
  const server: WireTarget = {
    call: async (message, sink) => {
      got.push(message)
      await sink?.([{ n: 1 }])
      return exit as WireExit
    },
  }
  return { got, server }
}

describe("the in-memory target", () => {
  it("shares nothing between the two sides", async () => {
    const payload = { list: [1, 2] }
    const answer = { _tag: "Success", value: { a: 1 } }
    const { got, server } = recording(answer)
    const values: Array<unknown> = []
    const exit = await inMemoryTarget(server).call(request(payload), async (pushed) => {
      values.push(...pushed)
    })
    const arrived = (got[0] as { payload: unknown }).payload
    expect(arrived).toEqual(payload)
    expect(arrived).not.toBe(payload)
    expect(exit).toEqual(answer)
    expect(exit).not.toBe(answer)
    expect(values).toEqual([{ n: 1 }])
  })

  it("refuses what is not JSON, whichever way it goes", async () => {
    class Instance {
      readonly a = 1
    }
    const alien = [
      1n,
      NaN,
      () => {},
      Symbol("s"),
      new Date(),
      new Map(),
      new Instance(),
      new Error(),
    ]
    for (const value of alien) {
      const { got, server } = recording()
      await expect(inMemoryTarget(server).call(request({ deep: [value] }))).rejects.toThrow(
        /could not be cloned/,
      )
      expect(got).toEqual([])
      const answering = recording({ _tag: "Success", value })
      await expect(inMemoryTarget(answering.server).call(request(null))).rejects.toThrow(
        /could not be cloned/,
      )
    }
  })

  it("refuses a value that contains itself", async () => {
    const loop: Record<string, unknown> = {}
    loop["self"] = loop
    await expect(inMemoryTarget(recording().server).call(request(loop))).rejects.toThrow()
  })

  it("loses a request before it arrives, and a reply after it did", async () => {
    const { got, server } = recording()
    const losing = inMemoryTarget(server, { request: () => "drop" })
    await expect(losing.call(request(1))).rejects.toMatchObject({ retryable: true })
    expect(got).toHaveLength(0)
    const late = inMemoryTarget(server, { reply: () => "drop" })
    await expect(late.call(request(1))).rejects.toMatchObject({ retryable: true })
    expect(got).toHaveLength(1)
  })

  it("lets a lost push fail at the server", async () => {
    const { server } = recording()
    const losing = inMemoryTarget(server, { push: () => "drop" })
    await expect(losing.call(request(1), async () => {})).rejects.toMatchObject({ retryable: true })
  })

  it("doubles a request, and answers once", async () => {
    const { got, server } = recording()
    const doubling = inMemoryTarget(server, { request: () => "duplicate" })
    expect(await doubling.call(request(1))).toEqual({ _tag: "Success", value: null })
    expect(got).toHaveLength(2)
  })

  it("holds a message as long as its hook does", async () => {
    const { got, server } = recording()
    const gate = Promise.withResolvers<"deliver">()
    const call = inMemoryTarget(server, { request: () => gate.promise }).call(request(1))
    await Promise.resolve()
    expect(got).toHaveLength(0)
    gate.resolve("deliver")
    await call
    expect(got).toHaveLength(1)
  })

  it("asks for its server anew when it is given as a function", async () => {
    const lives = [recording(), recording()]
    let life = 0
    const target = inMemoryTarget(() => lives[life]?.server as WireTarget)
    await target.call(request(1))
    life = 1
    await target.call(request(2))
    expect(lives.map(({ got }) => got.length)).toEqual([1, 1])
  })
})
