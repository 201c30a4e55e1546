import { describe, expect, it } from "vitest"
import { resultOf } from "../../../bench/Measure.ts"
import { withResults } from "../../../bench/Results.ts"
import { atLeastOfFloor, type Row } from "../../../bench/Row.ts"

const about = {
  machine: {
    cpu: "a processor",
    cores: 2,
    memoryGiB: 24,
    platform: "linux x64",
    node: "v24.0.0",
    workerd: "1.0.0",
  },
  commit: "0123abc",
  date: "2026-01-31",
}

const row = (given: Partial<Row>): Row => ({
  name: "drain-a",
  title: "settled",
  unit: "/s",
  runs: 1,
  budget: undefined,
  measure: () => Promise.reject(new Error("is not measured")),
  ...given,
})

const budget = atLeastOfFloor(1)

const written = "before\n<!-- measured: begin -->\nof yesterday\n<!-- measured: end -->\nafter\n"

describe("the results that a whole run writes", () => {
  it("stand between their marks, each with its verdict, and nothing else changes", () => {
    const results = [
      resultOf(row({ budget }), [{ value: 1_500.4, floor: 1_000 }]),
      resultOf(row({ name: "drain-b", budget }), [{ value: 250, floor: 1_000 }]),
      resultOf(row({ name: "watchers-10", unit: "" }), [{ value: 3 }]),
    ]
    expect(withResults(written, about, results)).toBe(
      `before
<!-- measured: begin -->
2026-01-31, commit \`0123abc\`, local workerd 1.0.0, Node v24.0.0, 2 cores (a processor), 24 GiB, linux x64.

| row | what | value | floor | ratio | budget | |
| --- | --- | --- | --- | --- | --- | --- |
| \`drain-a\` | settled | 1,500 /s | 1,000 | 1.50 × | ≥ 1 × floor | holds |
| \`drain-b\` | settled | 250 /s | 1,000 | 0.25 × | ≥ 1 × floor | **missed** |
| \`watchers-10\` | settled | 3.00 |  |  |  |  |
<!-- measured: end -->
after
`,
    )
  })

  it("need their marks", () => {
    expect(() => withResults("no marks", about, [])).toThrow("has no place for results")
  })
})
