/** Controls of what an owner knows of its lanes: enrolments, reports, the set in flight, turns. */
import type { Control } from "./Control.ts"
import { deadlyScript } from "../DrawScript.ts"
import type { Operation } from "../Plan.ts"
import type { Strike } from "../Strikes.ts"
import { atPoint, ofRequest, owner, step, submits, t0, t1, world } from "./Worlds.ts"

/** A client that hears nothing sends nothing again. */
const vanishes = { "client vanishes": 1 }

/** One lane's recovery goes on for half a minute, and another lane comes due meanwhile. */
const oneGoesOn = (...strikes: ReadonlyArray<Strike>) =>
  world({
    limits: { projectionMillis: 60_000 },
    operations: [
      submits(0, "k0", [step("s", { takesMillis: 5_000 })]),
      submits(40_000, "k1", [], { thread: 1 }),
    ],
    faults: [{ at: 1_000, kind: "crash", object: t0, lastsMillis: 0 }],
    strikes: [ofRequest(t0, "recover", 1, { _tag: "ReplyLate", millis: 29_000 }), ...strikes],
  })

/** The first thread keeps the only slot for a while, and two others come due meanwhile, one after the other. */
const oneSlot = (...more: ReadonlyArray<Operation>) =>
  world({
    limits: { dispatchSlots: 1 },
    operations: [
      submits(0, "k0", []),
      submits(1_000, "k1", [], { thread: 1 }),
      submits(2_000, "k2", [], { thread: 2 }),
      ...more,
    ],
    strikes: [ofRequest(t0, "processHead", 1, { _tag: "Late", millis: 20_000 })],
  })

