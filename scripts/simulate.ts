/**
 * `npm run simulate`: runs seeds of the deterministic simulation, and tells what it found.
 *
 * - S1 A few processes share the seeds, no more than there are cores; each seed runs alone in its process.
 * - S2 A failing seed is run again, made shorter, and told in words.
 * - S3 The exit code is 1 exactly if an invariant was violated, or a run could not be judged.
 */
import { fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { addCovered, type Covered, noCounts } from "../testing/Coverage.ts"
import { drawPlan } from "../testing/DrawPlan.ts"
import { shrink } from "../testing/Shrink.ts"
import { runPlan, type Violation } from "../testing/Simulation.ts"
import { coverageLines } from "../testing/CoverageTable.ts"
import { tell } from "../testing/Tell.ts"
import { showControls } from "./controls.ts"
import { flagsOf, runScript } from "./flags.ts"
import { type Asked, askedOf, type Range, simulateFlags } from "./simulateFlags.ts"

const usage = `usage: npm run simulate -- --seeds A..B [--json [--hashes]] [--workers N]
       npm run simulate -- --seed N [--trace | --json]
       npm run simulate -- --controls [--only NAME] [--search [--seeds A..B]] [--json] [--workers N]

Runs seeds of the simulation. --hashes also tells the trace hash of each. --seed N runs one; --trace prints all that happened in it. --controls runs broken
copies of the product, which the simulation must catch: as they are pinned, or by --search at random.`

interface Found {
  schedules: number
  submissions: number
  readonly faults: Record<string, number>
  readonly covered: Covered
  readonly violations: Array<Violation>
  /** Of its trace, by seed. */
  readonly hashes: Record<number, string>
}

const nothing = (): Found => ({
  schedules: 0,
  submissions: 0,
  faults: {},
  covered: noCounts(),
  violations: [],
  hashes: {},
})

const add = (all: Found, one: Found): void => {
  all.schedules += one.schedules
  all.submissions += one.submissions
  for (const [kind, count] of Object.entries(one.faults))
    all.faults[kind] = (all.faults[kind] ?? 0) + count
  addCovered(all.covered, one.covered)
  all.violations.push(...one.violations)
  Object.assign(all.hashes, one.hashes)
}

const violationsKept = 100

const runSeeds = async (seeds: Iterable<number>): Promise<Found> => {
  const found = nothing()
  for (const seed of seeds) {
    found.schedules += 1
    try {
      const { covered, faults, hash, submissions, violations } = await runPlan(drawPlan(seed))
      const kept = violations.slice(0, Math.max(0, violationsKept - found.violations.length))
      add(found, {
        schedules: 0,
        submissions,
        faults: { ...faults } as Record<string, number>,
        covered,
        violations: kept,
        hashes: { [seed]: hash },
      })
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
      found.violations.push({ seed, invariant: "the run itself", detail })
    }
  }
  return found
}

const every = function* (from: number, to: number, by: number) {
  for (let seed = from; seed <= to; seed += by) yield seed
}

interface Share {
  readonly from: number
  readonly to: number
  readonly by: number
}

const inWorker = (share: Share): Promise<Found> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [], {
      // A run makes much that is soon forgotten, and there is a process for each core.
      execArgv: [...process.execArgv, "--single-threaded-gc", "--max-semi-space-size=64"],
      env: { ...process.env, SIMULATE_SHARE: JSON.stringify(share) },
    })
    child.once("message", (found) => resolve(found as Found))
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`a worker ended with code ${code}`)))
  })

const runShared = async ({ from, to }: Range, workers: number): Promise<Found> => {
  if (workers === 1) return runSeeds(every(from, to, 1))
  const shares = Array.from({ length: workers }, (_, index) =>
    inWorker({ from: from + index, to, by: workers }),
  )
  const all = nothing()
  for (const found of await Promise.all(shares)) add(all, found)
  return all
}

type Of<Tag extends Asked["_tag"]> = Extract<Asked, { readonly _tag: Tag }>

const one = async (seed: number, trace: boolean): Promise<void> => {
  const outcome = await runPlan(drawPlan(seed), { traceLines: trace ? 1_000_000 : 0 })
  for (const line of outcome.lines) console.log(line)
  console.log(
    `seed ${seed}: trace ${outcome.hash}, ${outcome.steps} steps, ${outcome.submissions} submissions`,
  )
  for (const { detail, invariant } of outcome.violations) console.log(`${invariant}: ${detail}`)
  await tellShortest(outcome.violations)
  if (outcome.violations.length > 0) process.exitCode = 1 // S3
}

/** S2 */
const tellShortest = async ([violation]: ReadonlyArray<Violation>): Promise<void> => {
  if (violation === undefined) return
  const shortest = await shrink(drawPlan(violation.seed), violation.invariant) // S2
  if (shortest !== undefined) for (const line of tell(shortest)) console.log(line)
}

/** What was found, for machines or in words. */
const show = async (found: Found, asked: Of<"Seeds">, seconds: number): Promise<void> => {
  const { faults, schedules, violations } = found
  const perSecond = Math.round((schedules / seconds) * 10) / 10
  const hashes = asked.hashes ? { hashes: found.hashes } : {}
  if (asked.json) {
    console.log(JSON.stringify({ schedules, perSecond, faults, violations, ...hashes }))
    return
  }
  console.log(`${schedules} schedules, ${perSecond} a second, ${found.submissions} submissions`)
  for (const line of coverageLines(found.covered, faults)) console.log(line)
  for (const { detail, invariant, seed } of violations)
    console.log(`seed ${seed}: ${invariant}: ${detail}`)
  await tellShortest(violations)
}

const runAll = async (asked: Of<"Seeds">): Promise<void> => {
  const { from, to } = asked.seeds
  const begun = performance.now()
  const found = await runShared(asked.seeds, asked.workers)
  await show(found, asked, (performance.now() - begun) / 1_000)
  const planned = to - from + 1
  if (found.schedules !== planned)
    throw new Error(`${found.schedules} schedules ran, and ${planned} should have`) // S3
  if (found.violations.length > 0) process.exitCode = 1 // S3
}

const main = async (): Promise<void> => {
  const asked = askedOf(flagsOf(simulateFlags), availableParallelism()) // S1
  switch (asked._tag) {
    case "Controls":
      return showControls(asked)
    case "Seeds":
      return runAll(asked)
    case "One": {
      const { json, seed, trace } = asked
      if (!json) return one(seed, trace)
      const seeds = { from: seed, to: seed }
      return runAll({ _tag: "Seeds", seeds, workers: 1, json, hashes: false })
    }
  }
}

const share = process.env["SIMULATE_SHARE"]
if (share === undefined) await runScript(usage, main)
else {
  const { by, from, to } = JSON.parse(share) as Share
  process.send?.(await runSeeds(every(from, to, by)))
  process.disconnect()
}
