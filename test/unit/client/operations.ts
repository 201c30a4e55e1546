/** A valid payload of every public operation, and the object it is meant for. */
import { ownerId, recordId, submission, submissionId, threadId, token, waitName } from "./fakes.ts"

const lanePlace = { ownerId, threadId }

export const words = { author: "ann", reason: "sent twice" }

export const withoutOwner = ({ ownerId: _o, ...rest }: typeof submission) => rest

/** Every operation, and the object it is meant for. */
export const operations = {
  submit: { object: "owner", payload: submission },
  submitMany: {
    object: "owner",
    payload: { ownerId, submissions: [withoutOwner(submission)] },
  },
  resubmit: {
    object: "owner",
    payload: { ...lanePlace, ...words, submissionId, idempotencyKey: "key-2", input: null },
  },
  retryMany: {
    object: "owner",
    payload: { ownerId, ...words, filter: { threadIds: [threadId] }, dryRun: true },
  },
  abortMany: {
    object: "owner",
    payload: { ownerId, ...words, filter: { state: "ready" }, dryRun: false, limit: 7 },
  },
  abort: {
    object: "owner",
    payload: { ...lanePlace, ...words, submissionId },
  },
  resolveApproval: {
    object: "owner",
    payload: { ...lanePlace, ...words, submissionId, name: waitName, approved: true },
  },
  signal: {
    object: "owner",
    payload: { ...lanePlace, submissionId, name: waitName, payload: { paid: true } },
  },
  // The thread is asked first, which wait it is for.
  callback: { object: "owner", payload: { ...lanePlace, token, payload: { paid: true } } },
  schedule: {
    object: "owner",
    payload: {
      ...lanePlace,
      name: "nightly",
      cron: "0 3 * * *",
      timeZone: "Europe/Berlin",
      agent: submission.agent,
      input: submission.input,
    },
  },
  schedules: { object: "thread", payload: { ...lanePlace, limit: 7 } },
  unschedule: { object: "owner", payload: { ...lanePlace, name: "nightly" } },
  resolveUnknown: {
    object: "owner",
    payload: {
      ...lanePlace,
      ...words,
      submissionId,
      recordId,
      resolution: { _tag: "CompletedWithResult", result: { paid: true } },
    },
  },
  retry: { object: "owner", payload: { ...lanePlace, ...words, submissionId } },
  pauseThread: { object: "owner", payload: { ...lanePlace, ...words } },
  resumeThread: { object: "owner", payload: { ...lanePlace, ...words } },
  forgetThread: { object: "owner", payload: { ...lanePlace, ...words, abort: true } },
  obligations: { object: "owner", payload: { ownerId, agedAfterMillis: 60_000, limit: 7 } },
  wake: { object: "owner", payload: lanePlace },
  watch: { object: "owner", payload: { ownerId } },
  reconcile: { object: "owner", payload: { ownerId, threadIds: [threadId] } },
  recoveryStatus: { object: "owner", payload: lanePlace },
  maintenanceStatus: { object: "owner", payload: { ownerId } },
  runMaintenance: { object: "owner", payload: { ownerId } },
  listThreads: { object: "owner", payload: { ownerId, state: "idle", text: "order", limit: 7 } },
  search: { object: "owner", payload: { ownerId, query: "refund", limit: 7 } },
  rebuildProjections: { object: "owner", payload: { ownerId } },
  listOwners: { object: "registry", payload: { after: ownerId, limit: 7 } },
  status: { object: "thread", payload: { ...lanePlace, submissionId } },
  history: { object: "thread", payload: lanePlace },
  awaitSettlement: { object: "thread", payload: { ...lanePlace, submissionId } },
  readState: { object: "thread", payload: lanePlace },
  explain: { object: "thread", payload: { ...lanePlace, submissionId } },
  verify: { object: "thread", payload: { ...lanePlace, after: 7, limit: 100 } },
  observe: { object: "thread", payload: lanePlace },
} as const
