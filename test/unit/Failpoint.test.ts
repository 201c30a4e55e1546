import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { bracket, CurrentFailpoints, type Failpoints, inert } from "../../platform/Failpoint.ts"

/** Failpoints that note what was reached, and die at one of them. */
const crashingAt = (crashPoint: string | null) => {
  const reached: Array<string> = []
  const failpoints: Failpoints = {
    reach: (point) =>
      Effect.suspend(() => {
        reached.push(point)
        return point === crashPoint ? Effect.die(`crash at ${point}`) : Effect.void
      }),
  }
  return { reached, failpoints }
}

/** A block that counts its runs; the outcome of bracketing it. */
const runBlock = (failpoints: Failpoints) => {
  const block = { runs: 0 }
  const exit = Effect.runSyncExit(bracket(failpoints, "admit", () => (block.runs += 1)))
  return { exit, runs: block.runs }
}

describe("failpoints", () => {
  it("are inert unless a test's layer says otherwise", () => {
    expect(Effect.runSync(CurrentFailpoints)).toBe(inert)
    const { failpoints } = crashingAt(null)
    const set = Effect.provideService(CurrentFailpoints, CurrentFailpoints, failpoints)
    expect(Effect.runSync(set)).toBe(failpoints)
  })

  it("let a block run once, and give its answer, when inert", () => {
    const { exit, runs } = runBlock(inert)
    expect(exit).toEqual(Exit.succeed(1))
    expect(runs).toBe(1)
  })

  it("run no block before the effect itself runs", () => {
    let runs = 0
    const effect = bracket(inert, "admit", () => (runs += 1))
    expect(runs).toBe(0)
    Effect.runSync(effect)
    expect(runs).toBe(1)
  })

  it("are reached before and after the block that they bracket", () => {
    const { reached, failpoints } = crashingAt(null)
    expect(runBlock(failpoints)).toEqual({ exit: Exit.succeed(1), runs: 1 })
    expect(reached).toEqual(["admit:before", "admit:after"])
  })

  it("keep a block from running when the crash comes before it", () => {
    const { exit, runs } = runBlock(crashingAt("admit:before").failpoints)
    expect(Exit.isFailure(exit)).toBe(true)
    expect(runs).toBe(0)
  })

  it("leave what a block did when the crash comes after it", () => {
    const { exit, runs } = runBlock(crashingAt("admit:after").failpoints)
    expect(Exit.isFailure(exit)).toBe(true)
    expect(runs).toBe(1)
  })

  it("pass on what a block throws without reaching the point after it", () => {
    const { reached, failpoints } = crashingAt(null)
    const exit = Effect.runSyncExit(
      bracket(failpoints, "admit", () => {
        throw new Error("the block fails")
      }),
    )
    expect(Exit.isFailure(exit)).toBe(true)
    expect(reached).toEqual(["admit:before"])
  })
})
