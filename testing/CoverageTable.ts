/** Coverage in words: what was reached, how often, and what never was. */
import { ownerFailpoints } from "../owner-object/Owner.ts"
import { threadFailpoints } from "../thread-actors/ThreadFailpoints.ts"
import type { Counts, Covered } from "./Coverage.ts"
import { faultKinds } from "./Faults.ts"

/** Every failpoint of the objects, as coverage names it. */
export const allPoints: ReadonlyArray<string> = [
  ...ownerFailpoints.flatMap((name) => [`owner ${name}:before`, `owner ${name}:after`]),
  ...threadFailpoints.flatMap((name) => [`thread ${name}:before`, `thread ${name}:after`]),
]

const listed = (title: string, counts: Counts): string =>
  `${title}: ${Object.entries(counts)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")}`

/** What is in the first list and has never happened. */
export const holes = (names: ReadonlyArray<string>, counts: Counts): ReadonlyArray<string> =>
  names.filter((name) => counts[name] === undefined)

export const coverageLines = (
  covered: Covered,
  faults: Readonly<Partial<Record<string, number>>>,
): ReadonlyArray<string> => [
  listed("faults", faults as Counts),
  listed("decisions of recovery", covered.decisions),
  listed("answers", covered.answers),
  listed("crashes at failpoints", covered.crashes),
  `failpoints never reached: ${holes(allPoints, covered.points).join(", ") || "none"}`,
  `failpoints never crashed at: ${holes(allPoints, covered.crashes).join(", ") || "none"}`,
  `faults that never happened: ${holes(faultKinds, faults as Counts).join(", ") || "none"}`,
]
