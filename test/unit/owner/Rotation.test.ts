import { describe, expect, it } from "vitest"
import { millisMax } from "../../../contracts/Identifiers.ts"
import { needOf, ticketMillis, ticketOf, toTicket } from "../../../owner-object/Rotation.ts"
import {
  condemnedBy,
  generation,
  headOf,
  laneOf,
  limits,
  now,
  ready,
  reportOf,
  running,
  submissionId,
} from "./lanes.ts"

const need = (lane: ReturnType<typeof laneOf>, coverUntilAt?: number) =>
  needOf(lane, coverUntilAt === undefined ? undefined : { untilAt: coverUntilAt }, now, limits)

describe("what a lane needs", () => {
  it("is nothing for an idle thread", () => {
    expect(need(laneOf({ report: reportOf() }))).toBeUndefined()
  })

  it("is a visit now when it is enrolled without an active mutation", () => {
    const lane = laneOf({ report: reportOf(), enrolled: generation(1) })
    expect(need(lane)).toEqual({ work: "visit", at: now })
  })

  it("is a visit now when it must be visited, also while a mutation is active", () => {
    const lane = laneOf({ report: ready(), enrolled: generation(1), mustVisit: true })
    expect(need(lane, now + 100)).toEqual({ work: "visit", at: now })
  })

  it("is a visit at the end of the cover while its mutation is active", () => {
    const lane = laneOf({ enrolled: generation(1) })
    expect(need(lane, now + 100)).toEqual({ work: "visit", at: now + 100 })
  })

  it("moves a cover on that ends while its mutation is active", () => {
    const lane = laneOf({ enrolled: generation(1) })
    expect(need(lane, now)).toEqual({ work: "visit", at: now + limits.coverMillis })
  })

  it("is a dispatch of the stored report meanwhile, when that is earlier than the cover", () => {
    const lane = laneOf({ report: ready(), enrolled: generation(1) })
    expect(need(lane, now + 100)).toEqual({ work: "dispatch", at: 0 })
  })

  it("is recovery before anything the report says besides", () => {
    expect(need(laneOf({ report: running({ recoverAt: 0 }) }))).toEqual({ work: "recover", at: 0 })
  })

  it("is recovery at its time, and until then no turn of that head", () => {
    for (const report of [
      running({ recoverAt: now + 9 }),
      ready({ recoverAt: now + 9 }),
      reportOf({ nonterminal: 1, head: headOf("suspended"), recoverAt: now + 9 }),
    ]) {
      expect(need(laneOf({ report }))).toEqual({ work: "recover", at: now + 9 })
    }
  })

  it("is nothing for a head that waits outside, and a turn at the time of its timer", () => {
    const report = reportOf({ nonterminal: 1, head: headOf("suspended") })
    expect(need(laneOf({ report }))).toBeUndefined()
    expect(need(laneOf({ report: { ...report, dueAt: now + 9 } }))).toEqual({
      work: "dispatch",
      at: now + 9,
    })
  })

  it("is the recovery of a faulted thread at its retry, whatever else it needs", () => {
    const marks = { faultRetryAt: now + 5 }
    for (const lane of [
      laneOf({ marks, report: ready() }),
      laneOf({ marks, report: running({ recoverAt: 0 }), mustVisit: true }),
      laneOf({ marks, report: ready(), enrolled: generation(1) }),
    ]) {
      expect(need(lane)).toEqual({ work: "recover", at: now + 5 })
      expect(need(lane, now + 1)).toEqual({ work: "recover", at: now + 5 })
    }
  })

  it("is a time exactly when something is owed, whatever a lane holds", () => {
    const some = <A>(value: A) => [undefined, value] as const
    const condemned = condemnedBy({ retryAt: now + 1 })
    let owing = 0
    for (const enrolled of some(generation(1)))
      for (const mustVisit of [false, true])
        for (const faultRetryAt of some(now + 2))
          for (const mark of some(condemned))
            for (const paused of [false, true])
              for (const recoverAt of some(now + 3))
                for (const dueAt of some(now + 4))
                  for (const upkeepAt of some(now + 5))
                    for (const stalledUntilAt of some(now + 6)) {
                      const times = {
                        ...(recoverAt === undefined ? {} : { recoverAt }),
                        ...(dueAt === undefined ? {} : { dueAt }),
                        ...(upkeepAt === undefined ? {} : { upkeepAt }),
                      }
                      const head = headOf("suspended")
                      const lane = laneOf({
                        report: reportOf({ nonterminal: 1, head, paused, ...times }),
                        enrolled,
                        mustVisit,
                        marks: {
                          ...(faultRetryAt === undefined ? {} : { faultRetryAt }),
                          ...(mark === undefined ? {} : { condemned: mark }),
                          ...(stalledUntilAt === undefined ? {} : { stalledUntilAt }),
                        },
                      })
                      const runs = !paused && (dueAt ?? upkeepAt) !== undefined
                      const owes =
                        runs ||
                        mustVisit ||
                        [enrolled, faultRetryAt, mark, recoverAt].some((one) => one !== undefined)
                      owing += Number(owes)
                      expect(need(lane) !== undefined).toBe(owes)
                    }
    expect(owing).toBeGreaterThan(400)
  })

  it("is a look at a running head after its watch, not now", () => {
    const lane = laneOf({ report: running(), marks: { watchAt: now + 30_000 } })
    expect(need(lane)).toEqual({ work: "dispatch", at: now + 30_000 })
    expect(need(laneOf({ report: running() }))).toEqual({
      work: "dispatch",
      at: now + limits.watchMillis,
    })
  })

  it("is to forget a condemned thread before all else, at its retry", () => {
    const condemned = condemnedBy({ retryAt: now + 7 })
    for (const lane of [
      laneOf({ marks: { condemned } }),
      laneOf({ report: ready(), mustVisit: true, enrolled: generation(1), marks: { condemned } }),
      laneOf({ report: running({ recoverAt: 0 }), marks: { condemned } }),
      laneOf({ report: ready({ paused: true }), marks: { condemned, faultRetryAt: now } }),
    ]) {
      expect(need(lane)).toEqual({ work: "forget", at: now + 7 })
    }
  })

  it("is not to forget a thread before the end of its backoff", () => {
    const marks = { condemned: condemnedBy(), failures: 3, backoffUntilAt: now + 50 }
    expect(need(laneOf({ marks }))).toEqual({ work: "forget", at: now + 50 })
  })

  it("is the end of the cover while a mutation of a condemned thread is active", () => {
    const marks = { condemned: condemnedBy() }
    const lane = laneOf({ report: ready(), enrolled: generation(1), marks })
    expect(need(lane, now + 100)).toEqual({ work: "visit", at: now + 100 })
    expect(need(lane, now)).toEqual({ work: "visit", at: now + limits.coverMillis })
  })

  it("is nothing for a paused thread that owes work", () => {
    expect(need(laneOf({ report: ready({ paused: true }) }))).toBeUndefined()
  })

  it("is a dispatch at the end of a stall", () => {
    const lane = laneOf({ report: ready(), marks: { stalls: 1, stalledUntilAt: now + 60_000 } })
    expect(need(lane)).toEqual({ work: "dispatch", at: now + 60_000 })
  })

  it("is a binding wait only for the head it belongs to", () => {
    const binding = {
      submissionId,
      attempts: 1,
      notBefore: now + 5_000,
      reportedAt: now,
      agentsDigest: "agents",
    }
    expect(need(laneOf({ report: ready(), marks: { binding } }))).toEqual({
      work: "binding",
      at: now + 5_000,
    })
    // One that waits for its children has had its agent since; the thread's schedules are not put off by that.
    const waits = { head: { ...headOf("suspended"), submissionId }, upkeepAt: now }
    expect(need(laneOf({ report: reportOf(waits), marks: { binding } }))).toEqual({
      work: "dispatch",
      at: now,
    })
    const other = { ...binding, submissionId: "another" as typeof submissionId }
    expect(need(laneOf({ report: ready(), marks: { binding: other } }))).toEqual({
      work: "dispatch",
      at: 0,
    })
  })

  it("is held without a time of its own, and covered all the same while a mutation is active", () => {
    const held = laneOf({ report: ready(), marks: { held: true } })
    expect(need(held)).toEqual({ work: "held", at: 0 })
    expect(need(held, now + 100)).toEqual({ work: "visit", at: now + 100 })
    expect(need({ ...held, enrolled: generation(1) })).toEqual({ work: "visit", at: now })
  })

  it("is held once its time has come, and until then is a deadline like any other", () => {
    for (const [hold, work] of [
      [{ held: true }, "held"],
      [{ heldOf: headOf("ready").agent }, `held:${headOf("ready").agent}`],
    ] as const) {
      const later = ready({ dueAt: now + 5 })
      expect(need(laneOf({ report: later, marks: hold }))).toEqual({
        work: "dispatch",
        at: now + 5,
      })
      const marks = { ...hold, backoffUntilAt: now + 5 }
      expect(need(laneOf({ report: ready(), marks }))).toEqual({ work: "dispatch", at: now + 5 })
      const past = { ...hold, backoffUntilAt: now }
      expect(need(laneOf({ report: ready(), marks: past }))).toEqual({ work, at: now })
    }
  })

  it("is the earlier of the head's and the upkeep's time", () => {
    const report = reportOf({ upkeepAt: now + 10 })
    expect(need(laneOf({ report }))).toEqual({ work: "dispatch", at: now + 10 })
    expect(need(laneOf({ report: ready({ dueAt: now + 5, upkeepAt: now + 10 }) }))).toEqual({
      work: "dispatch",
      at: now + 5,
    })
  })

  it("is never due before the end of the backoff, whatever the kind", () => {
    const marks = { backoffUntilAt: now + 700 }
    for (const lane of [
      laneOf({ report: ready(), marks }),
      laneOf({ report: ready(), marks, mustVisit: true }),
      laneOf({ report: running({ recoverAt: 0 }), marks }),
      laneOf({ enrolled: generation(1), marks }),
    ]) {
      expect(need(lane)?.at).toBe(now + 700)
    }
  })
})

