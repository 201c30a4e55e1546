/** The seeds that every change must survive. */
import { expect, it } from "vitest"
import { faultKinds } from "../../testing/Faults.ts"
import type { Violation } from "../../testing/Simulation.ts"
import { inNode } from "./inNode.ts"

interface Told {
  readonly schedules: number
  readonly faults: Record<string, number>
  readonly violations: ReadonlyArray<Violation>
}

it("holds every invariant on 300 seeds, in which every kind of fault has happened", async () => {
  const { code, output } = await inNode("scripts/simulate.ts", "--seeds", "1..300", "--json")
  const told = JSON.parse(output) as Told
  expect(told.violations).toEqual([])
  expect(told.schedules).toBe(300)
  expect(Object.keys(told.faults).toSorted()).toEqual([...faultKinds].toSorted())
  expect(code).toBe(0)
})
