import { describe, expect, it } from "vitest"
import { longFrom, makeFirstStep } from "../../../scripts/demo/Moment.ts"
import { planOf } from "../../../scripts/demo/Plan.ts"
import { frame } from "./FakeServer.ts"

describe("the moment of the kill", () => {
  it("is the first recorded step of a run, of each run anew", () => {
    const isFirstStep = makeFirstStep()
    const kinds = ["StepCompleted", "InputApplied", "Progress", "StepCompleted", "StepCompleted"]
    const seen = [...kinds, "Settled", ...kinds].map((kind) => isFirstStep(frame(kind as never)))
    const once = [false, false, false, true, false]
    expect(seen).toEqual([...once, false, ...once])
    expect(isFirstStep({ _tag: "Opened", tailSequence: 0 })).toBe(false)
  })

  it("is looked for in the longest quarter of the documents", () => {
    const plan = (count: number) =>
      planOf(
        Array.from({ length: count }, (_, n) => ({ name: `${n}.md`, text: "x".repeat(n + 1) })),
      )
    expect(longFrom(plan(8))).toBe(6)
    expect(longFrom(plan(1))).toBe(1)
    expect(longFrom([])).toBe(0)
  })
})
