/** What the commands of conversations ask and show. */
import { submissionId, threadId, token, waitName } from "../client/fakes.ts"
import { recordId } from "./answers.ts"

export interface Fact {
  readonly args: ReadonlyArray<string>
  /** What the object is asked, in part. */
  readonly asks: readonly [operation: string, payload: Record<string, unknown>]
  /** What the table holds. */
  readonly shows: string
  /** What the document for machines holds. */
  readonly json: unknown
  readonly stdin?: string
}

const place = { ownerId: "shop-1", threadId }
const run = { ...place, submissionId, name: waitName }

const nightly = [
  "schedule",
  threadId,
  "nightly",
  "--cron",
  "0 3 * * *",
  "--agent",
  "refund",
  "-i",
  "7",
]

const lately = [
  "--order",
  "activity",
  "--active-after",
  "2026-01-01T00:00:00Z",
  "--active-before",
  "1796003221326",
  "--after",
  "1796003220000~order-7",
]

export const conversations: ReadonlyArray<Fact> = [
  {
    args: ["approve", threadId, submissionId, waitName, "--author", "ann", "-m", "why not"],
    asks: ["resolveApproval", { ...run, approved: true, author: "ann", reason: "why not" }],
    shows: "decision    approved",
    json: { recordId, approved: true, state: "ready" },
  },
  {
    args: ["deny", threadId, submissionId, waitName],
    asks: ["resolveApproval", { ...run, approved: false, reason: "from the command line" }],
    shows: "decision    denied",
    json: { approved: false },
  },
  {
    args: ["signal", threadId, submissionId, waitName, "--payload", '{"parcel":7}'],
    asks: ["signal", { ...run, payload: { parcel: 7 } }],
    shows: "was received before  no",
    json: { duplicate: false, state: "ready" },
  },
  {
    args: ["callback", token, "--payload-file", "-"],
    stdin: "[1]",
    asks: ["callback", { ...run, payload: [1] }],
    shows: "state                ready",
    json: { duplicate: false },
  },
  {
    args: [...nightly, "--time-zone", "Europe/Berlin", "--title", "Every night"],
    asks: [
      "schedule",
      {
        ...place,
        name: "nightly",
        cron: "0 3 * * *",
        agent: "refund",
        input: 7,
        timeZone: "Europe/Berlin",
        title: "Every night",
      },
    ],
    shows: "next       1970-01-01T00:00:02.000Z",
    json: { name: "nightly", nextAt: 2_000 },
  },
  {
    args: ["schedules", threadId, "-n", "3", "--after", "a name"],
    asks: ["schedules", { ...place, limit: 3, after: "a name" }],
    shows: "0 3 * * *",
    json: { schedules: [{ name: "nightly" }] },
  },
  {
    args: ["unschedule", threadId, "nightly"],
    asks: ["unschedule", { ...place, name: "nightly" }],
    shows: "removed  yes",
    json: { removed: true },
  },
  {
    args: ["search", '"partial refund" ann', "-n", "2"],
    asks: ["search", { ownerId: "shop-1", query: '"partial refund" ann', limit: 2 }],
    shows: "[Refund]",
    json: { hits: [{ threadId, snippet: "[Refund]" }] },
  },
  {
    args: ["threads", "--state", "unknown", "--text", "order", ...lately],
    asks: [
      "listThreads",
      {
        state: "unknown",
        text: "order",
        order: "activity",
        activeAfter: Date.UTC(2026, 0, 1),
        activeBefore: 1_796_003_221_326,
        after: "1796003220000~order-7",
      },
    ],
    shows: "faulted",
    json: { threads: [{ threadId, state: "faulted" }] },
  },
  {
    args: ["rebuild"],
    asks: ["rebuildProjections", { ownerId: "shop-1" }],
    shows: "to be looked at  1 threads",
    json: { lanes: 1 },
  },
]
