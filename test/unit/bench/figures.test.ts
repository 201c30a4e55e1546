/** What the benchmark makes of figures: medians, verdicts, commits in a log, the table and the charts. */
import { DatabaseSync } from "node:sqlite"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { chartRows } from "../../../bench/Charts.ts"
import { commitsBetween, commitsIn } from "../../../bench/DurableCommits.ts"
import { resultOf } from "../../../bench/Measure.ts"
import { filesOf, sharesOf } from "../../../bench/Profile.ts"
import { atLeastOfFloor, atMost, atMostOfFloor, type Budget, median } from "../../../bench/Row.ts"
import { jsonOf, tableOf } from "../../../bench/Table.ts"

const rowOf = (name: string, budget: Budget | undefined) => ({
  name,
  title: `what ${name} is`,
  unit: "ms",
  budget,
  runs: 3,
  measure: () => Promise.resolve({ value: 0 }),
})

const result = resultOf(rowOf("one", atMostOfFloor(1.5)), [
  { value: 14, floor: 10 },
  { value: 90, floor: 10 },
  { value: 16, floor: 10 },
])

describe("a figure", () => {
  it("is the median of its runs, whatever one of them met", () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2)
    expect(median([])).toBeNaN()
    expect(result).toMatchObject({ value: 16, floor: 10, spread: [14, 90], holds: false })
  })

  it("holds its budget up to the bound, and not beyond it", () => {
    for (const [budget, holds, misses] of [
      [atMost(3), { value: 3 }, { value: 3.01 }],
      [atMostOfFloor(2), { value: 20, floor: 10 }, { value: 21, floor: 10 }],
      [atLeastOfFloor(0.5), { value: 5, floor: 10 }, { value: 4.9, floor: 10 }],
      // Without its floor a ratio holds for nothing.
      [atLeastOfFloor(0.5), { value: 5, floor: 10 }, { value: 5 }],
    ] as const) {
      expect([budget.text, budget.holds(holds)]).toEqual([budget.text, true])
      expect([budget.text, budget.holds(misses)]).toEqual([budget.text, false])
    }
  })

  it("without a budget has no verdict", () => {
    expect(resultOf(rowOf("two", undefined), [{ value: 1 }])).toMatchObject({
      holds: undefined,
      floor: undefined,
    })
  })

  it("is told as a table and as one object", () => {
    expect(tableOf([result])).toMatch(/what one is.*16\.0 ms.*14\.0 – 90\.0.*1\.60 ×.*MISSED/)
    const machine = { cpu: "c", cores: 2, memoryGiB: 1, platform: "p", node: "n", workerd: "w" }
    expect(JSON.parse(jsonOf({ machine, commit: "abc", date: "d" }, [result]))).toMatchObject({
      commit: "abc",
      rows: [{ name: "one", value: 16, floor: 10, budget: "≤ 1.5 × floor", holds: false, runs: 3 }],
    })
  })
})

describe("a chart", () => {
  const chart = { name: "c", title: "a < b", x: "x", y: "y", points: [{ row: "one", at: 10 }] }

  it("draws what was measured, and is none without one of its rows", () => {
    const [drawn, ...more] = chartRows([chart], [result])
    expect(more).toEqual([])
    expect(drawn?.svg).toContain("a &lt; b")
    expect(drawn?.svg).toContain(">16<")
    const missing = { ...chart, points: [...chart.points, { row: "none", at: 20 }] }
    expect(chartRows([missing], [result])).toEqual([])
  })
})

describe("the commits in a log", () => {
  it("are those that SQLite has made, and none of the log before", () => {
    const folder = mkdtempSync(join(tmpdir(), "heddle-wal-"))
    try {
      const path = join(folder, "a.sqlite")
      const database = new DatabaseSync(path)
      const look = () => commitsIn(readFileSync(`${path}-wal`))
      database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
      const before = look()
      for (let at = 0; at < 7; at++) database.exec(`INSERT INTO t VALUES (${at})`)
      database.exec("BEGIN; INSERT INTO t VALUES (8); INSERT INTO t VALUES (9); COMMIT")
      expect(commitsBetween(before, look())).toBe(8)
      database.exec("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (10)")
      expect(look().commits).toBe(1)
      expect(() => commitsBetween(before, look())).toThrow(/anew/)
      database.close()
    } finally {
      rmSync(folder, { recursive: true })
    }
    expect(commitsIn(Buffer.alloc(0)).commits).toBe(0)
  })
})

describe("samples of what is computed", () => {
  const at = (
    id: number,
    functionName: string,
    lineNumber: number,
    children: Array<number> = [],
  ) => ({
    id,
    callFrame: { functionName, url: functionName.startsWith("(") ? "" : "worker.js", lineNumber },
    children,
  })

  it("belong to the innermost function of one of the folders, and to nobody without one", () => {
    const files = filesOf("// ../../owner-object/Pass.ts\na\n// ../../node_modules/effect/a.js\nb")
    expect(files).toEqual([
      "owner-object/Pass.ts",
      "owner-object/Pass.ts",
      "node_modules/effect/a.js",
      "node_modules/effect/a.js",
    ])
    const nodes = [
      at(1, "(root)", -1, [2, 4, 5, 6]),
      at(2, "pass", 1, [3]),
      at(3, "map", 3),
      at(4, "map", 3),
      at(5, "(idle)", -1),
      at(6, "(garbage collector)", -1),
    ]
    const profile = { nodes, samples: [2, 3, 4, 5, 5, 5, 6] }
    expect(sharesOf(profile, files, ["owner-object", "client"])).toEqual({
      "owner-object": 0.5,
      client: 0,
    })
  })
})
