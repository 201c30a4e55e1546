/** A seed is a whole run: what surrounds it comes from the seed, too. */
import { describe, expect, it } from "vitest"
import { withAmbient } from "../../testing/Ambient.ts"
import { makeRandom } from "../../testing/Random.ts"

describe("what surrounds a run", () => {
  const surrounded = <A>(work: () => A): { readonly leaks: Array<string>; readonly answer: A } => {
    const leaks: Array<string> = []
    const answer = withAmbient(
      { random: makeRandom(7), now: () => 1234, onLeak: (what) => void leaks.push(what) },
      work,
    )
    return { leaks, answer }
  }

  it("draws time and chance from the seed", () => {
    const draw = () => [Date.now(), performance.now(), Math.random(), crypto.randomUUID()]
    expect(surrounded(draw).answer).toEqual(surrounded(draw).answer)
    expect(surrounded(draw).answer.slice(0, 2)).toEqual([1234, 1234])
  })

  it("tells of every timer that was started behind the queue's back, and never fires it", () => {
    let fired = false
    const { leaks } = surrounded(() => {
      setTimeout(() => (fired = true), 0)
      setImmediate(() => (fired = true))
      setInterval(() => (fired = true), 1)
    })
    expect(leaks).toEqual(["setTimeout", "setImmediate", "setInterval"])
    expect(fired).toBe(false)
  })

  it("is put back, whatever the run comes to", () => {
    const before = [Date.now, Math.random, setTimeout, Error.stackTraceLimit]
    expect(() =>
      surrounded(() => {
        throw new Error("it broke")
      }),
    ).toThrow("it broke")
    expect([Date.now, Math.random, setTimeout, Error.stackTraceLimit]).toEqual(before)
  })
})
