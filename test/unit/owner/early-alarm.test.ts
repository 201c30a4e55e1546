/** Alarms that ring early by their object's clock. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ready } from "./lanes.ts"
import { makeOwnerWorld } from "./OwnerWorld.ts"

describe("an owner whose clock is behind the one by which its alarms ring", () => {
  it("serves a lane at its time by its own clock, after a few alarms", async () => {
    const clockBehindMillis = 200
    const world = makeOwnerWorld({ clockBehindMillis })
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
    while (servedAt.length === 0 && rings < 50) {
      if (await world.deliver()) rings += 1
      else await new Promise((resolve) => setImmediate(resolve))
    }
    await world.quiet()
    expect(servedAt[0]).toBeGreaterThanOrEqual(dueAt)
    // Those of its lane, and of the directory's batch.
    expect(rings).toBeLessThanOrEqual(16)
    expect(thread.settled).toHaveLength(1)
  })
})
