/** Controls of times: what comes too early, what comes too late, and what a schedule gives. */
import type { Control } from "./Control.ts"
import { ofRequest, step, submits, t0, ticks, works, world } from "./Worlds.ts"

export const timeControls: ReadonlyArray<Control> = [
  {
    name: "a timer fires before its time",
    invariant: "I5, of times",
    edits: [
      {
        file: "thread-actors/Waits.ts",
        find: "dueWaits(block.sql, row.sequence, block.now)",
        replace: "dueWaits(block.sql, row.sequence, block.now + 10_000)",
      },
    ],
    pinned: world({
      talks: true,
      operations: [submits(0, "k0", [{ _tag: "Sleep", name: "z", millis: 8_000 }])],
    }),
  },
  {
    name: "a question expires before its time",
    invariant: "I5, of times",
    edits: [
      {
        file: "thread-actors/Approval.ts",
        find: "timeAfter(now, asked.expiresMillis)",
        replace: "timeAfter(now, asked.expiresMillis / 2)",
      },
    ],
    pinned: world({
      talks: true,
      operations: [submits(0, "k0", [{ _tag: "Approval", name: "a", expiresMillis: 20_000 }])],
    }),
  },
  {
    name: "a deferred input runs before its time",
    invariant: "I3, of times",
    edits: [
      {
        file: "thread-actors/Head.ts",
        find: "due: deferredAt !== undefined && deferredAt <= now ? firstDue(sql, now) : undefined,",
        replace: "due: firstDue(sql, now + 10_000),",
      },
    ],
    // Its thread is looked at for another that comes a little earlier.
    pinned: world({
      operations: [
        submits(0, "k0", [step("s")], { afterMillis: 60_000 }),
        submits(54_000, "k1", []),
      ],
    }),
  },
  {
    name: "the time of a suspended run is told late",
    invariant: "I20, of times",
    edits: [
      {
        file: "thread-actors/LaneReport.ts",
        find: "return dueAt === null ? {} : { dueAt }",
        replace: "return dueAt === null ? {} : { dueAt: dueAt + 300_000 }",
      },
    ],
    pinned: world({
      talks: true,
      operations: [submits(0, "k0", [{ _tag: "Sleep", name: "z", millis: 8_000 }])],
    }),
  },
  {
    name: "the time of a deferred input is told late",
    invariant: "I20, of times",
    edits: [
      {
        file: "thread-actors/LaneReport.ts",
        find: "nextDeferredAt === undefined ? {} : { dueAt: nextDeferredAt }",
        replace: "nextDeferredAt === undefined ? {} : { dueAt: nextDeferredAt + 300_000 }",
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [step("s")], { afterMillis: 20_000 })] }),
  },
  {
    name: "a lane rests for hours",
    invariant: "I20, of times",
    edits: [
      {
        file: "owner-object/Answer.ts",
        find: "backoffUntilAt: now + wait,",
        replace: "backoffUntilAt: now + 20_000 * wait,",
      },
    ],
    // One call was lost, and all is well since; an alarm is set, as it should be.
    pinned: world({
      healsAt: 60_000,
      operations: [submits(0, "k0", [step("s")])],
      strikes: [ofRequest(t0, "processHead", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "an occurrence is given twice",
    invariant: "I1, of schedules",
    edits: [
      {
        file: "thread-actors/Upkeep.ts",
        find: "const submitted = submittedOf(block.header, row, latestAt)",
        replace: `const again = row.lastAt === latestAt
  const submitted = submittedOf(block.header, row, again ? latestAt + 1 : latestAt)`,
      },
      {
        file: "thread-actors/Upkeep.ts",
        find: "...moved(row, found.success),\n      lastAt: latestAt,",
        replace:
          "...moved(row, again ? found.success : { ...found.success, nextAt: latestAt }),\n      lastAt: latestAt,",
      },
    ],
    pinned: world({ talks: true, operations: [ticks] }),
  },
  {
    name: "an occurrence is skipped",
    invariant: "I1, of schedules",
    edits: [
      {
        file: "thread-actors/Upkeep.ts",
        find: "  nextAt: nextAt ?? null,\n  dueAt: nextAt ?? null,",
        replace: `  nextAt: skipped(row, nextAt),
  dueAt: skipped(row, nextAt),`,
      },
      {
        file: "thread-actors/Upkeep.ts",
        find: "/** It moves on behind what has passed. */",
        replace: `const skipped = (row, at) =>
  Result.getOrThrow(overdue(row, { firstAt: at, now: at, countMax: 1 })).nextAt ?? null
`,
      },
    ],
    pinned: world({ talks: true, operations: [ticks, submits(290_000, "k0", [works(1_000)])] }),
  },
]
