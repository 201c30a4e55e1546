/** Controls of what goes on beside the work of threads: publication, retention, tokens and host lanes. */
import type { HostLanePlan, HostPiece } from "../HostWork.ts"
import type { Operation } from "../Plan.ts"
import type { TalkOp } from "../Script.ts"
import type { SinkPlan } from "../Sink.ts"
import type { Control } from "./Control.ts"
import { atOnce, ofRequest, sends, step, submits, t0, works, world } from "./Worlds.ts"

/** Until the world heals it does this to every batch. */
const sinkThat = (ill: SinkPlan["ills"][number], given: Partial<SinkPlan> = {}): SinkPlan => ({
  share: 1,
  ills: [ill],
  ...given,
})

const withToken = (name: string): TalkOp => ({ _tag: "Await", name, callback: true })

/** Somebody uses the nth of the tokens that were given away. */
const usesToken = (at: number, nth: number, value = 7): Operation => ({
  _tag: "Callback",
  at,
  client: 0,
  nth,
  value,
  forged: false,
})

/** One with one piece of work, whose first wave ends so. */
const lane = (given: Partial<HostPiece>): HostLanePlan => ({
  name: "h0",
  allowanceMillis: 10_000,
  silent: 0,
  pieces: [{ owner: 0, at: 1_000, takesMillis: 0, ends: "fails", times: 1, ...given }],
})

