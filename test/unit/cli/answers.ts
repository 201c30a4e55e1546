/** What the objects of a deployment answer in tests of the command: one of everything. */
import { Option, Stream } from "effect"
import {
  explanation,
  hit,
  lane,
  receipt,
  schedule,
  settlement,
  signalled,
  submissionId,
  threadId,
  waitName,
} from "../client/fakes.ts"
import type { Answers } from "./deployment.ts"

export const at = 1_796_003_221_326
export const recordId = "1e6df89deeca98c5b857859846b300ca"

export const record = (sequence: number, kind = "Progress") => ({
  sequence,
  submissionId,
  kind,
  name: "said",
  epoch: 1,
  recordedAt: at,
  payload: { data: { sequence } },
})

export const pass = {
  phase: "actionable",
  recovered: 0,
  settled: 1,
  nonterminal: 0,
  alarm: "cleared",
  startedAt: at,
  endedAt: at + 12,
  actorCalls: 2,
  endedBy: "quiescent",
}

export const fault = {
  schemaVersion: 1,
  threadId,
  firstFailedAt: at,
  lastFailedAt: at,
  retryAt: at + 5_000,
  attempts: 3,
  failure: {
    phase: "call",
    operation: "recover",
    reason: "failure",
    tag: "ThreadUnreadable",
    message: "rows do not decode",
  },
}

/** One of everything, as an owner, a thread and the registry tell it. */
export const answers: Answers = {
  submit: () => receipt,
  submitMany: ({ submissions }: { submissions: ReadonlyArray<{ threadId: never }> }) => ({
    outcomes: submissions.map((one, index) => ({
      _tag: "Accepted",
      receipt: { ...receipt, threadId: one.threadId, sequence: index + 1 },
    })),
  }),
  resubmit: () => ({ ...receipt, sequence: 2, resubmissionOf: submissionId }),
  awaitSettlement: () => ({ _tag: "Settled", settlement }),
  status: () => ({ submissionId, state: "settled", sequence: 1, attempts: 1, settlement }),
  history: () => ({ records: [record(1, "InputApplied"), record(2)], next: 2 }),
  observe: () =>
    Stream.concat(
      Stream.make(
        { _tag: "Opened", tailSequence: 2 },
        { _tag: "Record", record: record(2) },
        { _tag: "Record", record: record(3, "Settled") },
      ),
      Stream.never,
    ),
  readState: () => ({ version: 4, value: { orders: 7 } }),
  abort: () => ({ _tag: "Aborting" }),
  resolveApproval: ({ approved }: { approved: boolean }) => ({
    recordId,
    approved,
    decidedAt: at,
    state: "ready",
  }),
  signal: () => signalled,
  // The thread is asked which wait a token is for, then the owner is signalled.
  callback: (payload: { token?: string }) =>
    payload.token === undefined ? signalled : { submissionId, name: waitName },
  schedule: () => schedule,
  schedules: () => ({ schedules: [schedule] }),
  unschedule: () => ({ removed: true }),
  search: () => ({ hits: [hit] }),
  rebuildProjections: () => ({ lanes: 1 }),
  resolveUnknown: () => ({ state: "ready", undecided: 1 }),
  retry: () => ({ state: "ready", dueAt: 0 }),
  retryMany: () => ({
    results: [
      {
        threadId,
        submissionId,
        sequence: 1,
        agent: "refund",
        state: "ready",
        acceptedAt: at,
        effect: { _tag: "Planned", would: "retry" },
      },
    ],
    unanswered: [],
  }),
  abortMany: () => ({
    results: [
      {
        threadId,
        submissionId,
        sequence: 1,
        agent: "refund",
        state: "ready",
        acceptedAt: at,
        effect: { _tag: "Done", reply: { _tag: "Aborting" } },
      },
    ],
    unanswered: [],
  }),
  wake: () => lane,
  laneStatus: () => lane,
  pauseThread: () => ({ paused: true, pause: { author: "ann", reason: "audit", sinceAt: at } }),
  resumeThread: () => ({ paused: false }),
  forgetThread: () => ({ _tag: "Condemned" }),
  reconcile: ({ threadIds }: { threadIds: ReadonlyArray<string> }) => ({
    enrolled: threadIds.length,
  }),
  explain: () => [explanation],
  verify: () => ({
    checks: [
      { _tag: "Passed", check: "contiguity" },
      { _tag: "Passed", check: "fifo" },
    ],
    records: 9,
  }),
  recoveryStatus: () => Option.some(fault),
  obligations: () => ({
    obligations: [
      {
        threadId,
        submissionId,
        state: "unknown",
        blocker: "unknown",
        name: "pay-back",
        recordId,
        sinceAt: at,
        ageMillis: 90_000,
        severity: "ok",
        nonterminal: 1,
      },
    ],
  }),
  listThreads: () => ({
    threads: [
      {
        threadId,
        title: "Order 7",
        state: "faulted",
        activeAt: at,
        nonterminal: 1,
        parked: 0,
        paused: true,
        tailSequence: 9,
      },
    ],
  }),
  list: () => ({ owners: [{ ownerId: "shop-1", enteredAt: at, owed: true }] }),
  maintenanceStatus: () => ({
    ownerId: "shop-1",
    nonterminal: 3,
    lanes: 1,
    dueLanes: 0,
    runningLanes: 0,
    faultedLanes: 0,
    unfinishedPasses: 0,
    lastPass: pass,
  }),
  runMaintenance: () => ({ _tag: "Finished", pass }),
  watch: () =>
    Stream.concat(
      Stream.make({ _tag: "Opened", faultedLanes: 0 }, { _tag: "Lane", lane }),
      Stream.never,
    ),
}
