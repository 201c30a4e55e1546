/** Controls of the state of a thread, and of work that is done again. */
import type { Control } from "./Control.ts"
import { asksAgain, atOnce, atPoint, counts, step, submits, t0, world } from "./Worlds.ts"

export const stateControls: ReadonlyArray<Control> = [
  {
    name: "a change is written over another",
    invariant: "State",
    edits: [
      {
        file: "thread-actors/ThreadState.ts",
        find: "if (readVersion(block.sql) !== versionOf(found.stored)) return { value: false }",
        replace: "if (readVersion(block.sql) < versionOf(found.stored)) return { value: false }",
      },
    ],
    // The first has computed its change, and waits; the second comes before it.
    pinned: world({
      operations: [submits(0, "k0", [atOnce(counts("a"), counts("b"))])],
      strikes: [atPoint(t0, "state:before", 1, { _tag: "Waits", millis: 200 })],
    }),
  },
  {
    name: "what completed is done again",
    invariant: "I1",
    edits: [
      {
        file: "thread-actors/Resubmit.ts",
        find: 'return outcome === "completed" ? new SettlementConflict',
        replace: "return outcome === undefined ? new SettlementConflict",
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [step("s")]), asksAgain(5_000, "k0", "k1")] }),
  },
  {
    name: "what is open is done again",
    invariant: "I1",
    edits: [
      {
        file: "thread-actors/Resubmit.ts",
        find: 'if (state !== "settled") return new NotSettled',
        replace: 'if (state === "running") return new NotSettled',
      },
    ],
    // The second waits behind the first.
    pinned: world({
      operations: [
        submits(0, "k0", [step("s", { takesMillis: 20_000 })]),
        submits(100, "k1", [step("s")]),
        asksAgain(5_000, "k1", "k2"),
      ],
    }),
  },
]
