/** The simulation can see: each broken copy of the product is caught by the invariant that is named for it. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { withEdits } from "../../testing/controls/Load.ts"
import type { Shown } from "../../testing/controls/Run.ts"
import { inNode } from "./inNode.ts"

/** Each control, in the order of `testing/controls`, and what must catch it. */
const expected: ReadonlyArray<readonly [name: string, invariant: string]> = [
  ["clear with an active mutation", "I8"],
  ["no fence", "I8"],
  ["finish clears an older enrolment", "I8"],
  ["older revision accepted", "I14"],
  ["running head without dueAt", "I7"],
  ["in-flight set written after the calls", "I18"],
  ["wake lost between check and wait", "I19"],
  ["a neighbour's fault leaves one slot", "I9"],
  ["a pass is not woken for what is due", "I19"],
  ["whoever came due last goes first", "I10"],
  ["a due lane loses its place when it is written", "I10"],
  ["an alarm overdue by more than 60 s counts as armed", "I7"],
  ["a past alarm is replaced by a later one", "I7"],
  ["one deadline missing in finish", "I7"],
  ["no cover alarm", "I7"],
  ["recover ignores a live attempt", "I3"],
  ["a read writes", "I15"],
  ["strike not flushed", "I18"],
  ["failed step not recorded", "I5"],
  ["settling block blind to an abort", "I1"],
  ["forget without tombstone", "I2"],
  ["epoch not bumped at settlement", "I4"],
  ["a key is admitted twice", "I2"],
  ["repair on stale evidence", "I4"],
  ["a call has another key in each attempt", "I6"],
  ["reconcile before the call's deadline", "I6"],
  ["an ordinary call is not recorded before its body", "I6"],
  ["settle with an open ordinary call", "I6"],
  ["suspend beside a running sibling", "I6"],
  ["decisions read before the suspending block", "I20"],
  ["resolved unknown overtakes", "I3"],
  ["a late resolution that names no record", "I6"],
  ["send without a name", "I11"],
  ["delivery without id", "I11"],
  ["a child is asked for without id", "I13"],
  ["a message overtakes another", "I11"],
  ["child notice parked", "I13"],
  ["a parent settles before its children", "I13"],
  ["a child is forgotten before its parent was told", "I13"],
  ["what has joined settles by itself", "I12"],
  ["suspend for a wait beside a running sibling", "I6"],
  ["decisions of waits read before the suspending block", "I20"],
  ["a suspended run forgets its timer", "I20"],
  ["the time of a schedule is not told", "I20, of schedules"],
  ["what its sink has refused is acknowledged", "Publication"],
  ["a run begins before its sink has all", "Publication"],
  ["a sink that hangs holds up its owner", "I19"],
  ["what is to be published is not told", "I8"],
  ["what is open is pruned", "Retention"],
  ["content is pruned before its time", "Retention"],
  ["content is pruned before it was carried", "I20"],
  ["waits of a run have one token", "Callbacks"],
  ["a token stands in a record", "Callbacks"],
  ["any value is told as received", "Callbacks"],
  ["a wave has no allowance", "Host lanes"],
  ["a wave begins beside another", "Host lanes"],
  ["a wave holds up its owner", "I19"],
  ["the alarm does not know of host lanes", "I7"],
  ["a change is written over another", "State"],
  ["what completed is done again", "I1"],
  ["what is open is done again", "I1"],
  ["the limit of an agent holds nobody", "Agent limits"],
  ["the end of a run frees nobody of its agent", "I19"],
  ["who is held waits until two may run", "I7"],
  ["a turn starts whatever is next in its thread", "Agent limits"],
  ["a run that ended well is told as failed", "I1, of ends"],
  ["the output of a run is another's", "I1, of ends"],
  ["a timer fires before its time", "I5, of times"],
  ["a question expires before its time", "I5, of times"],
  ["a deferred input runs before its time", "I3, of times"],
  ["the time of a suspended run is told late", "I20, of times"],
  ["the time of a deferred input is told late", "I20, of times"],
  ["a lane rests for hours", "I20, of times"],
  ["an occurrence is given twice", "I1, of schedules"],
  ["an occurrence is skipped", "I1, of schedules"],
  ["the policy is asked after the call", "I17"],
  ["the policy is not asked about one operation", "I17"],
  ["what the policy has said is not heeded", "I17"],
  ["a client speaks as an owner", "I17"],
  ["an alarm is set ahead while nothing is due", "I18"],
  ["a run that goes on is looked at again and again", "I18"],
  ["each look at a thread reads all that stands in it", "I18"],
  ["a block that failed is believed to have set the alarm", "I7"],
  ["a thread believes the header of a block that failed", "Memory"],
  ["what is reconciled without a row is not visited", "I16"],
  ["lists that were lost show what changes since alone", "I16"],
]

/** The table of controls in the document. */
const documented = () => {
  const path = fileURLToPath(new URL("../../docs/verification.md", import.meta.url).href)
  const text = readFileSync(path, "utf8")
  const [, behind = ""] = text.split(/^\| control \| caught by \|.*\n.*\n/m)
  const [table = ""] = behind.split("\n\n")
  return [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)].map(
    ([, name, invariant]) => `${name}: ${invariant}`,
  )
}

it("catches every broken copy by the invariant named for it, and nothing in the product", async () => {
  const { code, output } = await inNode("scripts/simulate.ts", "--controls", "--json")
  const shown = JSON.parse(output) as ReadonlyArray<Shown>
  expect(shown.filter(({ caught }) => !caught)).toEqual([])
  const pairs = shown.map(({ invariant, name }) => [name, invariant])
  expect(pairs).toEqual(expected)
  expect(code).toBe(0)
})

it("stands in the document with every broken copy", () => {
  const all = expected.map(([name, invariant]) => `${name}: ${invariant}`)
  expect(documented().toSorted()).toEqual(all.toSorted())
})

describe("an edit of the product's text", () => {
  const edit = { file: "a.ts", find: "one", replace: "two" }

  it("is made where its text stands once", () => {
    expect(withEdits("zero one $&", [edit])).toBe("zero two $&")
  })

  it("fails where its text is gone, or stands twice", () => {
    expect(() => withEdits("zero", [edit])).toThrow("a.ts: 0 times and not once")
    expect(() => withEdits("one, one", [edit])).toThrow("a.ts: 2 times and not once")
  })
})
