/** Controls of the owner's alarm. */
import type { Control } from "./Control.ts"
import { atPoint, ofRequest, owner, submits, t0, world } from "./Worlds.ts"

export const alarmControls: ReadonlyArray<Control> = [
  {
    name: "an alarm overdue by more than 60 s counts as armed",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/AlarmSlot.ts",
        find: "armedAt !== undefined && armedAt > now - limits.alarmGraceMillis // C1",
        replace: "armedAt !== undefined && limits.alarmGraceMillis > 0 && now > 0",
      },
    ],
    // The alarm of the first is lost; the second comes when that must have been noticed.
    pinned: world({
      operations: [submits(0, "k0", []), submits(90_000, "k1", [])],
      strikes: [{ _tag: "OfAlarm", object: owner, nth: 1, does: { _tag: "Lost" } }],
    }),
  },
  {
    name: "a past alarm is replaced by a later one",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/AlarmSlot.ts",
        find: "if (Math.max(atMillis, now + 1) < (life.armedAt ?? 0)) set(slot, life, atMillis, now) // C1",
        replace:
          "if (Math.max(atMillis, now + 1) < (life.armedAt ?? 0) || (life.armedAt ?? 0) <= now) set(slot, life, atMillis, now)",
      },
    ],
    // The alarm for the first rings late, and so does what takes its place; the second has a deadline far away.
    pinned: world({
      operations: [
        submits(0, "k0", []),
        submits(1_000, "k1", [], { thread: 1, afterMillis: 100_000 }),
      ],
      strikes: [
        { _tag: "OfAlarm", object: owner, nth: 1, does: { _tag: "Late", millis: 20_000 } },
        { _tag: "OfAlarm", object: owner, nth: 2, does: { _tag: "Late", millis: 20_000 } },
        atPoint(owner, "body:before", 2, { _tag: "Waits", millis: 10_000 }),
      ],
    }),
  },
  {
    name: "one deadline missing in finish",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/Lane.ts",
        find: `["forget", "visit", "recover", "dispatch", "binding"]`,
        replace: `["forget", "recover", "dispatch", "binding"]`,
      },
    ],
    // Its turn does not arrive, and its lane backs off.
    pinned: world({
      operations: [submits(0, "k0", [])],
      strikes: [ofRequest(t0, "processHead", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "no cover alarm",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/Block.ts",
        find: "  noteDeadline(block, nextAt)\n  noteDeadline(block, outboxTicket)\n",
        replace:
          "  if (overlap === undefined) noteDeadline(block, nextAt)\n  noteDeadline(block, outboxTicket)\n",
      },
    ],
    // The second comes when the owner is in the registry, and nothing else has a deadline.
    pinned: world({ operations: [submits(0, "k0", []), submits(10_000, "k1", [])] }),
  },
]
