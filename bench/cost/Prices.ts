/**
 * The platform's price list, as far as a submission touches it: the Workers Paid plan, in dollars. The one place where
 * prices stand; `npm run bench -- --cost` writes the tables of `docs/cost.md` from them.
 */

export interface Price {
  readonly title: string
  readonly unit: string
  /** Of so many units. */
  readonly dollars: number
  readonly units: number
  /** Units of each month that the plan includes. */
  readonly included: number
}

const million = 1_000_000

export const prices = {
  workerRequests: {
    title: "requests of the Worker",
    unit: "request",
    dollars: 0.3,
    units: million,
    included: 10 * million,
  },
  workerMillis: {
    title: "computing of the Worker",
    unit: "CPU ms",
    dollars: 0.02,
    units: million,
    included: 30 * million,
  },
  objectRequests: {
    title: "requests of objects",
    unit: "request",
    dollars: 0.15,
    units: million,
    included: million,
  },
  duration: {
    title: "duration of objects",
    unit: "GB-s",
    dollars: 12.5,
    units: million,
    included: 400_000,
  },
  rowsRead: {
    title: "rows read",
    unit: "row",
    dollars: 0.001,
    units: million,
    included: 25_000 * million,
  },
  rowsWritten: {
    title: "rows written",
    unit: "row",
    dollars: 1,
    units: million,
    included: 50 * million,
  },
  stored: {
    title: "stored data",
    unit: "GB-month",
    dollars: 0.2,
    units: 1,
    included: 5,
  },
} as const satisfies Record<string, Price>

export type Item = keyof typeof prices

export const items = Object.keys(prices) as ReadonlyArray<Item>

/** An object is billed for so much memory, whatever it uses: 128 MB. */
export const objectGigabytes = 0.128

export const planDollars = 5

/** When the list was read, and where it stands. */
export const readOn = "2026-11-30"

export const sources: ReadonlyArray<{ readonly what: string; readonly url: string }> = [
  {
    what: "objects: requests, duration, rows, stored data",
    url: "https://developers.cloudflare.com/durable-objects/platform/pricing/",
  },
  {
    what: "the Worker: requests, computing, service bindings",
    url: "https://developers.cloudflare.com/workers/platform/pricing/",
  },
  {
    what: "when an object is active, idle or hibernated",
    url: "https://developers.cloudflare.com/durable-objects/concepts/durable-object-lifecycle/",
  },
  {
    what: "what pending work keeps an object active, since 2026-10-01",
    url: "https://developers.cloudflare.com/changelog/post/2026-10-01-pending-io-keep-alive/",
  },
  {
    what: "requests a second of one object",
    url: "https://developers.cloudflare.com/durable-objects/reference/faq/",
  },
]

/**
 * What the disk here does not show: on the platform a commit is durable on several machines before an answer leaves.
 * The upper end of what others have measured; the platform promises none.
 */
export const commitMillis = 13

/** Requests a second that one object takes, softly; the platform says so and guarantees none. */
export const objectRequestsPerSecond = 1_000

export const monthSeconds = 30 * 24 * 3_600
