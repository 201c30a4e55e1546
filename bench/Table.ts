/** What was measured, as a table for people and as one JSON object for programs. */
import { table } from "table"
import type { Result } from "./Measure.ts"

export const numberText = (value: number): string => {
  if (!Number.isFinite(value)) return "–"
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en-US")
  if (Math.abs(value) >= 100) return value.toFixed(0)
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

const verdictOf = ({ holds }: Result): string => {
  if (holds === undefined) return ""
  return holds ? "holds" : "MISSED"
}

const spreadOf = ({ samples, spread: [least, most] }: Result): string =>
  samples.length < 2 ? "" : `${numberText(least)} – ${numberText(most)}`

export const ratioOf = ({ floor, value }: Result): string =>
  floor === undefined ? "" : `${(value / floor).toFixed(2)} ×`

export const tableOf = (results: ReadonlyArray<Result>): string =>
  table([
    ["row", "what", "value", "spread", "floor", "ratio", "budget", ""],
    ...results.map((result) => [
      result.row.name,
      result.row.title,
      `${numberText(result.value)}${result.row.unit === "" ? "" : ` ${result.row.unit}`}`,
      spreadOf(result),
      result.floor === undefined ? "" : numberText(result.floor),
      ratioOf(result),
      result.row.budget?.text ?? "",
      verdictOf(result),
    ]),
  ])

/** The machine, as far as a figure depends on it. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly platform: string
  readonly node: string
  readonly workerd: string
}

/** What a run was of, and when. */
export interface About {
  readonly machine: Machine
  readonly commit: string
  readonly date: string
}

export const jsonOf = (about: About, results: ReadonlyArray<Result>): string =>
  JSON.stringify({
    ...about,
    rows: results.map(({ floor, holds, row, samples, spread, value }) => ({
      name: row.name,
      title: row.title,
      unit: row.unit,
      value,
      floor: floor ?? null,
      budget: row.budget?.text ?? null,
      holds: holds ?? null,
      runs: samples.length,
      spread,
    })),
  })
