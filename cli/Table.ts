/** Tables and lists of fields as text: without frames, so that they can be read, cut and searched. */
import { getBorderCharacters, table } from "table"
import { plain, shortened } from "./Plain.ts"

export type Cell = string | number | boolean | undefined

const textOf = (cell: Cell): string => {
  if (cell === undefined) return "-"
  if (cell === true) return "yes"
  if (cell === false) return "no"
  return plain(String(cell))
}

const draw = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  table(
    rows.map((row) => [...row]),
    {
      border: getBorderCharacters("void"),
      columnDefault: { paddingLeft: 0, paddingRight: 2 },
      drawHorizontalLine: () => false,
    },
  )
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd()

/** A row of headings and the rows; a cell is cut at `cellCharactersMax`, the last of a row too. */
export const listTable = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>,
  cellCharactersMax = Number.POSITIVE_INFINITY,
): string =>
  draw([
    headings.map((heading) => heading.toUpperCase()),
    ...rows.map((row) => row.map((cell) => shortened(textOf(cell), cellCharactersMax))),
  ])

/** Names and values below each other; those without a value are left out. */
export const fields = (pairs: Readonly<Record<string, Cell>>): string =>
  draw(
    Object.entries(pairs)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, textOf(value)]),
  )
