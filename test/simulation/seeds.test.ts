/** The seeds that every change must survive. */
import { describe, expect, it } from "vitest"
import { faultKinds } from "../../testing/Faults.ts"
import type { Violation } from "../../testing/Simulation.ts"
import { inNode } from "./inNode.ts"

interface Told {
  readonly schedules: number
  readonly faults: Record<string, number>
  readonly violations: ReadonlyArray<Violation>
  readonly hashes: Readonly<Record<string, string>>
}

const simulated = async () => {
  const { code, output } = await inNode(
    "scripts/simulate.ts",
    "--seeds",
    "1..300",
    "--json",
    "--hashes",
  )
  return { code, told: JSON.parse(output) as Told }
}

/** The hashes of seeds that other processes ran, in another order and behind other seeds. */
const hashesElsewhere = async (): Promise<Record<string, string>> => {
  const shares = await Promise.all(
    [
      ["100", "51"],
      ["50", "1"],
    ].map((share) => inNode("test/simulation/hashes.ts", ...share)),
  )
  return Object.assign({}, ...shares.map(({ output }) => JSON.parse(output)))
}

describe("300 seeds", () => {
  it("hold every invariant in every kind of fault, and give the same traces in another process, whatever that ran before", async () => {
    const { code, told } = await simulated()
    expect(told.violations).toEqual([])
    expect(told.schedules).toBe(300)
    expect(Object.keys(told.faults).toSorted()).toEqual([...faultKinds].toSorted())
    expect(code).toBe(0)
    expect(new Set(Object.values(told.hashes)).size).toBe(300)
    const elsewhere = await hashesElsewhere()
    expect(Object.keys(elsewhere)).toHaveLength(100)
    expect(told.hashes).toMatchObject(elsewhere)
  })
})
