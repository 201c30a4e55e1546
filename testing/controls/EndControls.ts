/** Controls of ends: what a settlement says of how its run went. */
import type { Control } from "./Control.ts"
import { step, submits, t0, works, world } from "./Worlds.ts"

export const endControls: ReadonlyArray<Control> = [
  {
    name: "a run that ended well is told as failed",
    invariant: "I1, of ends",
    edits: [
      {
        file: "thread-actors/HandlerEnd.ts",
        find: `return { verdict: completed(running, agent, exit.value), log: undefined }`,
        replace: `return {
      verdict:
        running.live.row.attempts > 1
          ? failed(systemFailure("AttemptsLost", "it was lost"))
          : completed(running, agent, exit.value),
      log: undefined,
    }`,
      },
    ],
    // It is lost once.
    pinned: world({
      operations: [submits(0, "k0", [works(2_000), step("s")])],
      faults: [{ at: 1_000, kind: "crash", object: t0, lastsMillis: 0 }],
    }),
  },
  {
    name: "the output of a run is another's",
    invariant: "I1, of ends",
    edits: [
      {
        file: "thread-actors/HandlerEnd.ts",
        find: 'const text = encoded(agent.output, output, { limits, size: "outputBytes" })',
        replace: `const its = (running.thread.first ??= output)
  const text = encoded(agent.output, its, { limits, size: "outputBytes" })`,
      },
    ],
    pinned: world({
      operations: [submits(0, "k0", [step("s")]), submits(10_000, "k1", [step("s"), step("t")])],
    }),
  },
]