export const laneControls: ReadonlyArray<Control> = [
  {
    name: "clear with an active mutation",
    invariant: "I8",
    edits: [
      {
        file: "owner-object/Finish.ts",
        find: `  if (overlap.count > 0) {
    writeLane(block, before, accepted.lane, { afterTurn: false })`,
        replace: `  if (overlap.count > 0) {
    writeLane(block, before, { ...accepted.lane, enrolled: undefined }, { afterTurn: false })`,
      },
    ],
    // The first is done before the second, which waits in its owner, gets to the thread; and nobody hears of that.
    pinned: world({
      rates: vanishes,
      operations: [submits(0, "k0", []), submits(50, "k1", [])],
      strikes: [
        atPoint(owner, "body:before", 1, { _tag: "Waits", millis: 100 }),
        atPoint(owner, "body:before", 2, { _tag: "Waits", millis: 900 }),
        ofRequest(t0, "admit", 2, { _tag: "ReplyLost" }),
      ],
    }),
  },
  {
    name: "no fence",
    invariant: "I8",
    edits: [
      {
        file: "thread-actors/Fence.ts",
        find: "const late = (fence !== null && generation <= fence) || refused.includes(generation) // F1",
        replace: "const late = refused.includes(generation)",
      },
    ],
    // An admission lands after its owner has given up on it, and has looked. Another was answered meanwhile, so that the look
    // is of a newer generation: its own is kept by a look at a thread of which nothing was known.
    pinned: world({
      rates: vanishes,
      operations: [submits(0, "k0", []), submits(1_000, "k1", [])],
      strikes: [ofRequest(t0, "admit", 1, { _tag: "Late", millis: 40_000 })],
    }),
  },
  {
    name: "finish clears an older enrolment",
    invariant: "I8",
    edits: [
      {
        file: "owner-object/Finish.ts",
        find: "overlap.cleanAtFirst && overlap.allAnswered",
        replace: "overlap.allAnswered",
      },
    ],
    // As before; and before a visit arrives another mutation comes and is answered.
    pinned: world({
      rates: vanishes,
      operations: [submits(0, "k0", []), submits(30_020, "k1", [])],
      strikes: [
        ofRequest(t0, "admit", 1, { _tag: "Late", millis: 40_000 }),
        ofRequest(t0, "inspect", 1, { _tag: "Lost" }),
      ],
    }),
  },
  {
    name: "older revision accepted",
    invariant: "I14",
    edits: [
      {
        file: "owner-object/AcceptReport.ts",
        find: "if (!foreign && stored !== undefined && report.revision < stored.revision) {",
        replace: "if (!foreign && stored !== undefined && report.revision < 0) {",
      },
    ],
    // What the thread pushes about the first arrives when the second is done.
    pinned: world({
      operations: [
        submits(0, "k0", [step("s", { takesMillis: 1_000 })]),
        submits(10_000, "k1", []),
      ],
      strikes: [ofRequest(owner, "report", 1, { _tag: "Late", millis: 20_000 })],
    }),
  },
  {
    name: "running head without dueAt",
    // The report of a running head says so; when its lane is looked at again is its owner's own mark.
    invariant: "I7",
    edits: [
      {
        file: "owner-object/Rotation.ts",
        find: `return { work: "dispatch", at: lane.marks.watchAt ?? now + limits.watchMillis }`,
        replace: "return undefined",
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [step("s", { takesMillis: 20_000 })])] }),
  },
  {
    name: "in-flight set written after the calls",
    // Then it is the close of the pass that writes it.
    invariant: "I18",
    edits: [
      {
        file: "owner-object/Select.ts",
        find: "inFlight, // D3",
        replace: "",
      },
    ],
    // What kills its thread takes the owner with it: only the set in flight tells whose turn it was.
    pinned: world({
      flushMillis: 10,
      killsTake: [owner],
      healsAt: 600_000,
      operations: [submits(0, "k0", deadlyScript.ops)],
    }),
  },
  {
    name: "wake lost between check and wait",
    invariant: "I19",
    edits: [
      { file: "owner-object/Pass.ts", find: "      latch.closeUnsafe()\n", replace: "" },
      {
        file: "owner-object/Pass.ts",
        find: "        yield* pause(owner, life, pass, { latch, lookedAt })",
        replace:
          "        latch.closeUnsafe()\n        yield* pause(owner, life, pass, { latch, lookedAt: owner.host.now() })",
      },
    ],
    // The other comes due when what is due has been looked at, and nothing else wakes.
    pinned: oneGoesOn(
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((nth) =>
        atPoint(owner, "select:after", nth, { _tag: "Waits", millis: 200 }),
      ),
    ),
  },
  {
    name: "a neighbour's fault leaves one slot",
    invariant: "I9",
    edits: [
      {
        file: "owner-object/Select.ts",
        find: "const slots = pass.oneSlot ? 1 : slotsOf(kind, block.limits)",
        replace: `const slots =
    pass.oneSlot || (kind === "dispatch" && block.maintenance.faulted > 0)
      ? 1
      : slotsOf(kind, block.limits)`,
      },
    ],
    // The first thread cannot be read, and has a fault; the call of the second hangs; nothing is done to the third.
    pinned: world({
      operations: [
        submits(0, "k0", [step("s", {}), step("t", { takesMillis: 20_000 })]),
        submits(120_000, "k1", [], { thread: 1 }),
        submits(121_000, "k2", [], { thread: 2 }),
      ],
      faults: [
        { at: 2_000, kind: "record corrupt", object: t0, lastsMillis: 0 },
        { at: 2_001, kind: "crash", object: t0, lastsMillis: 0 },
      ],
      strikes: [ofRequest(t1, "processHead", 1, { _tag: "Late", millis: 20_000 })],
    }),
  },
  {
    name: "a pass is not woken for what is due",
    invariant: "I19",
    edits: [
      {
        file: "owner-object/Block.ts",
        find: "if (Math.min(earliestAt ?? Infinity, shownAt) < pass.findsFrom) pass.wake()",
        replace: "if (shownAt < pass.findsFrom) pass.wake()",
      },
    ],
    pinned: oneGoesOn(),
  },
  {
    name: "whoever came due last goes first",
    invariant: "I10",
    edits: [
      {
        file: "owner-object/Select.ts",
        find: ".sort((first, second) => first.ticket - second.ticket) // D2",
        replace: ".sort((first, second) => second.ticket - first.ticket)",
      },
    ],
    pinned: oneSlot(),
  },
  {
    name: "a due lane loses its place when it is written",
    invariant: "I10",
    edits: [
      {
        file: "owner-object/Rotation.ts",
        find: "if (kept !== undefined && kept < dueBefore(now)) return kept // R2",
        replace: "if (kept !== undefined && kept < 0) return kept",
      },
    ],
    // The one that has waited longer is given something more.
    pinned: oneSlot(submits(3_000, "k3", [], { thread: 1 })),
  },
]
