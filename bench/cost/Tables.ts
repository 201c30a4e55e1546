/**
 * The tables of `docs/cost.md`, from what was counted and the price list. Pure.
 *
 * - D1 A table stands between its two marks; everything else in the document is left as it is.
 */
import { activeMillis, dollarsOf, includedIn, totalOf, usedBy, usedItems } from "./Bill.ts"
import {
  items,
  monthSeconds,
  objectGigabytes,
  objectRequestsPerSecond,
  planDollars,
  prices,
  readOn,
  sources,
} from "./Prices.ts"
import type { Counted, Pace, Usage } from "./Usage.ts"

type Cell = string | number

const tableOf = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  [
    `| ${head.join(" | ")} |`,
    `| ${head.map((_, at) => (at === 0 ? "---" : "---:")).join(" | ")} |`,
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ].join("\n")

const million = 1_000_000

const rounded = (value: number, digits: number): string => `${Number(value.toFixed(digits))}`

const whole = (value: number): string => Math.round(value).toLocaleString("en-US")

/** Of what is known roughly: two digits. */
const hundreds = (value: number): string => whole(Number(value.toPrecision(2)))

const dollars = (value: number): string => {
  if (value >= 0.005) return value.toFixed(2)
  return value === 0 ? "0" : "< 0.01"
}

const seconds = (millis: number): string => rounded(millis / 1_000, millis < 10_000 ? 3 : 1)

const priceTable = (): string =>
  tableOf(
    ["what is billed", "price", "included each month"],
    items.map((item) => {
      const { dollars: price, included, title, unit, units } = prices[item]
      const per = units === 1 ? unit : `${whole(units)} ${unit}${unit.endsWith("s") ? "" : "s"}`
      return [title, `$${price.toFixed(price < 0.01 ? 3 : 2)} per ${per}`, whole(included)]
    }),
  )

const sourceList = (): string =>
  [
    ...sources.map(({ url, what }) => `- ${what}: <${url}>`),
    `\nRead on ${readOn} in stored copies of these pages: look at the pages before you rely on a price. The plan itself is $${planDollars} a month.`,
  ].join("\n")

const countTable = ({ usages }: Counted): string =>
  tableOf(
    [
      "a submission",
      "requests of the Worker",
      "of the owner",
      "of its thread",
      "rows read",
      "rows written",
      "alarm writes",
      "owner active, s",
      "thread active, s",
      "commits",
    ],
    usages.map(({ owner, thread, title, workerRequests }) => [
      title,
      rounded(workerRequests, 2),
      rounded(owner.requests, 2),
      rounded(thread.requests, 2),
      rounded(owner.read + thread.read, 1),
      rounded(owner.written + thread.written, 1),
      rounded(owner.alarmWrites + thread.alarmWrites, 2),
      seconds(owner.activeMillis),
      seconds(thread.activeMillis),
      rounded(owner.commits + thread.commits, 2),
    ]),
  )

const millionTable = ({ requestMillis, usages }: Counted): string =>
  tableOf(
    ["a million submissions", ...usedItems.map((item) => prices[item].title), "together"],
    usages.map((usage) => {
      const used = usedBy(usage, requestMillis)
      return [
        usage.title,
        ...usedItems.map((item) => dollars(dollarsOf(item, used[item] * million))),
        `**$${totalOf(used, million).toFixed(2)}**`,
      ]
    }),
  )

const includedTable = ({ requestMillis, usages }: Counted): string =>
  tableOf(
    ["a submission", "in the plan, each month", "what is used up first"],
    usages.map((usage) => {
      const { item, submissions } = includedIn(usedBy(usage, requestMillis))
      return [usage.title, whole(Math.floor(submissions / 1_000) * 1_000), prices[item].title]
    }),
  )

const growthTable = ({ growth }: Counted): string =>
  tableOf(
    ["threads that the owner knows", "records of the thread", "rows read", "rows written"],
    growth.map(({ read, records, threads, written }) => [
      whole(threads),
      whole(records),
      rounded(read, 1),
      rounded(written, 1),
    ]),
  )

const monthly = (bytes: number): string =>
  `$${dollarsOf("stored", (bytes * million) / 1e9).toFixed(2)}`

