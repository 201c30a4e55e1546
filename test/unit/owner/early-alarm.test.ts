/** Alarms that ring early by their object's clock. Time passes as the test lets it, by both clocks alike. */
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ready } from "./lanes.ts"
import { makeOwnerWorld } from "./OwnerWorld.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }))
afterEach(() => void vi.useRealTimers())

describe("an owner whose clock is behind the one by which its alarms ring", () => {
  it("serves a lane at its time by its own clock, after a few alarms", async () => {
    const clockBehindMillis = 200
    const world = makeOwnerWorld({ clockBehindMillis, limits: { projectionRideMillis: 1_000 } })
    const thread = world.thread("a")
    const ownNow = () => Date.now() - clockBehindMillis
    const dueAt = ownNow() + 400
    const servedAt: Array<number> = []
    thread.replaces = ready({ revision: 1, dueAt })
    thread.onTurn = () => {
      servedAt.push(ownNow())
      thread.replaces = undefined
    }
    await Effect.runPromise(world.submit("a"))
    let rings = 0
    const ring = () => void world.deliver().then((rang) => (rings += rang ? 1 : 0))
    while (world.storage.alarmAt() !== null || world.isDelivering()) {
      if (!world.isDelivering()) ring()
      await vi.advanceTimersByTimeAsync(1)
      for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(servedAt).toEqual([dueAt])
    expect(thread.settled).toHaveLength(1)
    // The directory's batch goes with those of its lane.
    expect(rings).toBeLessThanOrEqual(4)
  })
})
