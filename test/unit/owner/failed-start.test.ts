/** What becomes of a start that fails while whoever asked for it does not go on at once. */
import { Effect, Scheduler } from "effect"
import { describe, expect, it } from "vitest"
import { type Owner, started } from "../../../owner-object/Owner.ts"
import { ownerId } from "./OwnerWorld.ts"

/** An owner whose storage fails at once. */
const failing = () =>
  ({
    life: undefined,
    starting: undefined,
    host: { storage: { alarm: { get: () => Promise.reject(new Error("gone")) } } },
  }) as unknown as Owner

/** Has whoever runs under it yield once, at this of its steps. */
const yieldingAt = (step: number): Scheduler.Scheduler => {
  const scheduler = new Scheduler.MixedScheduler()
  let steps = 0
  scheduler.shouldYield = () => ++steps === step
  return scheduler
}

describe("a start that fails", () => {
  it("is nobody's unhandled rejection, wherever its fiber yields", async () => {
    const unhandled: Array<unknown> = []
    const note = (cause: unknown) => void unhandled.push(cause)
    process.on("unhandledRejection", note)
    for (let step = 1; step <= 12; step++) {
      const start = Effect.flip(started(failing(), ownerId))
      const scheduler = yieldingAt(step)
      const error = await Effect.runPromise(
        Effect.provideService(start, Scheduler.Scheduler, scheduler),
      )
      expect(error._tag).toBe("Unavailable")
    }
    process.off("unhandledRejection", note)
    expect(unhandled).toEqual([])
  })
})
