/**
 * `npm run simulate -- --controls`: broken copies of the product, each of which the simulation must catch.
 *
 * - C1 A few processes share the controls; each is loaded and run in one of them.
 * - C2 The exit code is 1 exactly if one was not caught by the invariant named for it, or is pinned to what does
 *   not show it.
 */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { table } from "table"
import type { Control } from "../testing/controls/Control.ts"
import { controls } from "../testing/controls/index.ts"
import { runPinned, searchFor, type Seeds, type Shown } from "../testing/controls/Run.ts"
import { UsageError } from "./flags.ts"

export interface ControlFlags {
  readonly only: string | undefined
  /** Ignores what is pinned. */
  readonly search: boolean
  readonly json: boolean
  readonly seeds: Seeds
  readonly workers: number
}

const chosen = (only: string | undefined): ReadonlyArray<Control> => {
  const found = controls.filter(({ name }) => only === undefined || name.includes(only))
  if (found.length > 0) return found
  const names = controls.map(({ name }) => `  ${name}`).join("\n")
  throw new UsageError(`--only names no control. There are:\n${names}`)
}

/** What one process does. */
interface Share extends Pick<ControlFlags, "search" | "seeds"> {
  readonly names: ReadonlyArray<string>
}

const failed = ({ invariant, name }: Control, error: unknown): Shown => ({
  name,
  invariant,
  caught: false,
  foundBy: [],
  where: undefined,
  seeds: 0,
  stale: error instanceof Error ? error.message : String(error),
})

const runShare = async ({ names, search, seeds }: Share): Promise<ReadonlyArray<Shown>> => {
  const all: Array<Shown> = []
  for (const control of controls.filter(({ name }) => names.includes(name))) {
    try {
      all.push(await (search ? searchFor(control, seeds) : runPinned(control)))
    } catch (error) {
      all.push(failed(control, error))
    }
  }
  return all
}

/** The shares of one process, in it. // C1 */
const inWorker = (share: Share): Promise<ReadonlyArray<Shown>> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [], {
      env: { ...process.env, SIMULATE_CONTROLS: JSON.stringify(share) },
    })
    child.once("message", (shown) => resolve(shown as ReadonlyArray<Shown>))
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`a worker ended with code ${code}`)))
  })

const runAll = async (flags: ControlFlags): Promise<ReadonlyArray<Shown>> => {
  const { search, seeds } = flags
  const names = chosen(flags.only).map(({ name }) => name)
  const workers = Math.min(flags.workers, names.length)
  if (workers === 1) return runShare({ names, search, seeds })
  const shares = Array.from({ length: workers }, (_, index) =>
    inWorker({ names: names.filter((_name, at) => at % workers === index), search, seeds }),
  )
  const all = (await Promise.all(shares)).flat()
  return names.flatMap((name) => all.filter((one) => one.name === name))
}

const rowOf = ({ caught, foundBy, invariant, name, seeds, stale, where }: Shown) => [
  name,
  invariant,
  foundBy.join(", ") || "nothing",
  where ?? "not found",
  typeof where === "number" || where === undefined ? seeds : "",
  caught ? "" : (stale ?? "NOT CAUGHT"),
]

const heading = ["control", "caught by", "found by", "seed", "seeds needed", ""]

export const showControls = async (flags: ControlFlags): Promise<void> => {
  const all = await runAll(flags)
  if (flags.json) console.log(JSON.stringify(all))
  else console.log(table([heading, ...all.map(rowOf)]))
  if (all.some(({ caught }) => !caught)) process.exitCode = 1 // C2
}

const share = process.env["SIMULATE_CONTROLS"]
if (share !== undefined) {
  process.send?.(await runShare(JSON.parse(share) as Share))
  process.disconnect()
}
