/** Runs seeds in a process of its own, from the last to the first, and tells their hashes: `hashes.ts LAST FIRST`. */
import { drawPlan } from "../../testing/DrawPlan.ts"
import { runPlan } from "../../testing/Simulation.ts"

const [last = 1, first = 1] = process.argv.slice(2).map(Number)
const hashes: Record<number, string> = {}
for (let seed = last; seed >= first; seed--) hashes[seed] = (await runPlan(drawPlan(seed))).hash
process.stdout.write(JSON.stringify(hashes))