const storedTable = ({ stored }: Counted): string =>
  tableOf(
    ["stored", "KiB each", "a million of them, each month"],
    [
      ["a thread with one submission", stored.thread],
      ["an owner with that thread", stored.owner],
      ["each more submission of a thread, which does nothing", stored.noop],
      ["each more submission of 5 steps", stored.steps],
      ["each more thread, in its owner", stored.lane],
    ].map(([what, bytes]) => [
      `${what}`,
      rounded(Number(bytes) / 1_024, 1),
      monthly(Number(bytes)),
    ]),
  )

const activeTable = ({ usages }: Counted): string => {
  const of = (name: string): Usage | undefined => usages.find((usage) => usage.name === name)
  const shown = ["call", "sleep", "sleep-waited"].flatMap((name) => of(name) ?? [])
  return tableOf(
    ["30 seconds", "objects active, s", "duration of a million"],
    shown.map((usage) => [
      usage.title,
      seconds(activeMillis(usage)),
      `$${dollarsOf("duration", usedBy(usage, 0).duration * million).toFixed(2)}`,
    ]),
  )
}

/** From where on a wait that suspends costs less than one in a step. */
const breakEvenLine = ({ requestMillis, usages }: Counted): string => {
  const total = (name: string): number => {
    const usage = usages.find((one) => one.name === name)
    return usage === undefined ? Number.NaN : totalOf(usedBy(usage, requestMillis), million)
  }
  const step = total("noop") + (total("steps") - total("noop")) / 5
  const second = dollarsOf("duration", objectGigabytes * million)
  return `Up to about ${whole((total("sleep") - step) / second)} seconds a step that waits in memory costs less than a run that sleeps.`
}

const alwaysLine = (): string => {
  const duration = monthSeconds * objectGigabytes
  return `An object that never rests is billed ${whole(duration)} GB-s a month of 30 days: $${dollarsOf("duration", duration).toFixed(2)}.`
}

/** What the owner computes: its own code, and with that its part of what is nobody's. */
const ownerMillis = (pace: Pace): readonly [number, number] => {
  const { computedMillis, ownerShare, threadShare, workerShare } = pace
  return [
    computedMillis * ownerShare,
    (computedMillis * ownerShare) / (ownerShare + threadShare + workerShare),
  ]
}

const paceTable = ({ paces }: Counted): string =>
  tableOf(
    [
      "one owner, submissions that do nothing",
      "computing of each, ms",
      "of that the owner, ms",
      "so its thread bears, a second",
    ],
    paces.map((pace) => {
      const [least, most] = ownerMillis(pace)
      return [
        pace.title,
        rounded(pace.computedMillis, 2),
        `${rounded(least, 2)} – ${rounded(most, 2)}`,
        `${hundreds(1_000 / most)} – ${hundreds(1_000 / least)}`,
      ]
    }),
  )

const requestsLine = ({ usages }: Counted): string => {
  const perSecond = (name: string): string => {
    const requests = usages.find((usage) => usage.name === name)?.owner.requests ?? Number.NaN
    return whole(objectRequestsPerSecond / requests)
  }
  return `The platform names ${whole(objectRequestsPerSecond)} requests a second as a soft limit of one object: ${perSecond("noop")} submissions a second that come alone, ${perSecond("noop-full")} that meet others.`
}

const aboutLine = ({ commit, date, machine, requestMillis }: Counted): string =>
  `Counted on ${date}, commit \`${commit}\`, ${machine}; a request through the Worker computes ${requestMillis} ms there.`

export const costTables: Readonly<Record<string, (counted: Counted) => string>> = {
  prices: priceTable,
  sources: sourceList,
  about: aboutLine,
  counts: countTable,
  million: millionTable,
  included: includedTable,
  "half-minute": activeTable,
  "break-even": breakEvenLine,
  growth: growthTable,
  stored: storedTable,
  always: alwaysLine,
  paces: paceTable,
  requests: requestsLine,
}

const marks = (name: string) => ({
  begin: `<!-- computed: ${name} -->\n`,
  end: `\n<!-- end: ${name} -->`,
})

/** The document with each of its tables as it is to be. */
export const withTables = (document: string, counted: Counted): string =>
  Object.entries(costTables).reduce((text, [name, table]) => {
    const { begin, end } = marks(name)
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`the document has no place for ${name}`)
    return text.slice(0, from + begin.length) + table(counted) + text.slice(to) // D1
  }, document)
