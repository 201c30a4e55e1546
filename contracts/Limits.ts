/**
 * Every number of the product: one value, documented defaults, overridable field by field.
 *
 * Tests shorten them; no test waits for a default. Units are in the names. Fields that a caller can
 * exceed carry the name that `AdmissionLimitExceeded.limit` reports.
 */
import { Context } from "effect"

const KiB = 1024
const MiB = 1024 * KiB
const second = 1_000
const minute = 60 * second

export const defaultLimits = {
  // Sizes. A SQLite row holds 2 MB; a hard cap of 1 MiB leaves room for the columns beside it.
  inputBytes: 256 * KiB,
  outputBytes: 256 * KiB,
  stepResultBytes: 256 * KiB,
  recordBytes: 256 * KiB,
  runRecords: 10_000,
  runBytes: 64 * MiB,
  /** Signals of a run that nothing has waited for: what strangers send is none of what the run records. */
  earlySignals: 256,
  earlySignalBytes: 4 * MiB,
  jsonNesting: 64,
  titleCharacters: 256,
  failureTagCharacters: 256,
  failureMessageBytes: 16 * KiB,

  // Admission.
  queuedPerThread: 256,
  nonterminalPerOwner: 100_000,
  /** Of one `submitMany`; the contract's own bound is 1,000. */
  submissionsPerCall: 256,
  /** Their inputs together: what one body over HTTPS may have. */
  submissionBytesPerCall: 4 * MiB,
  mutationsPerLane: 32,
  mutationBytesPerOwner: 32 * MiB,
  /** Each holds a timer, and the platform refuses the 10,000th. */
  mutationsPerOwner: 5_000,
  /** 9 GB of the platform's 10. */
  databaseBytes: 9_000_000_000,
  /** Refused generations a thread remembers, so that a platform replay stays refused. */
  refusedGenerations: 64,

  /** How long the application's policy may take for one call. */
  authorizeMillis: 2 * second,

  // Pages and waits.
  historyRecords: 1_024,
  historyBytes: 1 * MiB,
  pageThreads: 256,
  pageHits: 64,
  /** Lanes that one page of obligations looks at. */
  obligationLanes: 1_024,
  obligationAgedMillis: 15 * minute,
  /** Submissions, threads and lanes that one page of `retryMany` or `abortMany` looks at. */
  bulkSubmissions: 128,
  bulkThreads: 128,
  bulkLanes: 1_024,
  /** Threads of it that are called at once. */
  bulkSlots: 16,
  waitMillis: 5 * minute,
  heartbeatMillis: 15 * second,
  /** How long the body of an HTTPS request may take: who sends slowly holds a connection and memory. */
  bodyMillis: 30 * second,
  observerBuffer: 1_024,

  // Tokens. How far the clock of whoever signs them may be apart from ours.
  clockSkewMillis: 60 * second,
  /** How long a provider may take to give its keys, and how old they may be before it is asked again. */
  keysMillis: 3 * second,
  keysAgeMillis: 10 * minute,
  /** How long keys that are known go on when it does not answer. */
  keysStaleMillis: 24 * 60 * minute,
  /** It is not asked again sooner, whatever tokens name; after a failure the retry curve says when. */
  keysRefetchMillis: 30 * second,
  keysRetryMillis: 1 * second,
  keysRetryMaxMillis: 60 * second,
  /** How long a rate limiter may take; then the call goes on. */
  rateLimitMillis: 1 * second,

  // Mutations (the gate).
  coverMillis: 5 * second,
  mutationMillis: 30 * second,
  /** How long the first finish of a `submitMany` waits for the others, to be one block with them. */
  finishHoldMillis: 100,

  // The alarm.
  alarmGraceMillis: 60 * second,
  alarmFallbackMillis: 30 * second,

  // The pass.
  passRetryMillis: 50,
  passRetryMaxMillis: 60 * second,
  passYieldMillis: 10 * minute,
  passCeilingMillis: 14 * minute,
  passCalls: 800,
  /** Ended passes that an owner remembers, in memory, for whoever looks. */
  passesKept: 16,
  /** At its yield time a pass waits so long for calls of threads, before it lets them go. */
  letGoMillis: 1 * second,
  closeMillis: 5 * second,
  /** After this many unfinished passes a pass runs with one slot. */
  unfinishedPassesBeforeOneSlot: 3,
  dispatchSlots: 16,
  visitSlots: 8,
  recoverySlots: 4,
  runningPerOwner: 1_000,
  visitMillis: 2 * second,
  /** How long the owner waits for `processHead` beyond the attention time. */
  dispatchGraceMillis: 5 * second,
  recoverMillis: 30 * second,
  forgetSlots: 2,
  forgetMillis: 30 * second,
  /** How long a caller of `forgetThread` waits before it is told that the thread is condemned. */
  forgetWaitMillis: 5 * second,
  forgetRetryMillis: 1 * second,
  forgetRetryMaxMillis: 60 * second,
  /** Schedules of a thread, and of a page of them; the page's inputs are at most `historyBytes`. */
  schedulesPerThread: 64,
  pageSchedules: 64,
  /** Overdue occurrences that are counted at once; those beyond are not. */
  occurrencesCounted: 128,
  /** When an occurrence is tried again that its thread could not accept. */
  scheduleRetryMillis: 1 * second,
  scheduleRetryMaxMillis: 60 * second,
  /** Records of one batch of retention. */
  retentionRecords: 256,
  /** When what has something to be carried is looked at again. */
  retentionRetryMillis: 60 * minute,
  /** Inputs that a run takes at once. */
  inputsTaken: 32,
  /** How deep runs may nest children, and how many one run may have. */
  childDepth: 8,
  childrenPerRun: 256,
  /** When what its target could not take is tried again, and until when: then it is parked. */
  messageRetryMillis: 1 * second,
  messageRetryMaxMillis: 60 * second,
  messageDeadlineMillis: 24 * 60 * minute,
  /** How often the word of a child's end is tried in the end; it is never given up. */
  noticeSlowMillis: 60 * minute,

  /** Threads whose outbox is carried at once. */
  outboxSlots: 8,
  /** Entries of one claim. */
  outboxEntries: 32,
  claimMillis: 30 * second,
  /** How long another owner may take for one message. */
  deliverMillis: 30 * second,
  /** How long one carry begins deliveries; what is left then is claimed again. */
  outboxSliceMillis: 5 * second,
  /** After this long a carry that goes on holds no slot, and nobody waits behind its delivery. */
  outboxPatienceMillis: 1 * second,
  /** Carries at once with those that hold no slot any more: each may hold a page of entries. */
  outboxCarries: 32,
  /** How long what was delivered waits for the rest of its claim, to be acknowledged with it. */
  outboxGatherMillis: 100,
  /** When an outbox is claimed again that could not be, and a peer is tried again that did not answer. */
  outboxRetryMillis: 500,
  outboxRetryMaxMillis: 60 * second,

  /** Threads whose records are published at once. */
  publishSlots: 4,
  /** Records of one batch, and their size as JSON: what one message of a Cloudflare Queue holds. */
  publishRecords: 256,
  publishBytes: 120_000,
  /** How long a sink may take for one batch. */
  publishMillis: 30 * second,
  /** How long one thread's batches follow one another; then it goes behind all that wait. */
  publishSliceMillis: 5 * second,
  publishRetryMillis: 5 * second,
  publishRetryMaxMillis: 60 * second,

  /** After this many visits in a row without an answer a thread has a fault. */
  visitsBeforeFault: 8,
  /** How long a thread may be out of reach before that is one: after each deploy some are, for minutes. */
  deployNoiseMillis: 2 * minute,
  faultRetryMillis: 5 * second,
  faultRetryMaxMillis: 60 * second,
  /** A recovery that timed out is dear: it is tried less often. */
  faultTimeoutRetryMaxMillis: 15 * minute,

  // A turn.
  headsPerTurn: 8,
  sliceMillis: 100,
  attentionMillis: 100,
  watchMillis: 30 * second,
  watchMaxMillis: 2 * minute,

  // The owner registry, and the cron that is the last net.
  pageOwners: 256,
  /** How long an owner waits for the registry to know it, and when it tries again. */
  registryMillis: 5 * second,
  registryRetryMillis: 5 * second,
  registryRetryMaxMillis: 15 * minute,
  /** An hour and a day, less what keeps the look in the cron run of that hour. */
  lookOwingMillis: 55 * minute,
  lookIdleMillis: (24 * 60 - 5) * minute,
  /** When an owner that did not answer is due again: at the next run. */
  lookRetryMillis: 30 * minute,
  lookMillis: 10 * second,
  lookSlots: 16,
  /** Calls of one run of the cron, below the platform's limit of subrequests. */
  scheduledCalls: 800,
  /** No more owners are taken from then on: the platform ends a run after 15 minutes. */
  scheduledMillis: 10 * minute,

  // Backoff of a lane.
  laneBackoffMillis: 100,
  laneBackoffMaxMillis: 5 * second,
  transportBackoffMaxMillis: 60 * second,
  unchangedBeforeStall: 8,
  stallMillis: 1 * minute,
  stallMaxMillis: 60 * minute,
  bindingWaitMillis: 5 * second,
  bindingWaitMaxMillis: 60 * second,
  bindingReportMillis: 15 * minute,
  /** How many rows one bounded sweep of a block may touch. */
  promotionBatch: 256,

  // Projections: the directory and the search index.
  /** Lanes of one batch. */
  projectionLanes: 256,
  /** How long what changed may wait to be shown: together with others it costs less. */
  projectionMillis: 1 * second,
  /** How much longer for an alarm that rings anyway: one of its own costs a pass. */
  projectionRideMillis: 5 * second,
  /** Lanes that wait in memory to be shown; of more all lanes are looked at. */
  projectionBehind: 4_096,
  /** When one that failed is tried again. */
  projectionRetryMillis: 5 * second,
  projectionRetryMaxMillis: 15 * minute,
  /** Threads whose outcomes are read at once for the search index, and how long one answer may take. */
  outcomeSlots: 2,
  outcomeMillis: 5 * second,
  /** Outcomes of one answer, the characters of each that are searched, and how many of a thread are kept. */
  outcomesPerRead: 64,
  outcomeCharacters: 4_096,
  outcomesPerThread: 1_024,
  /** Rows that one page of a narrowed list looks at. */
  directoryRows: 2_048,
  /** Up to so many lanes every `reconcile` counts them anew; of more the first one of an owner's life. */
  recountLanes: 10_000,

  // Host lanes. How many a deployment may have, and how long one wave may take.
  hostLanes: 16,
  hostAllowanceMaxMillis: 5 * minute,
  /** How long the question when the next wave is wanted may take. */
  hostReadMillis: 1 * second,
  /** How long a wave may compute without a return to the event loop, and how often more before its lane is stopped. */
  hostTurnMillis: 50,
  hostOffences: 3,
  /** Between two waves of a lane that wants the next one at once. */
  hostPauseMillis: 100,
  hostRetryMillis: 1 * second,
  hostRetryMaxMillis: 15 * minute,

  // An attempt.
  attemptYieldMillis: 10 * minute,
  attemptCeilingMillis: 14 * minute,
  attemptsExhausted: 8,
  attemptsLost: 16,
  /** How long a run rests after an attempt without a result, doubling with each. */
  endedBackoffMillis: 100,
  endedBackoffMaxMillis: 5 * second,
  lostBackoffMillis: 1 * second,
  lostBackoffMaxMillis: 5 * minute,
  /** What a run that is aborted still records before its handler is fenced off. */
  abortGraceMillis: 10 * second,
  stepTimeoutMillis: 5 * minute,
  toolTimeoutMillis: 60 * second,
  /** How long an object that was replaced may go on with its outgoing calls. */
  oldInstanceMillis: 30 * second,
  /** How far a clock that stands still while its object computes, and those of two machines, may be apart. */
  clockAllowanceMillis: 5 * second,
  /** How long one look of a reconciler may take (a recovery as a whole has 30 s), and how often it is asked. */
  reconcileMillis: 20 * second,
  reconcileTries: 8,
  reconcileRetryMillis: 5 * second,
  reconcileRetryMaxMillis: 60 * second,
  /** A declared retry delay above this ends the attempt as ready with `dueAt`. */
  retryInMemoryMillis: 1 * second,
  /** What an agent may declare; a longer delay or timeout is taken for this. */
  retryDelayMaxMillis: 30 * 24 * 60 * minute,
} as const

/** The numbers one deployment runs with. */
export type Limits = { readonly [K in keyof typeof defaultLimits]: number }

/** Overrides merged over the defaults. */
export const makeLimits = (overrides: Partial<Limits> = {}): Limits => ({
  ...defaultLimits,
  ...overrides,
})

/** The limits in force; the defaults unless a layer says otherwise. */
export const CurrentLimits = Context.Reference<Limits>("heddle/contracts/Limits", {
  defaultValue: () => defaultLimits,
})
