import { describe, expect, it } from "vitest"
import type { HeadAnswer } from "../../../contracts/ThreadRpc.ts"
import {
  attemptsOf,
  noTally,
  readTotals,
  tallied,
  totalNames,
  totalsText,
  type Totals,
} from "../../../owner-object/Totals.ts"

const answers = (...of: ReadonlyArray<readonly [string, string]>) =>
  of.map(([_tag, submissionId]) => ({ _tag, submissionId })) as unknown as ReadonlyArray<HeadAnswer>

describe("the attempts of a turn", () => {
  it("are those that it has started: not one that ran before it, and none that was refused", () => {
    const heads = answers(["Settled", "one"], ["Running", "two"], ["NeedsRecovery", "three"])
    expect(attemptsOf(heads, undefined)).toBe(2)
    expect(attemptsOf(heads, "one")).toBe(1)
    expect(attemptsOf(answers(["Running", "two"]), "two")).toBe(0)
    expect(attemptsOf([{ _tag: "Paused" }], undefined)).toBe(0)
  })
})

describe("totals", () => {
  it("come back as they were stored, and add up", () => {
    const totals = Object.fromEntries(totalNames.map((name, at) => [name, at + 1])) as Totals
    expect(readTotals(totalsText(totals))).toEqual(totals)
    expect(tallied(totals, { accepted: 2 })).toEqual({ ...totals, accepted: 3 })
    expect(tallied(noTally, totals)).toBe(totals)
  })

  it("that do not decode are none so far", () => {
    for (const damaged of [null, 7, "", "{", "{}", '["x",-1,1.5,1e300]'])
      expect(readTotals(damaged)).toEqual({})
    expect(readTotals("[3,null,2]")).toEqual({ accepted: 3, failed: 2 })
  })
})