export const asideControls: ReadonlyArray<Control> = [
  {
    name: "what its sink has refused is acknowledged",
    invariant: "Publication",
    edits: [
      {
        file: "owner-object/Publish.ts",
        find: "if (!(yield* give(work, records))) return { end: { ...end, refused: true }, more: false }",
        replace: "yield* give(work, records)",
      },
    ],
    pinned: world({ sink: sinkThat("refuses"), operations: [submits(0, "k0", [step("s")])] }),
  },
  {
    name: "a run begins before its sink has all",
    invariant: "Publication",
    edits: [
      {
        file: "thread-actors/Claim.ts",
        find: "unpublished: owesRecords(block.thread, block.header),",
        replace: "unpublished: false,",
      },
      {
        file: "thread-actors/LaneReport.ts",
        find: "dueAt === undefined || facts.publishAt !== undefined ? rest",
        replace: "dueAt === undefined ? rest",
      },
    ],
    // The second is there when the first settles.
    pinned: world({
      sink: sinkThat("refuses"),
      operations: [submits(0, "k0", [works(1_000)]), submits(500, "k1", [step("s")])],
    }),
  },
  {
    name: "a sink that hangs holds up its owner",
    invariant: "I19",
    edits: [
      {
        file: "owner-object/Launch.ts",
        find: `        pass.publications.delete(threadId)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),`,
        replace: `        pass.publications.delete(threadId)
        wakePass(life)
      }),
    ),
    Effect.andThen(Effect.forkDetach(Effect.void)),`,
      },
    ],
    pinned: world({
      sink: sinkThat("hangs", { of: [0] }),
      operations: [submits(0, "k0", [step("s")]), submits(5_000, "k1", [step("s")], { thread: 1 })],
    }),
  },
  {
    name: "what is to be published is not told",
    invariant: "I8",
    edits: [
      {
        file: "thread-actors/Publication.ts",
        find: "owesRecords(thread, header) && !isAtWork(thread) ? 0 : undefined",
        replace: "owesRecords(thread, header) && isAtWork(thread) ? 0 : undefined",
      },
    ],
    pinned: world({ sink: sinkThat("refuses"), operations: [submits(0, "k0", [step("s")])] }),
  },
  {
    name: "what is open is pruned",
    invariant: "Retention",
    edits: [
      {
        file: "thread-actors/Retention.ts",
        find: "if (record.settled === 0 || record.gone === 1 ||",
        replace: "if (record.gone === 1 ||",
      },
    ],
    pinned: world({
      keeps: { v2: 5_000 },
      operations: [
        submits(0, "k0", [step("s")]),
        submits(1_000, "k1", [step("s"), works(60_000), step("z")]),
      ],
    }),
  },
  {
    name: "content is pruned before its time",
    invariant: "Retention",
    edits: [
      {
        file: "thread-actors/Retention.ts",
        find: "if (record.recordedAt + policy.periodMillis > block.now) break",
        replace: "if (record.recordedAt < 0) break",
      },
    ],
    pinned: world({
      keeps: { v2: 60_000 },
      operations: [submits(0, "k0", [step("s")]), submits(50_000, "k1", [step("s")])],
    }),
  },
  {
    name: "content is pruned before it was carried",
    // What is gone nobody can take.
    invariant: "I20",
    edits: [
      {
        file: "thread-actors/Retention.ts",
        find: "if (!batch.carried.has(record.submission)) return",
        replace: "if (batch.carried.size >= 0) return",
      },
    ],
    // It settles, and its message cannot be claimed at first.
    pinned: world({
      talks: true,
      keeps: { v2: 1 },
      operations: [submits(0, "k0", [sends("m", 1)])],
      strikes: [1, 2, 3].map((nth) => ofRequest(t0, "claimOutbox", nth, { _tag: "Lost" })),
    }),
  },
  {
    name: "waits of a run have one token",
    invariant: "Callbacks",
    edits: [
      {
        file: "thread-actors/Callback.ts",
        find: `sha256("callback\\n", key, "\\n", submissionId, "\\n", name).slice(0, 32)`,
        replace: `sha256("callback\\n", key, "\\n", submissionId, name.slice(9)).slice(0, 32)`,
      },
    ],
    pinned: world({
      talks: true,
      callbacks: true,
      operations: [submits(0, "k0", [atOnce(withToken("a"), withToken("b"))]), usesToken(5_000, 1)],
    }),
  },
  {
    name: "a token stands in a record",
    invariant: "Callbacks",
    edits: [
      {
        file: "thread-actors/Callback.ts",
        find: "JSON.stringify({ callback: digest })",
        replace: "JSON.stringify({ callback: digest, secret })",
      },
    ],
    pinned: world({
      talks: true,
      callbacks: true,
      operations: [submits(0, "k0", [withToken("a")]), usesToken(5_000, 0)],
    }),
  },
  {
    name: "any value is told as received",
    invariant: "Callbacks",
    edits: [
      {
        file: "thread-actors/SignalCommand.ts",
        find: "if (answer.payload.startsWith(start)) return",
        replace: "if (start !== answer.payload) return",
      },
    ],
    // Another value is told that it was received.
    pinned: world({
      talks: true,
      callbacks: true,
      operations: [
        submits(0, "k0", [withToken("a"), works(60_000)]),
        usesToken(5_000, 0),
        usesToken(10_000, 0, 8),
      ],
    }),
  },
  {
    name: "a wave has no allowance",
    invariant: "Host lanes",
    edits: [
      {
        file: "owner-object/HostWave.ts",
        find: "Effect.timeoutOption(Deferred.await(spent), allowanceMillis)",
        replace: "Effect.timeoutOption(Deferred.await(spent), allowanceMillis * 1_000)",
      },
    ],
    pinned: world({
      hostLanes: [lane({ ends: "hangs" })],
      operations: [submits(0, "k0", [step("s")])],
    }),
  },
  {
    name: "a wave begins beside another",
    invariant: "Host lanes",
    edits: [
      {
        file: "owner-object/HostWave.ts",
        find: "if (hosts.waves.has(name)) return",
        replace: "if (hosts.waves.size < 0) return",
      },
    ],
    pinned: world({
      hostLanes: [lane({ ends: "clings" })],
      operations: [submits(0, "k0", [step("s")])],
    }),
  },
  {
    name: "a wave holds up its owner",
    invariant: "I19",
    edits: [
      {
        file: "owner-object/Launch.ts",
        find: `        pass.waves.delete(lane.name)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),`,
        replace: `        pass.waves.delete(lane.name)
        wakePass(life)
      }),
    ),
    Effect.andThen(Effect.forkDetach(Effect.void)),`,
      },
    ],
    pinned: world({
      hostLanes: [lane({ ends: "hangs" })],
      operations: [submits(0, "k0", [step("s")]), submits(1_500, "k1", [step("s")], { thread: 1 })],
    }),
  },
  {
    name: "the alarm does not know of host lanes",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/Hosts.ts",
        find: "  return first === Infinity ? undefined : first",
        replace: "  return first < 0 ? first : undefined",
      },
    ],
    pinned: world({
      hostLanes: [lane({ at: 100_000 })],
      operations: [submits(0, "k0", [step("s")])],
    }),
  },
]
