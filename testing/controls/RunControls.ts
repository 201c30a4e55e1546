/** Controls of runs in their threads: attempts, epochs, settlements, forgetting. */
import type { Control } from "./Control.ts"
import { deadlyScript } from "../DrawScript.ts"
import { asks, atPoint, ofRequest, step, submits, t0, works, world } from "./Worlds.ts"

export const runControls: ReadonlyArray<Control> = [
  {
    name: "recover ignores a live attempt",
    invariant: "I3",
    edits: [
      {
        file: "thread-actors/Decision.ts",
        find: `if (row.state === "running" && isLive(row, live)) return deferred("AwaitAttempt")`,
        replace: "",
      },
    ],
    // The recovery of a lost attempt is replayed by the platform while the next attempt runs.
    pinned: world({
      operations: [submits(0, "k0", [step("a", { takesMillis: 100 }), works(20_000), step("b")])],
      strikes: [
        atPoint(t0, "step:after", 1, { _tag: "Crashes" }),
        ofRequest(t0, "recover", 1, { _tag: "Replayed", millis: 5_000 }),
      ],
    }),
  },
  {
    name: "a read writes",
    invariant: "I15",
    edits: [
      {
        file: "thread-actors/Status.ts",
        find: `  if (record === undefined) throw new Unreadable("journal")
  return {`,
        replace: `  if (record === undefined) throw new Unreadable("journal")
  sql.run("UPDATE submissions SET id = id WHERE sequence = ?", row.sequence)
  return {`,
      },
    ],
    // Reads are tried in a third of the seeds.
    pinned: world({ seed: 3, operations: [submits(0, "k0", [])] }),
  },
  {
    name: "strike not flushed",
    invariant: "I18",
    edits: [
      {
        file: "thread-actors/Claim.ts",
        find: "flushFirst: flushFirst || row.attempts > 1,",
        replace: "flushFirst: flushFirst && row.attempts < 0,",
      },
    ],
    pinned: world({
      flushMillis: 10,
      healsAt: 600_000,
      operations: [submits(0, "k0", deadlyScript.ops)],
    }),
  },
  {
    name: "failed step not recorded",
    invariant: "I5",
    edits: [
      {
        file: "thread-actors/Step.ts",
        find: `  return record(
    running,
    { kind: "StepFailed", name, payload },
    Effect.fail(kept === undefined ? new StepFailed({ step: name, ...told }) : kept.value),
  )`,
        replace: `  return payload === ""
    ? record(running, { kind: "StepFailed", name, payload }, Effect.void)
    : Effect.fail(kept === undefined ? new StepFailed({ step: name, ...told }) : kept.value)`,
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [step("s", { ends: "refused" })])] }),
  },
  {
    name: "settling block blind to an abort",
    invariant: "I1",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "  if (intent !== undefined)\n    return settled(block, live, abortedBy(",
        replace:
          '  if (intent !== undefined && verdict._tag === "OutOfTime")\n    return settled(block, live, abortedBy(',
      },
    ],
    // What cannot be interrupted ends well within its grace.
    pinned: world({
      operations: [submits(0, "k0", [works(5_000, true)]), asks(2_000, "Abort", "k0")],
    }),
  },
  {
    name: "forget without tombstone",
    invariant: "I2",
    edits: [
      {
        file: "thread-actors/Forget.ts",
        find: "forgottenAt: block.now, // O4",
        replace: "forgottenAt: null,",
      },
    ],
    pinned: world({
      operations: [
        submits(0, "k0", [step("s")]),
        { _tag: "Forget", at: 10_000, client: 0, thread: 0, abort: false },
      ],
    }),
  },
  {
    name: "epoch not bumped at settlement",
    // Nothing comes of it in this product: states and ended attempts refuse the same writes. The row itself is judged.
    invariant: "I4",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "    row.epoch + 1, // D2\n    end.outcome,",
        replace: "    row.epoch,\n    end.outcome,",
      },
    ],
    pinned: world({ operations: [submits(0, "k0", [step("s")])] }),
  },
  {
    name: "a key is admitted twice",
    invariant: "I2",
    edits: [
      {
        file: "thread-actors/Admission.ts",
        find: "    keyText(admission),\n    admission.agent,",
        replace: "    `${keyText(admission)}#${sequence}`,\n    admission.agent,",
      },
    ],
    pinned: world({
      rates: { "client sends twice": 1 },
      operations: [submits(0, "k0", [])],
    }),
  },
]
