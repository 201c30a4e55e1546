import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { nextOccurrence, overdue } from "../../../platform/Cron.ts"

const at = (text: string): number => Date.parse(text)

/** The next occurrences behind a time, as texts. */
const next = (cron: string, from: string, count = 3, timeZone: string | null = null) => {
  const found: Array<string> = []
  let time = at(from)
  while (found.length < count) {
    const one = Result.getOrThrow(nextOccurrence({ cron, timeZone }, time))
    if (one === undefined) break
    found.push(new Date(one).toISOString().replace(":00.000Z", "Z"))
    time = one
  }
  return found
}

const mistake = (cron: string, timeZone: string | null = null) => {
  const read = nextOccurrence({ cron, timeZone }, 0)
  return Result.isFailure(read) ? read.failure : undefined
}

describe("a cron expression", () => {
  it("has five fields, or six with seconds", () => {
    expect(next("30 9 * * 1-5", "2027-01-01T00:00:00Z")).toEqual([
      "2027-01-01T09:30Z",
      "2027-01-04T09:30Z",
      "2027-01-05T09:30Z",
    ])
    expect(next("*/20 * * * * *", "2027-01-01T00:00:00.500Z")).toEqual([
      "2027-01-01T00:00:20.000Z",
      "2027-01-01T00:00:40.000Z",
      "2027-01-01T00:01Z",
    ])
  })

  it("gives what comes strictly later", () => {
    expect(next("0 0 * * *", "2027-01-01T00:00:00Z", 1)).toEqual(["2027-01-02T00:00Z"])
    expect(next("0 0 * * *", "2026-12-31T23:59:59.999Z", 1)).toEqual(["2027-01-01T00:00Z"])
  })

  it("is about the clocks of its zone, UTC without one", () => {
    expect(next("0 9 * * *", "2027-01-01T00:00:00Z", 1, "America/New_York")).toEqual([
      "2027-01-01T14:00Z",
    ])
    expect(next("0 9 * * *", "2027-07-01T00:00:00Z", 1, "America/New_York")).toEqual([
      "2027-07-01T13:00Z",
    ])
    expect(next("0 9 * * *", "2027-01-01T00:00:00Z", 1)).toEqual(["2027-01-01T09:00Z"])
  })

  it("moves what falls into a skipped hour behind it", () => {
    expect(next("30 2 * * *", "2027-03-27T12:00:00Z", 2, "Europe/Berlin")).toEqual([
      "2027-03-28T01:00Z",
      "2027-03-29T00:30Z",
    ])
  })

  it("comes once at a time of day that comes twice", () => {
    expect(next("30 2 * * *", "2027-10-30T12:00:00Z", 2, "Europe/Berlin")).toEqual([
      "2027-10-31T00:30Z",
      "2027-11-01T01:30Z",
    ])
  })

  it("has no next one where no day is like that", () => {
    expect(next("0 0 30 2 *", "2027-01-01T00:00:00Z")).toEqual([])
  })

  it.each([
    ["", "not five or six fields"],
    ["* * * *", "not five or six fields"],
    ["0 0 0 1 1 * 2030", "not five or six fields"],
    ["@daily", "not five or six fields"],
    ["2027-03-03T00:00:00", "not five or six fields"],
    ["60 * * * *", "the minute means nothing"],
    ["0 61 * * * *", "the minute means nothing"],
    ["0 0 32 * *", "the day of the month means nothing"],
    ["0 0 * secret *", "the month means nothing"],
    ["*/0 * * * *", "the minute means nothing"],
  ])("that means nothing is told by its place (%s)", (cron, reason) => {
    expect(mistake(cron)).toEqual({ path: "cron", reason })
  })

  it.each(["Mars/One", "", "+02:00", "Europe/Berlin "])(
    "has a zone that the platform knows by its name (%j is none)",
    (zone) => {
      expect(mistake("* * * * *", zone)).toEqual({
        path: "timeZone",
        reason: "not an IANA time zone",
      })
    },
  )
})

describe("what is overdue", () => {
  const passed = (cron: string, firstAt: string, now: string, countMax = 128) =>
    Result.getOrThrow(
      overdue({ cron, timeZone: null }, { firstAt: at(firstAt), now: at(now), countMax }),
    )

  it("is counted, and the last of it is found", () => {
    expect(passed("0 * * * *", "2027-01-01T01:00:00Z", "2027-01-01T03:59:59Z")).toEqual({
      latestAt: at("2027-01-01T03:00:00Z"),
      count: 3,
      nextAt: at("2027-01-01T04:00:00Z"),
    })
    expect(passed("0 * * * *", "2027-01-01T01:00:00Z", "2027-01-01T01:00:00Z")).toMatchObject({
      latestAt: at("2027-01-01T01:00:00Z"),
      count: 1,
    })
  })

  it("is counted up to a bound; the last of it is found all the same", () => {
    for (const now of ["2027-03-01T00:00:00.000Z", "2027-03-01T00:00:00.900Z"])
      expect(passed("* * * * * *", "2027-01-01T00:00:01Z", now, 5)).toEqual({
        latestAt: at("2027-03-01T00:00:00Z"),
        count: 5,
        nextAt: at("2027-03-01T00:00:01Z"),
      })
  })
})
