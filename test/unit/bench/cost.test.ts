/** What submissions cost by the price list, and the document that says so. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { activeMillis, includedIn, totalOf, usedBy } from "../../../bench/cost/Bill.ts"
import { readCounted } from "../../../bench/cost/Costs.ts"
import { commitMillis } from "../../../bench/cost/Prices.ts"
import { costTables, withTables } from "../../../bench/cost/Tables.ts"
import type { Usage } from "../../../bench/cost/Usage.ts"
import { ThreadId } from "../../../client/index.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import { ownerOf } from "../../../examples/authoring/manyOwners.ts"

const root = join(import.meta.dirname, "../../..")

const nothing = {
  requests: 0,
  read: 0,
  written: 0,
  alarmWrites: 0,
  activeMillis: 0,
  commits: 0,
}

const usage = (over: Partial<Usage>): Usage => ({
  name: "one",
  title: "one",
  submissions: 1,
  workerRequests: 0,
  owner: nothing,
  thread: nothing,
  ...over,
})

const dollars = (over: Partial<Usage>): number => totalOf(usedBy(usage(over), 0), 1_000_000)

describe("the bill of a million submissions", () => {
  it("counts requests of the Worker, of the owner and of the thread, alarms among them", () => {
    expect(dollars({ workerRequests: 1 })).toBeCloseTo(0.3)
    expect(
      dollars({ owner: { ...nothing, requests: 2 }, thread: { ...nothing, requests: 1 } }),
    ).toBeCloseTo(0.45)
  })

  it("counts each write of an alarm as a row written", () => {
    expect(dollars({ owner: { ...nothing, written: 3, alarmWrites: 2 } })).toBeCloseTo(5)
    expect(dollars({ thread: { ...nothing, read: 10 } })).toBeCloseTo(0.01)
  })

  it("counts 128 MB for as long as an object is active", () => {
    // 30 s of a million are 3.84 million GB-s.
    expect(dollars({ thread: { ...nothing, activeMillis: 30_000 } })).toBeCloseTo(48)
  })

  it("adds what a commit takes on the platform, of a thread twice: its owner waits for it", () => {
    const of = (owner: number, thread: number): number =>
      activeMillis(
        usage({ owner: { ...nothing, commits: owner }, thread: { ...nothing, commits: thread } }),
      )
    expect(of(2, 0)).toBe(2 * commitMillis)
    expect(of(0, 2)).toBe(4 * commitMillis)
  })

  it("says what of the plan is used up first", () => {
    const used = usedBy(usage({ owner: { ...nothing, requests: 4, written: 10 } }), 0)
    expect(includedIn(used)).toEqual({ submissions: 250_000, item: "objectRequests" })
  })
})

describe("docs/cost.md", () => {
  const document = readFileSync(join(root, "docs/cost.md"), "utf8")
  const counted = readCounted()

  it("has the tables that the price list and the stored counts give", () => {
    expect(document).toBe(withTables(document, counted))
    for (const table of Object.values(costTables)) expect(document).toContain(table(counted))
  })

  it("would be written anew by other counts, and only in its tables", () => {
    const [first, ...rest] = counted.usages
    if (first === undefined) throw new Error("nothing was counted")
    const dearer = { ...first, owner: { ...first.owner, written: first.owner.written + 1 } }
    const written = withTables(document, { ...counted, usages: [dearer, ...rest] })
    expect(written).not.toBe(document)
    expect(withTables(written, counted)).toBe(document)
  })

  it("shows the example that divides the threads of a tenant among its owners", () => {
    const example = readFileSync(join(root, "examples/authoring/manyOwners.ts"), "utf8")
      .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
      .replaceAll('"../../client/index.ts"', '"heddle/client"')
    expect(document).toContain(example.trim())
    const owners = Array.from({ length: 8_000 }, (_, at) =>
      ownerOf("acme", ThreadId.make(`order-${at}`), 8),
    )
    const threads = Object.values(Object.groupBy(owners, (owner) => owner)).map(
      (of) => of?.length ?? 0,
    )
    expect(threads).toHaveLength(8)
    expect(Math.max(...threads)).toBeLessThan(1_200)
    expect(ownerOf("acme", ThreadId.make("order-1"), 8)).toBe(owners[1])
  })

  it("names files that exist, and limits with their numbers", () => {
    const files = [...document.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|json))`/g)]
    expect(files.length).toBeGreaterThan(5)
    for (const [, path] of files) expect(existsSync(join(root, path ?? ""))).toBe(true)
    const limits = [...document.matchAll(/\| ([\d,]+) \(`(\w+)`\)/g)]
    expect(limits).toHaveLength(3)
    for (const [, number, name] of limits)
      expect(defaultLimits[name as keyof typeof defaultLimits].toLocaleString("en-US")).toBe(number)
  })

  it("is told when it has no place for a table", () => {
    expect(() => withTables("# nothing", counted)).toThrow("no place for prices")
  })
})
