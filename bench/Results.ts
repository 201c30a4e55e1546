/**
 * `RESULTS.md`: what a whole run was of, and its rows, are written into it; what is said about them is for people to write.
 *
 * - W1 Only what stands between the marks changes.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { benchFile } from "./Machine.ts"
import type { Result } from "./Measure.ts"
import { type About, numberText, ratioOf } from "./Table.ts"

const begin = "<!-- measured: begin -->\n"
const end = "<!-- measured: end -->"

const verdictOf = ({ holds }: Result): string => {
  if (holds === undefined) return ""
  return holds ? "holds" : "**missed**"
}

const lineOf = (result: Result): string => {
  const { floor, row, value } = result
  const cells = [
    `\`${row.name}\``,
    row.title,
    `${numberText(value)}${row.unit === "" ? "" : ` ${row.unit}`}`,
    floor === undefined ? "" : numberText(floor),
    ratioOf(result),
    row.budget?.text ?? "",
    verdictOf(result),
  ]
  return `| ${cells.join(" | ")} |`
}

/** The document with these results in place of those that it had. */
export const withResults = (
  document: string,
  { commit, date, machine }: About,
  results: ReadonlyArray<Result>,
): string => {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)]
  if (from < 0 || to < from) throw new Error("the document has no place for results")
  const { cores, cpu, memoryGiB, node, platform, workerd } = machine
  const lines = [
    `${date}, commit \`${commit}\`, local workerd ${workerd}, Node ${node}, ${cores} cores (${cpu}), ${memoryGiB} GiB, ${platform}.`,
    "",
    "| row | what | value | floor | ratio | budget | |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...results.map(lineOf),
    "",
  ]
  return document.slice(0, from + begin.length) + lines.join("\n") + document.slice(to) // W1
}

export const writeResults = (about: About, results: ReadonlyArray<Result>): void => {
  const file = benchFile("RESULTS.md")
  writeFileSync(file, withResults(readFileSync(file, "utf8"), about, results))
}
