/** Controls of what runs say to each other, and wait for: messages, children, joined inputs, decisions. */
import type { TalkOp } from "../Script.ts"
import type { Plan } from "../Plan.ts"
import type { Control } from "./Control.ts"
import {
  approval,
  asks,
  atOnce,
  atPoint,
  call,
  child,
  awaits,
  ofRequest,
  sends,
  signals,
  step,
  submits,
  t0,
  ticks,
  works,
  world,
} from "./Worlds.ts"

const talks = (given: Partial<Plan> & Pick<Plan, "operations">): Plan =>
  world({ ...given, talks: true })

const taken: TalkOp = { _tag: "Take", name: "taken", max: 8 }

export const talkControls: ReadonlyArray<Control> = [
  {
    name: "send without a name",
    invariant: "I11",
    edits: [
      {
        file: "thread-actors/Send.ts",
        find: "const queued = yield* write(running, name, yield*",
        replace: "const queued = yield* write(running, `${name} ${running.live.epoch}`, yield*",
      },
    ],
    // Its run is entered again behind the message.
    pinned: talks({
      operations: [submits(0, "k0", [sends("m", 1), works(1_000), step("s")])],
      strikes: [atPoint(t0, "step:after", 1, { _tag: "Crashes" })],
    }),
  },
  {
    name: "delivery without id",
    invariant: "I11",
    edits: [
      {
        file: "owner-object/CarryEntry.ts",
        find: "idempotencyKey: keyOf(id),",
        replace: "idempotencyKey: keyOf((id.slice(0, 19) + now) as typeof id),",
      },
    ],
    // Nobody hears that it was delivered.
    pinned: talks({
      operations: [submits(0, "k0", [sends("m", 1)])],
      strikes: [ofRequest(t0, "acknowledgeOutbox", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "a child is asked for without id",
    invariant: "I13",
    edits: [
      {
        file: "owner-object/CarryEntry.ts",
        find: "idempotencyKey: keyOf(id),",
        replace: "idempotencyKey: keyOf((id.slice(0, 19) + now) as typeof id),",
      },
    ],
    pinned: talks({
      operations: [submits(0, "k0", [child("c", [step("s")])])],
      strikes: [ofRequest(t0, "acknowledgeOutbox", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "a message overtakes another",
    invariant: "I11",
    edits: [
      {
        file: "thread-actors/Outbox.ts",
        find: "WHERE target = ? AND parkedAt IS NULL ORDER BY sequence LIMIT +?",
        replace: "WHERE target = ? AND parkedAt IS NULL ORDER BY sequence DESC LIMIT +?",
      },
    ],
    // Both are carried at once, as nobody could claim them before.
    pinned: talks({
      operations: [submits(0, "k0", [sends("m", 1), works(20), sends("n", 1)])],
      strikes: [ofRequest(t0, "claimOutbox", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "child notice parked",
    invariant: "I13",
    edits: [
      {
        file: "thread-actors/ChildNotice.ts",
        find: "deadlineAt: null,",
        replace: "deadlineAt: block.now + 1,",
      },
      {
        file: "thread-actors/AcknowledgeOutbox.ts",
        find: "entry.deadlineAt <= block.now) parkEntry(",
        replace: "entry.deadlineAt <= block.now) removeEntry(",
      },
    ],
    // It is lost on its way once, and given up.
    pinned: talks({
      operations: [submits(0, "k0", [child("c", [step("s")])])],
      strikes: [ofRequest(t0, "settleChild", 1, { _tag: "Lost" })],
    }),
  },
  {
    name: "a parent settles before its children",
    invariant: "I13",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "if (row.attempts > 0 && hasOpenChildren(block.sql, row.sequence)) {",
        replace: "if (row.attempts < 0 && hasOpenChildren(block.sql, row.sequence)) {",
      },
    ],
    pinned: talks({
      operations: [
        submits(0, "k0", [child("c", [step("s", { takesMillis: 20_000 })])]),
        asks(5_000, "Abort", "k0"),
      ],
    }),
  },
  {
    name: "a child is forgotten before its parent was told",
    invariant: "I13",
    edits: [
      {
        file: "thread-actors/Forget.ts",
        find: "const outbox = block.header.unreadable === undefined ? countOwed(block.sql) : 0",
        replace: "const outbox = 0",
      },
    ],
    // Of the first that comes to be, while it waits.
    pinned: talks({
      operations: [
        submits(0, "k0", [child("c", [approval("a")])]),
        { _tag: "Forget", at: 0, client: 0, thread: 3, lateMillis: 5_000, abort: true },
      ],
    }),
  },
  {
    name: "what has joined settles by itself",
    invariant: "I12",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "settleJoined(block, row, content.outcome)",
        replace: `settleJoined(block, row, "completed")`,
      },
    ],
    pinned: talks({
      operations: [
        submits(0, "k0", [works(2_000), taken, works(20_000)]),
        submits(1_000, "k1", [step("s")], { joins: true }),
        asks(5_000, "Abort", "k0"),
      ],
    }),
  },
  {
    name: "suspend for a wait beside a running sibling",
    invariant: "I6",
    edits: [
      {
        file: "thread-actors/Waiting.ts",
        find: `Effect.as(waitForQuiet(running), "quiet" as const)`,
        replace: `Effect.succeed("quiet" as const)`,
      },
    ],
    pinned: talks({
      operations: [
        submits(0, "k0", [
          atOnce(approval("a"), call("c", "pay", { takesMillis: 3_000, landsMillis: 5_000 })),
        ]),
      ],
      // The call is under way when the run comes to its wait.
      strikes: [atPoint(t0, "wait:before", 1, { _tag: "Waits", millis: 1_000 })],
    }),
  },
  {
    name: "decisions of waits read before the suspending block",
    invariant: "I20",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "if (dueAt <= block.now || isAnswered(block, live)) {",
        replace: "if (dueAt <= block.now) {",
      },
    ],
    // The decision comes between the last look and the block.
    pinned: talks({
      operations: [submits(0, "k0", [awaits("a")]), signals(10_000, "k0", "a")],
      strikes: [atPoint(t0, "suspend:before", 1, { _tag: "Waits", millis: 20_000 })],
    }),
  },
  {
    name: "a suspended run forgets its timer",
    invariant: "I20",
    edits: [
      {
        file: "thread-actors/Settle.ts",
        find: "const at = dueAt === Infinity ? null : dueAt",
        replace: "const at = dueAt < 0 ? dueAt : null",
      },
    ],
    pinned: talks({
      operations: [submits(0, "k0", [{ _tag: "Sleep", name: "z", millis: 5_000 }])],
    }),
  },
  {
    name: "the time of a schedule is not told",
    invariant: "I20, of schedules",
    edits: [
      {
        file: "thread-actors/LaneReport.ts",
        find: "...(facts.upkeepAt === undefined ? {} : { upkeepAt: facts.upkeepAt }),",
        replace: "",
      },
    ],
    pinned: talks({ operations: [ticks] }),
  },
]
