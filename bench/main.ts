/**
 * `npm run bench`: the floor, the product and how it scales, measured in one run against local workerd.
 *
 * It ends by itself: each row is bounded, and so is how often it is measured. The floor and the product take turns in
 * each run of a row, so that a slow moment meets both. A missed budget is told, and is no failure of the command.
 */
import { writeFileSync } from "node:fs"
import { flagsOf, runScript, UsageError } from "../scripts/flags.ts"
import { chartRows } from "./Charts.ts"
import { countCosts, writeTables } from "./cost/Costs.ts"
import { benchFile, thisCommit, thisMachine } from "./Machine.ts"
import { measureRow, type Result } from "./Measure.ts"
import type { Chart, Row } from "./Row.ts"
import { writeResults } from "./Results.ts"
import { countRows } from "./rows/Counts.ts"
import { drainRows } from "./rows/Drain.ts"
import { latencyRows } from "./rows/Latency.ts"
import { recoveryChart, recoveryRows } from "./rows/Recovery.ts"
import { scaleCharts, scaleRows } from "./rows/Scale.ts"
import { sustainedRows } from "./rows/Sustained.ts"
import { waitingRows } from "./rows/Waiting.ts"
import { buildBoth, serveFloor, serveProduct } from "./Served.ts"
import { jsonOf, tableOf } from "./Table.ts"

const usage = `usage: npm run bench [-- --json] [-- --only NAME] [-- --list]
       npm run bench -- --cost | --tables

Measures the product against a bare implementation of the same job, in one run on this machine: about a quarter of an hour,
five minutes of it a steady load.
--only NAME runs the rows whose name begins so; --json prints one object; --list tells the rows. A whole run writes what it
measured into bench/RESULTS.md and bench/charts/.
--cost counts what submissions use of what the platform bills, in about eight minutes, and writes the tables of docs/cost.md;
--tables writes them from what was counted last.`

const rows: ReadonlyArray<Row> = [
  ...drainRows,
  ...latencyRows,
  ...waitingRows,
  ...countRows,
  ...scaleRows,
  ...recoveryRows,
  ...sustainedRows,
]

const charts: ReadonlyArray<Chart> = [...scaleCharts, recoveryChart]

const chosen = (only: string | undefined): ReadonlyArray<Row> => {
  const found = only === undefined ? rows : rows.filter(({ name }) => name.startsWith(only))
  if (found.length > 0) return found
  throw new UsageError(`no row begins with ${only}: see --list`)
}

const measureAll = async (
  wanted: ReadonlyArray<Row>,
  tell: (text: string) => void,
): Promise<ReadonlyArray<Result>> => {
  tell("building both Workers…\n")
  const builds = await buildBoth()
  const product = await serveProduct(builds)
  const floor = await serveFloor(builds)
  try {
    const results: Array<Result> = []
    for (const row of wanted) {
      tell(`${row.name} `)
      try {
        results.push(await measureRow({ product, floor, builds }, row, () => tell(".")))
        tell("\n")
      } catch (error) {
        // The others are measured all the same.
        process.exitCode = 1
        tell(`was not measured: ${error instanceof Error ? error.message : String(error)}\n`)
      }
    }
    return results
  } finally {
    await product.stop()
    await floor.stop()
  }
}

const main = async (): Promise<void> => {
  const flags = flagsOf({
    json: { type: "boolean", default: false },
    only: { type: "string" },
    list: { type: "boolean", default: false },
    cost: { type: "boolean", default: false },
    tables: { type: "boolean", default: false },
  })
  if (flags.list) {
    for (const { name, title } of rows) console.log(`${name.padEnd(20)} ${title}`)
    return
  }
  const tell = (text: string): void => void process.stderr.write(text)
  if (flags.tables) return writeTables()
  if (flags.cost) return countCosts(tell)
  const wanted = chosen(flags.only)
  const results = await measureAll(wanted, tell)
  const about = {
    machine: thisMachine(),
    commit: thisCommit(),
    date: new Date().toISOString().slice(0, 10),
  }
  if (flags.only === undefined && results.length === rows.length) {
    for (const { name, svg } of chartRows(charts, results))
      writeFileSync(benchFile("charts", `${name}.svg`), svg)
    writeResults(about, results)
  }
  console.log(flags.json ? jsonOf(about, results) : tableOf(results))
}

await runScript(usage, main)
process.exit(process.exitCode ?? 0)
