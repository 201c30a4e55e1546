/** The simulation can see: each broken copy of the product is caught by the invariant that is named for it. */
import { describe, expect, it } from "vitest"
import { withEdits } from "../../testing/controls/Load.ts"
import type { Shown } from "../../testing/controls/Run.ts"
import { inNode } from "./inNode.ts"

/** Each break, and what must catch it. Those of messages and children come with these. */
const expected: ReadonlyArray<readonly [name: string, invariant: string]> = [
  ["clear with an active mutation", "I8"],
  ["no fence", "I8"],
  ["finish clears an older enrolment", "I8"],
  ["older revision accepted", "I14"],
  ["running head without dueAt", "I7"],
  ["recover ignores a live attempt", "I3"],
  ["repair on stale evidence", "I4"],
  ["reconcile before the call's deadline", "I6"],
  ["strike not flushed", "I18"],
  ["failed step not recorded", "I5"],
  ["settle with an open ordinary call", "I6"],
  ["suspend beside a running sibling", "I6"],
  ["decisions read before the suspending block", "I20"],
  ["resolved unknown overtakes", "I3"],
  ["settling block blind to an abort", "I1"],
  ["in-flight set written after the calls", "I18"],
  ["an alarm overdue by more than 60 s counts as armed", "I7"],
  ["a past alarm is replaced by a later one", "I7"],
  ["one deadline missing in finish", "I7"],
  ["wake lost between check and wait", "I19"],
  ["a neighbour's fault leaves one slot", "I9"],
  ["a call has another key in each attempt", "I6"],
  ["a read writes", "I15"],
  ["a block that failed is believed to have set the alarm", "I7"],
  ["a thread believes the header of a block that failed", "Memory"],
  ["what is reconciled without a row is not visited", "I16"],
  ["lists that were lost show what changes since alone", "I16"],
  ["forget without tombstone", "I2"],
  ["no cover alarm", "I7"],
  ["epoch not bumped at settlement", "I4"],
  ["a late resolution that names no record", "I6"],
  ["what its sink has refused is acknowledged", "Publication"],
  ["a run begins before its sink has all", "Publication"],
  ["a sink that hangs holds up its owner", "I19"],
  ["what is open is pruned", "Retention"],
  ["content is pruned before its time", "Retention"],
  ["waits of a run have one token", "Callbacks"],
  ["a wave has no allowance", "Host lanes"],
  ["a wave holds up its owner", "I19"],
  ["a change is written over another", "State"],
  ["what completed is done again", "I1"],
  ["the limit of an agent holds nobody", "Agent limits"],
  ["the end of a run frees nobody of its agent", "I19"],
  ["whoever came due last goes first", "I10"],
  ["a due lane loses its place when it is written", "I10"],
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
]

it("catches every broken copy by the invariant named for it, and nothing in the product", async () => {
  const { code, output } = await inNode("scripts/simulate.ts", "--controls", "--json")
  const shown = JSON.parse(output) as ReadonlyArray<Shown>
  expect(shown.filter(({ caught }) => !caught)).toEqual([])
  const pairs = shown.map(({ invariant, name }) => [name, invariant])
  expect(pairs).toEqual(expect.arrayContaining(expected.map((pair) => [...pair])))
  expect(code).toBe(0)
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
