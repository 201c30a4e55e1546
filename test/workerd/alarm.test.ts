/** Facts about alarms of the platform that the owner object is built on. */
import { env } from "cloudflare:workers"
import { runInDurableObject } from "cloudflare:test"
import { describe, expect, it } from "vitest"
import type { AlarmProbe } from "./alarm-probe.ts"

const within = <A>(name: string, use: (probe: AlarmProbe) => A | Promise<A>): Promise<A> =>
  runInDurableObject<AlarmProbe, A>(
    env.ALARM_PROBE.get(env.ALARM_PROBE.idFromName(name)),
    (probe) => use(probe),
  )

describe("an alarm that is set while one is delivered", () => {
  it("neither cancels the running delivery when it comes due, nor is lost", async () => {
    await within("waits", (probe) => probe.begin({ inMillis: 1, againMillis: 1, first: "end" }))
    await within("waits", (probe) => probe.noted(1))
    // Another object's alarm, set later for a later time, tells that the first one's is overdue.
    await within("clock", async (clock) => {
      clock.begin({ inMillis: 50, againMillis: 3_600_000, first: "end" })
      await clock.noted(1)
      clock.release()
    })
    expect(await within("waits", (probe) => probe.notes())).toEqual(["start 1, armed: null"])
    const notes = await within("waits", async (probe) => {
      probe.release()
      await probe.noted(4)
      return probe.notes()
    })
    expect(notes).toEqual(["start 1, armed: null", "end 1", "start 2, armed: null", "end 2"])
  })

  it("is delivered to the next life when the object dies in its delivery", async () => {
    await within("dies", (probe) => probe.begin({ inMillis: 1, againMillis: 1, first: "crash" }))
    await within("dies", (probe) => probe.noted(1))
    const death = within("dies", (probe) => {
      probe.release()
      return probe.noted(2)
    })
    await expect(death).rejects.toThrow("the object dies in its alarm")
    const notes = await within("dies", async (probe) => {
      await probe.noted(3)
      return probe.notes()
    })
    expect(notes).toEqual(["start 1, armed: null", "start 2, armed: null", "end 2"])
  })
})