describe("a ticket", () => {
  const dispatch = (at: number) => ({ work: "dispatch" as const, at })
  const give = (at: number, kept: number | undefined, lastTicket = 0) =>
    ticketOf({ need: dispatch(at), kept, now, lastTicket })

  it("stores a future deadline as its own time", () => {
    expect(give(now + 5, undefined)).toBe(toTicket(now + 5))
  })

  it("places a lane that becomes due behind every deadline of that millisecond", () => {
    expect(give(0, undefined)).toBe(toTicket(now) + 1)
    expect(ticketMillis(give(0, undefined))).toBe(now)
  })

  it("places it behind every ticket already given for the present", () => {
    const first = give(0, undefined)
    expect(give(0, undefined, first)).toBe(first + 1)
  })

  it("of a time beyond all counting is the last one, and can be stored", () => {
    expect(give(Number.MAX_SAFE_INTEGER, undefined)).toBe(toTicket(millisMax))
    expect(Number.isSafeInteger(give(Infinity, undefined))).toBe(true)
  })

  it("stays with a lane that is due, whatever its kind of work becomes", () => {
    const kept = toTicket(now - 10) + 3
    expect(give(0, kept, toTicket(now) + 50)).toBe(kept)
  })

  it("is not kept from a deadline that has not come", () => {
    expect(give(0, toTicket(now + 1_000))).toBe(toTicket(now) + 1)
  })

  it("serves whoever waits before a lane that comes back, however names rise", () => {
    let last = 0
    const draw = () =>
      (last = ticketOf({ need: dispatch(0), kept: undefined, now, lastTicket: last }))
    const waiting = new Map([["old", draw()]])
    for (let index = 0; index < 100; index++) {
      waiting.set(`newer-${String(index).padStart(3, "0")}`, draw())
    }
    const next = [...waiting].sort((a, b) => a[1] - b[1])[0]
    expect(next?.[0]).toBe("old")
  })
})
