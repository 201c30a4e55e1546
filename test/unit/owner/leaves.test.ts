/** Callers that leave before they are answered: nothing that they began ends with them. */
import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { makeOwnerWorld } from "./OwnerWorld.ts"

const run = Effect.runPromise

describe("a caller that leaves", () => {
  it("interrupts no mutation of a thread, which ends as if somebody waited", async () => {
    let leave: () => void = () => undefined
    const left = new Promise<void>((resolve) => (leave = resolve))
    let interrupts = 0
    const world = makeOwnerWorld({
      limits: { mutationMillis: 60_000, coverMillis: 60_000 },
      hooks: {
        request: (message) => {
          if (message._tag === "Interrupt") interrupts += 1
          return "deliver"
        },
        reply: async (): Promise<"deliver"> => {
          await left
          return "deliver"
        },
      },
    })
    const submitting = Effect.runFork(world.submit("a"))
    await world.until("it is sent", () => world.thread("a").admissions === 1)
    await run(Fiber.interrupt(submitting))
    leave()
    await world.alarmsUntil("it is settled", () => world.thread("a").settled.length === 1)
    expect(interrupts).toBe(0)
    // One whose end nobody knows would be visited first.
    expect(world.thread("a").visits).toBe(0)
  })
})
