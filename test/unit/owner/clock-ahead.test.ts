/** A clock that was ahead, and is put right. The clock of the objects is the test's; alarms are delivered by it. */
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { makeOwnerWorld } from "./OwnerWorld.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }))
afterEach(() => void vi.useRealTimers())

const run = Effect.runPromise
const hour = 3_600_000

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe("an owner whose clock was ahead", () => {
  it("puts off nothing that becomes due once it is right", async () => {
    const world = makeOwnerWorld()
    const right = Date.now()
    vi.setSystemTime(right + hour)
    await run(world.submit("a"))
    await turns(20)
    vi.setSystemTime(right)
    await run(world.submit("b"))
    await turns(20)
    expect(world.storage.alarmAt()).toBeLessThan(right + 1_000)
    for (let second = 1; second <= 5; second++) {
      vi.setSystemTime(right + second * 1_000)
      await world.deliver()
    }
    expect(world.thread("b").settled).toEqual([1])
  })
})
