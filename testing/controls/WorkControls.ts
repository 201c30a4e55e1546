/** Controls of how much is done: alarms, calls and rows beyond what is asked for. */
import type { Control } from "./Control.ts"
import { step, submits, works, world } from "./Worlds.ts"

export const workControls: ReadonlyArray<Control> = [
  {
    name: "an alarm is set ahead while nothing is due",
    invariant: "I18",
    edits: [
      {
        file: "owner-object/AlarmSlot.ts",
        find: `  set(slot, life, at, now)\n  return "rearmed"`,
        replace: `  set(slot, life, Math.min(at, now + 1_000), now)\n  return "rearmed"`,
      },
    ],
    // Nothing is to be done for two minutes.
    pinned: world({ operations: [submits(0, "k0", [], { afterMillis: 120_000 })] }),
  },
  {
    name: "a run that goes on is looked at again and again",
    invariant: "I18",
    edits: [
      {
        file: "owner-object/Answer.ts",
        find: "watchAt: now + delayMillis(curve, watches),",
        replace: "watchAt: now + 1_000,",
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [works(120_000), step("s")])] }),
  },
  {
    name: "each look at a thread reads all that stands in it",
    invariant: "I18",
    edits: [
      {
        file: "thread-actors/Head.ts",
        find: "  checkHeader(header)\n",
        replace: `  checkHeader(header)
  sql.all("SELECT * FROM journal")\n`,
      },
    ],
    pinned: world({
      operations: Array.from({ length: 30 }, (_, nth) =>
        submits(nth * 2_000, `k${nth}`, [step("a"), step("b"), step("c")]),
      ),
    }),
  },
]
