/** Runs seeds in a process of its own, and tells their hashes: `hashes.ts FROM TO`, in either order. */
import { drawPlan } from "../../testing/DrawPlan.ts"
import { runPlan } from "../../testing/Simulation.ts"

const [from = 1, to = 1] = process.argv.slice(2).map(Number)
const hashes: Record<number, string> = {}
for (let seed = from; from <= to ? seed <= to : seed >= to; seed += from <= to ? 1 : -1)
  hashes[seed] = (await runPlan(drawPlan(seed))).hash
process.stdout.write(JSON.stringify(hashes))
