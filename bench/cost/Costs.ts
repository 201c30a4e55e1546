/**
 * `npm run bench -- --cost`: counts what submissions use of what the platform bills, keeps that in `bench/counts.json`, and
 * writes the tables of `docs/cost.md` from it. `--tables` writes them from what was counted last.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { repositoryRoot } from "../../scripts/workerBuild.ts"
import { benchFile, thisCommit, thisMachine } from "../Machine.ts"
import { buildBoth } from "../Served.ts"
import { countGrowth, countUsages, measureRequest, measureStored } from "./Count.ts"
import { measurePaces } from "./Paces.ts"
import { withTables } from "./Tables.ts"
import type { Counted } from "./Usage.ts"

const countsFile = benchFile("counts.json")

const documentFile = join(repositoryRoot, "docs", "cost.md")

export const readCounted = (): Counted => JSON.parse(readFileSync(countsFile, "utf8")) as Counted

/** Writes the tables from what was counted last. */
export const writeTables = (): void => {
  writeFileSync(documentFile, withTables(readFileSync(documentFile, "utf8"), readCounted()))
}

const count = async (tell: (text: string) => void): Promise<Counted> => {
  tell("building both Workers…\n")
  const builds = await buildBoth()
  const usages = await countUsages(builds, tell)
  const requestMillis = await measureRequest(builds)
  tell("request ")
  const stored = await measureStored(builds)
  tell("stored ")
  const growth = await countGrowth(builds)
  tell("growth ")
  const paces = await measurePaces(builds)
  tell("paces\n")
  const { cores, cpu, workerd } = thisMachine()
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: thisCommit(),
    machine: `${cores} cores (${cpu}), workerd ${workerd}`,
    usages,
    requestMillis,
    growth,
    paces,
    stored,
  }
}

export const countCosts = async (tell: (text: string) => void): Promise<void> => {
  writeFileSync(countsFile, `${JSON.stringify(await count(tell), null, 2)}\n`)
  writeTables()
}
