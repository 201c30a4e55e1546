/** Whether a thread was paused, whatever else is the matter with it. */
import { describe, expect, it } from "vitest"
import { isPaused, pauseCommand, standingOf } from "../../../console/lib/Standing.ts"

type Open = Parameters<typeof standingOf>[0]

const heldBy = (...blockers: ReadonlyArray<string>): Open =>
  [{ state: "ready", heldBy: blockers.map((blocker) => ({ blocker })) }] as unknown as Open

describe("a thread that is paused", () => {
  it("is so beside a fault, which is told first", () => {
    const open = heldBy("paused", "fault")
    expect(standingOf(open, undefined)).toBe("faulted")
    expect(isPaused(open)).toBe(true)
  })

  it("is so by its own word where something is open, however its lane was seen before", () => {
    expect(isPaused(heldBy("fault"), { paused: true })).toBe(false)
    expect(isPaused(heldBy("paused"), { paused: false })).toBe(true)
  })

  it("is resumed with what is told of its pause, and paused where it is not", () => {
    const open = [{ heldBy: [{ blocker: "paused", message: "by bob" }] }] as unknown as Open
    expect(pauseCommand("a", open)).toEqual({ kind: "resume", threadId: "a", told: "by bob" })
    expect(pauseCommand("a", [], { paused: true })).toEqual({ kind: "resume", threadId: "a" })
    expect(pauseCommand("a", heldBy("fault"))).toEqual({ kind: "pause", threadId: "a" })
  })

  it("is so as it was last heard of where nothing is open, or nothing can be asked", () => {
    expect(isPaused([], undefined, { paused: true })).toBe(true)
    expect(isPaused([], { paused: false }, { paused: true })).toBe(false)
    expect(isPaused([])).toBe(false)
  })
})
