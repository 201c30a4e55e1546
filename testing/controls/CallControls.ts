/** Controls of ordinary calls: what may have happened outside, and who says what became of it. */
import type { Control } from "./Control.ts"
import { asks, atOnce, atPoint, call, does, ofRequest, step, submits, t0, world } from "./Worlds.ts"

export const callControls: ReadonlyArray<Control> = [
  {
    name: "repair on stale evidence",
    // A stale answer alone is refused by the name of its record, which an abort has taken: it is the run's own repair
    // that goes by what was seen before the reconciler was asked.
    invariant: "I4",
    edits: [
      {
        file: "thread-actors/Asking.ts",
        find: "  const after = repair(block, before.row.sequence)\n  if (after === undefined) return",
        replace: `  const resumed = { decision: "Resume", disposition: "repaired" } as const
  const isOver = answers.every(({ found }) => found._tag === "Outcome" || found._tag === "Again")
  const after = repair(
    block,
    before.row.sequence,
    isOver ? { ...before, decided: resumed } : undefined,
  )
  if (after === undefined) return`,
      },
      {
        file: "thread-actors/Repair.ts",
        find: `export const repair = (block: Block, sequence: number): Looked | undefined => {
  const row = readRow(block.sql, sequence)
  if (row === undefined) return undefined
  const looked = look(block.thread, row, block.now)`,
        replace: `export const repair = (block: Block, sequence: number, known?: Looked): Looked | undefined => {
  const row = known?.row ?? readRow(block.sql, sequence)
  if (row === undefined) return undefined
  const looked = known ?? look(block.thread, row, block.now)`,
      },
    ],
    // While its reconciler's answer is on its way to the journal, the submission is aborted.
    pinned: world({
      operations: [
        submits(0, "k0", [call("c", "pay", { ends: "breaks", landsMillis: 10 })]),
        asks(60_000, "Abort", "k0"),
      ],
      strikes: [atPoint(t0, "recover:before", 2, { _tag: "Waits", millis: 60_000 })],
    }),
  },
  {
    name: "a call has another key in each attempt",
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/ToolCall.ts",
        find: "key: callKeyOf(live.row.id, name),",
        replace: "key: callKeyOf(live.row.id, `${name} ${live.row.attempts}`),",
      },
    ],
    pinned: world({
      operations: [submits(0, "k0", [call("c", "mark", { takesMillis: 2_000 })])],
      faults: [{ at: 1_000, kind: "crash", object: t0, lastsMillis: 0 }],
    }),
  },
  {
    name: "reconcile before the call's deadline",
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/OpenCalls.ts",
        find: "now + timeoutMillis + clockAllowanceMillis + oldInstanceMillis",
        replace: "now + 0 * (timeoutMillis + clockAllowanceMillis + oldInstanceMillis)",
      },
    ],
    // Its body breaks off while the provider is at work.
    pinned: world({
      operations: [submits(0, "k0", [call("c", "pay", { ends: "breaks", landsMillis: 7_000 })])],
    }),
  },
  {
    name: "an ordinary call is not recorded before its body",
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/ToolTry.ts",
        find: `const isRecorded = plan.tool.execution !== "readonly"`,
        replace: `const isRecorded = plan.tool.execution === "idempotent"`,
      },
    ],
    pinned: world({
      operations: [submits(0, "k0", [call("c", "pay", { landsMillis: 7_000 })])],
      faults: [{ at: 1_000, kind: "crash", object: t0, lastsMillis: 0 }],
    }),
  },
  {
    name: "settle with an open ordinary call",
    // Judged by what left, and is not known to have come to anything.
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "  if (storedCalls(block.sql, live.sequence).length > 0) return suspendOpen(block, live, verdict) // D6\n",
        replace: "",
      },
    ],
    // A mistake of its author ends the run beside the call.
    pinned: world({
      operations: [
        submits(0, "k0", [
          atOnce(
            call("c", "wire", { ends: "breaks", landsMillis: 10 }),
            step("s", { takesMillis: 500, ends: "dies" }),
          ),
        ]),
      ],
    }),
  },
  {
    name: "suspend beside a running sibling",
    // The call's deadline would still keep it from leaving twice: that its attempt is ended under it is judged.
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/ToolTry.ts",
        find: `Effect.interruptible(Effect.andThen(waitForQuiet(running), leave(running, { _tag: "CallOpen" })))`,
        replace: `Effect.interruptible(leave(running, { _tag: "CallOpen" }))`,
      },
    ],
    pinned: world({
      operations: [
        submits(0, "k0", [
          atOnce(
            call("c", "pay", { ends: "breaks", landsMillis: 10 }),
            call("d", "wire", { landsMillis: 5_000 }),
          ),
        ]),
      ],
    }),
  },
  {
    name: "decisions read before the suspending block",
    // The waits that exist are those for a word about a call: a run is parked in the block that finds all unknown.
    invariant: "I20",
    edits: [
      {
        file: "thread-actors/Asking.ts",
        find: `    return yield* durable(thread, "recover", () =>
      transact(thread, (block) => takeIn(block, before, answers)),
    )`,
        replace: `    const decided = yield* durable(thread, "recover", () =>
      transact(thread, (block) => {
        const now = here(block, before)
        if (now === undefined) return undefined
        for (const { asked: one, found } of answers) apply(block, one, found, now)
        return look(thread, readRow(block.sql, before.row.sequence)!, block.now)
      }),
    )
    return yield* durable(thread, "recover", () =>
      transact(thread, (block) => reportOf(repair(block, before.row.sequence, decided) ?? before)),
    )`,
      },
      {
        file: "thread-actors/Asking.ts",
        find: "import { type Looked, repair, reportOf }",
        replace: "import { look, type Looked, repair, reportOf }",
      },
      {
        file: "thread-actors/Repair.ts",
        find: "export const repair = (block: Block, sequence: number): Looked | undefined => {",
        replace:
          "export const repair = (block: Block, sequence: number, known?: Looked): Looked | undefined => {",
      },
      {
        file: "thread-actors/Repair.ts",
        find: "const looked = look(block.thread, row, block.now)",
        replace: "const looked = known ?? look(block.thread, row, block.now)",
      },
    ],
    // Somebody's word comes between the look and the block, and the owner hears of it when it is too late.
    pinned: world({
      reconciling: "is uncertain",
      operations: [
        submits(0, "k0", [call("c", "pay", { ends: "breaks", landsMillis: 10 })]),
        does(70_000, "Resolve"),
      ],
      strikes: [
        atPoint(t0, "recover:before", 3, { _tag: "Waits", millis: 60_000 }),
        ofRequest(t0, "resolveUnknown", 1, { _tag: "ReplyLate", millis: 20_000 }),
      ],
    }),
  },
  {
    name: "resolved unknown overtakes",
    invariant: "I3",
    edits: [
      {
        file: "thread-actors/Head.ts",
        find: "  if (open !== null) return {",
        replace: "  if (open !== null && firstResolved(sql) === undefined) return {",
      },
    ],
    // The word comes while another run is open, and waits for the end of its own call.
    pinned: world({
      operations: [
        submits(0, "k0", [call("c", "wire", { ends: "breaks" })]),
        submits(120_000, "k1", [call("d", "pay", { ends: "breaks", landsMillis: 10 })]),
        does(125_000, "Resolve"),
      ],
    }),
  },
  {
    name: "a late resolution that names no record",
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/ResolveUnknown.ts",
        find: "call.unknownAt !== null && recordIdOf(submissionId, call) === recordId",
        replace: `call.unknownAt !== null && recordIdOf(submissionId, call) + recordId !== ""`,
      },
    ],
    // The platform replays the first word when the call has become unknown once more.
    pinned: world({
      healsAt: 500_000,
      operations: [
        submits(0, "k0", [call("c", "wire", { ends: "breaks" })]),
        does(120_000, "Resolve"),
      ],
      strikes: [ofRequest(t0, "resolveUnknown", 1, { _tag: "Replayed", millis: 150_000 })],
    }),
  },
]
