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

  // Clocks go from 2:00 to 3:00 on 28 March, and from 3:00 to 2:00 on 31 October.
  const springs = { from: "2027-03-27T22:59:59Z", to: "2027-03-28T22:00:00Z" }
  const falls = { from: "2027-10-30T21:59:59Z", to: "2027-10-31T23:00:00Z" }

  /** All that comes on a day, as the clocks in the zone show it. */
  const onDay = (cron: string, day: { from: string; to: string }, timeZone = "Europe/Berlin") => {
    const clock = new Intl.DateTimeFormat("en-GB", {
      timeZone,
      timeStyle: "short",
    })
    return next(cron, day.from, 100, timeZone)
      .map((text) => Date.parse(text))
      .filter((time) => time < at(day.to))
      .map((time) => clock.format(time))
  }

  it.each([
    ["30 2 * * *", ["03:00"], ["02:30"]],
    ["30 1,2 * * *", ["01:30", "03:00"], ["01:30", "02:30"]],
    ["30 2,14 * * *", ["03:00", "14:30"], ["02:30", "14:30"]],
    ["30 1-3 * * *", ["01:30", "03:00", "03:30"], ["01:30", "02:30", "03:30"]],
    ["0 1-4 * * *", ["01:00", "03:00", "04:00"], ["01:00", "02:00", "03:00", "04:00"]],
    ["0 */6 * * *", ["00:00", "06:00", "12:00", "18:00"], ["00:00", "06:00", "12:00", "18:00"]],
    [
      "30 0-8/2 * * *",
      ["00:30", "03:00", "04:30", "06:30", "08:30"],
      ["00:30", "02:30", "04:30", "06:30", "08:30"],
    ],
    ["15,45 2 * * *", ["03:00"], ["02:15", "02:45"]],
    [
      "*/20 2-3 * * *",
      ["03:00", "03:20", "03:40"],
      ["02:00", "02:20", "02:40", "03:00", "03:20", "03:40"],
    ],
    ["0 30 2,4 * * *", ["03:00", "04:30"], ["02:30", "04:30"]],
    ["30 2 * * 0", ["03:00"], ["02:30"]],
  ])(
    "that names hours has each time of day once, %s: also on days of 23 and 25 hours",
    (cron, spring, autumn) => {
      expect(onDay(cron, springs)).toEqual(spring)
      expect(onDay(cron, falls)).toEqual(autumn)
    },
  )

  it.each([
    ["*/30 * * * *", 46, 50],
    ["15 * * * *", 23, 25],
    ["0 */10 * * * *", 138, 150],
  ])("for each hour goes by the hours that pass: %s", (cron, spring, autumn) => {
    const berlin = "Europe/Berlin"
    const countOf = ({ from, to }: { from: string; to: string }) =>
      next(cron, from, 200, berlin).filter((text) => Date.parse(text) < at(to)).length
    expect(countOf(springs)).toBe(spring)
    expect(countOf(falls)).toBe(autumn)
  })

  it("knows clocks that move by half an hour, and at midnight", () => {
    const howe = "Australia/Lord_Howe" // 2:00 to 2:30 on 4 October 2026, 2:00 to 1:30 on 5 April 2026
    const day = (from: string) => ({ from, to: new Date(at(from) + 24 * 3_600_000).toISOString() })
    expect(onDay("15 2,3 * * *", day("2026-10-03T13:29:59Z"), howe)).toEqual(["02:30", "03:15"])
    expect(onDay("45 1,3 * * *", day("2026-04-04T12:59:59Z"), howe)).toEqual(["01:45", "03:45"])
    const havana = "America/Havana" // 0:00 to 1:00 on 8 March 2026, 1:00 to 0:00 on 1 November 2026
    expect(onDay("0 0,12 * * *", day("2026-03-08T03:59:59Z"), havana)).toEqual(["01:00", "12:00"])
    expect(onDay("30 0,12 * * *", day("2026-11-01T03:59:59Z"), havana)).toEqual(["00:30", "12:30"])
  })

  it("comes once for whoever asks within the hour that comes twice", () => {
    // 2:40, the second time: 2:30 and 2:50 have come.
    expect(next("30,50 2 * * *", "2027-10-31T01:40:00Z", 1, "Europe/Berlin")).toEqual([
      "2027-11-01T01:30Z",
    ])
    expect(next("0 3-4 * * *", "2027-10-31T01:40:00Z", 1, "Europe/Berlin")).toEqual([
      "2027-10-31T02:00Z",
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

  it("counts what clocks skip once, and nothing that they repeat", () => {
    const timeZone = "Europe/Berlin"
    const over = (cron: string, firstAt: string, now: string, countMax = 128) =>
      Result.getOrThrow(
        overdue({ cron, timeZone }, { firstAt: at(firstAt), now: at(now), countMax }),
      )
    const spring = ["2027-03-27T01:30:00Z", "2027-03-28T20:00:00Z"] as const
    const autumn = ["2027-10-30T00:30:00Z", "2027-10-31T01:40:00Z"] as const
    for (const countMax of [128, 1]) {
      expect(over("30 2,23 * * *", ...spring, countMax)).toEqual({
        latestAt: at("2027-03-28T01:00:00Z"),
        count: countMax === 1 ? 1 : 3,
        nextAt: at("2027-03-28T21:30:00Z"),
      })
      expect(over("30 2,23 * * *", ...autumn, countMax)).toEqual({
        latestAt: at("2027-10-31T00:30:00Z"),
        count: countMax === 1 ? 1 : 3,
        nextAt: at("2027-10-31T22:30:00Z"),
      })
    }
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
