/**
 * Coverage in words: how often each failpoint was reached and crashed at, and what recovery decided next; which
 * decisions followed which faults; and what of all that never happened.
 *
 * - H1 What cannot happen is no hole. Each such thing has its reason here; if it happens after all, that is told.
 */
import { RecoveryDecision } from "../contracts/Recovery.ts"
import { ownerFailpoints } from "../owner-object/Owner.ts"
import { threadFailpoints } from "../thread-actors/ThreadFailpoints.ts"
import { type Counts, type Covered, pairOf } from "./Coverage.ts"
import { faultKinds } from "./Faults.ts"
import { undrawnPoints } from "./DrawPlan.ts"

/** Every failpoint of the objects, as coverage names it. */
export const allPoints: ReadonlyArray<string> = [
  ...ownerFailpoints.flatMap((name) => [`owner ${name}:before`, `owner ${name}:after`]),
  ...threadFailpoints
    .filter((name) => !undrawnPoints.includes(name))
    .flatMap((name) => [`thread ${name}:before`, `thread ${name}:after`]),
]

/** Decisions that no `recover` can answer with. // H1 */
export const impossibleDecisions: Readonly<Record<string, string>> = {
  NoAction: "recovery looks at what is open only",
  SettleWithHost: "the block that settles a run settles what has joined it",
}

/** The decisions that recovery can come to. */
export const allDecisions: ReadonlyArray<string> = RecoveryDecision.members[0].literals.filter(
  (name) => !Object.hasOwn(impossibleDecisions, name),
)

/** What is in the first list and has never happened. */
export const holes = (names: ReadonlyArray<string>, counts: Counts): ReadonlyArray<string> =>
  names.filter((name) => counts[name] === undefined)

/** What cannot happen, and did. // H1 */
const wonders = ({ decisions }: Covered): ReadonlyArray<string> =>
  Object.keys(impossibleDecisions).filter((name) => decisions[name] !== undefined)

interface Column {
  readonly head: string
  readonly of: (row: string) => number | undefined
}

const table = (
  head: string,
  rows: ReadonlyArray<string>,
  columns: ReadonlyArray<Column>,
): ReadonlyArray<string> => {
  const first = Math.max(head.length, ...rows.map((row) => row.length))
  const cells = columns.map(({ head: title, of }) => {
    const column = [title, ...rows.map((row) => String(of(row) ?? "."))]
    const width = Math.max(...column.map((cell) => cell.length))
    return column.map((cell) => cell.padStart(width))
  })
  return [head, ...rows].map((row, index) =>
    [row.padEnd(first), ...cells.map((column) => column[index] ?? "")].join("  "),
  )
}

const decisionColumns = (counts: Counts): ReadonlyArray<Column> =>
  allDecisions.map((decision) => ({ head: decision, of: (row) => counts[pairOf(row, decision)] }))

const listed = (title: string, counts: Counts): string =>
  `${title}: ${Object.entries(counts)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")}`

const told = (title: string, names: ReadonlyArray<string>): string =>
  `${title}: ${names.join(", ") || "none"}`

/** More names than these are told by their number; the table shows them. */
const namedMax = 8

/** Pairs that never happened, by their second part. */
const pairHoles = (rows: ReadonlyArray<string>, counts: Counts): ReadonlyArray<string> =>
  allDecisions.flatMap((decision) => {
    const missing = rows.filter((row) => counts[pairOf(row, decision)] === undefined)
    if (missing.length === 0) return []
    const names = missing.length > namedMax ? "the dots above" : missing.join(", ")
    return [`  ${decision}: ${missing.length} of ${rows.length}: ${names}`]
  })

export const coverageLines = (
  covered: Covered,
  faults: Readonly<Partial<Record<string, number>>>,
): ReadonlyArray<string> => {
  const happened = faults as Counts
  const point = (counts: Counts, head: string): Column => ({ head, of: (row) => counts[row] })
  return [
    "What recovery decided next after a crash at a failpoint:",
    ...table("failpoint", allPoints, [
      point(covered.points, "reached"),
      point(covered.crashes, "crashed"),
      ...decisionColumns(covered.recovered),
    ]),
    "",
    "What recovery decided in a run in which a fault had happened:",
    ...table(
      "fault",
      ["any", ...faultKinds],
      [
        {
          head: "happened",
          of: (row) =>
            row === "any" ? Object.values(happened).reduce((a, b) => a + b, 0) : happened[row],
        },
        ...allDecisions.map((decision) => ({
          head: decision,
          of: (row: string) =>
            row === "any" ? covered.decisions[decision] : covered.after[pairOf(row, decision)],
        })),
      ],
    ),
    "",
    listed("answers", covered.answers),
    told("failpoints never reached", holes(allPoints, covered.points)),
    told("failpoints never crashed at", holes(allPoints, covered.crashes)),
    told("decisions never made", holes(allDecisions, covered.decisions)),
    told("faults that never happened", holes(faultKinds, happened)),
    "decisions never made in a run with a fault:",
    ...pairHoles(faultKinds, covered.after),
    "decisions never made next after a crash at a failpoint:",
    ...pairHoles(allPoints, covered.recovered),
    "what cannot happen:",
    ...Object.entries(impossibleDecisions).map(([name, reason]) => `  ${name}: ${reason}`),
    ...wonders(covered).map((name) => `${name} is said to be impossible, and happened`),
  ]
}
