/**
 * Every order of what can happen to a parent and its child: who settles, is aborted, and hears of it first. Each ends once,
 * neither contradicts the other, and nothing is left.
 */
import { describe, expect, inject, it } from "vitest"
import type { Settlement } from "../../../contracts/Settlement.ts"
import {
  type Event,
  type Family,
  kinds,
  type Kind,
  makeFamily,
  type Member,
  ordersOf,
  type Weather,
} from "./family.ts"
import { go } from "./harness.ts"
import { operate } from "./operators.ts"

const count = (member: Member, statement: string): number =>
  Number(member.world.storage.sql.all<{ n: number }>(statement)[0]?.n)

/** A parent that has settled has no child open that it was to see settled. */
const expectJoined = (family: Family, kind: Kind) => {
  if (kind === "detached" || !family.isSettled(family.parent)) return
  const child = family.child()
  expect(child === undefined ? "not admitted" : family.isSettled(child)).toBe(true)
  expect(count(family.parent, "SELECT count(*) AS n FROM children")).toBe(0)
}

const settlementOf = async ({ submissionId, world }: Member): Promise<Settlement> => {
  const { settlement } = await go(world.status(submissionId))
  if (settlement === undefined) throw new Error("it has not settled")
  return settlement
}

/** Each has settled once, and its rows and records are those of one that owes nothing. */
const expectAtRest = async (member: Member) => {
  expect(count(member, "SELECT count(*) AS n FROM journal WHERE kind = 'Settled'")).toBe(1)
  for (const table of ["outbox", "children", "waits", "abortMarks", "calls", "parked"])
    expect([table, count(member, `SELECT count(*) AS n FROM ${table}`)]).toEqual([table, 0])
  const { report } = await go(member.world.inspect(member.world.generation()))
  expect(report).toMatchObject({ nonterminal: 0, waits: [] })
  for (const due of ["dueAt", "outboxAt", "recoverAt", "head"])
    expect(report).not.toHaveProperty(due)
  const { checks } = await operate(member.world).verify()
  expect(checks.filter(({ _tag }) => _tag !== "Passed")).toEqual([])
}

/** What a parent came to that nobody has aborted. */
const unaborted = (kind: Kind, childOutcome: string) =>
  ({
    waits: { outcome: "completed", output: childOutcome },
    leaves: { outcome: "completed", output: "left" },
    fails: { outcome: "failed", failure: { tag: "Enough" } },
    races: { outcome: "completed" },
    detached: { outcome: "completed", output: "left" },
  })[kind]

/** Nobody's end contradicts what was said and taken, nor the other's. */
const expectConsistent = async (family: Family, kind: Kind) => {
  const { parent, taken } = family
  const child = family.child()
  if (child === undefined) throw new Error("there is no child")
  const [own, its] = [await settlementOf(parent), await settlementOf(child)]
  const { records } = await go(parent.world.history())
  const heard = records.filter(({ kind: of }) => of === "ChildSettled")
  const told = records.some(({ kind: of }) =>
    ["ResultReached", "AbortRequested", "WaitWithdrawn"].includes(of),
  )

  if (taken.parentAbort === true)
    expect(own).toMatchObject({ outcome: "aborted", abort: { author: "of the parent" } })
  else expect(own).toMatchObject(unaborted(kind, its.outcome))

  if (taken.childAbort === true)
    expect(its).toMatchObject({ outcome: "aborted", abort: { author: "of the child" } })
  else if (its.outcome === "aborted") {
    expect([kind, told]).toEqual([kind, true])
    expect(kind).not.toBe("detached")
    expect(["of the parent", "heddle"]).toContain(its.abort?.author)
  } else expect(its).toMatchObject({ outcome: "completed", output: "grown" })

  expect(heard.length).toBeLessThanOrEqual(kind === "detached" ? 0 : 1)
  for (const { payload } of heard) expect(payload).toMatchObject({ outcome: its.outcome })
}

const live = async (kind: Kind, order: ReadonlyArray<Event>, weather: Weather) => {
  const family = await makeFamily(kind, weather)
  for (const event of order) {
    await family.happens(event)
    expectJoined(family, kind)
  }
  await family.finish()
  expectJoined(family, kind)
  for (const member of family.members()) await expectAtRest(member)
  await expectConsistent(family, kind)
  return family.deaths.count
}

/** Whether the parent may tell its child to end before it is there. */
const endsBeforeAdmission = (order: ReadonlyArray<Event>): boolean =>
  order.indexOf("the child is admitted") > 0

const isFull = inject("isFull")

/** Where there are many, every third in calm and every eighth in other weather; all with `HEDDLE_FULL=1`. */
const taken = <A>(orders: ReadonlyArray<A>, { _tag }: Weather): ReadonlyArray<A> => {
  const every = _tag === "Calm" ? 3 : 8
  return isFull || orders.length < 40 ? orders : orders.filter((_, index) => index % every === 0)
}

/** All these orders, one after the other; the first that fails is told. */
const expectAll = async (kind: Kind, weather: Weather) => {
  const possible = ordersOf(kind).filter(
    (order) => weather._tag !== "Overtaken" || endsBeforeAdmission(order),
  )
  const orders = taken(possible, weather)
  expect(orders.length).toBeGreaterThan(5)
  let deaths = 0
  for (const order of orders)
    try {
      deaths += await live(kind, order, weather)
    } catch (error) {
      throw new Error(`${kind}, ${JSON.stringify(weather)}: ${order.join(" · ")}`, { cause: error })
    }
  expect(deaths > 0).toBe(weather._tag === "DiesAt")
}

/** Where an object dies in the midst of an event. */
const points = ["settle", "settleChild", "abortChild", "acknowledge"].flatMap((block) => [
  `${block}:before`,
  `${block}:after`,
])

/** Longer than it takes anywhere: these are hundreds of orders. */
const patience = 120_000

describe.each(kinds)("a parent that %s", (kind) => {
  it(
    "comes to one end with its child in every order of what can happen to them",
    () => expectAll(kind, { _tag: "Calm" }),
    patience,
  )
})

/** One that fails beside its child ends as one that leaves it. */
describe.each(kinds.filter((kind) => kind !== "fails"))("a parent that %s", (kind) => {
  it(
    "does so when the word that ends the child comes before the child",
    () => expectAll(kind, { _tag: "Overtaken" }),
    patience,
  )

  it(
    "does so when both die before, in and after each of it, and every word comes twice",
    () => expectAll(kind, { _tag: "Stormy" }),
    patience,
  )
})

describe("a parent that waits, and its child", () => {
  it.each(points)("come to one end in every order when each dies once at %s", (point) =>
    expectAll("waits", { _tag: "DiesAt", point }),
  )
})
