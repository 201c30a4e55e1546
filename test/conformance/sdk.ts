/**
 * What the SDK does with a real deployment, whichever way it reaches it: a story of one thread, and the errors that
 * a caller can bring about. Each world brings its transport and its agents.
 */
import { expect } from "vitest"
import {
  type AnyHeddleError,
  errorOf,
  type Heddle,
  HeddleError,
  isHeddleError,
  type Receipt,
} from "../../client/sdk/index.ts"

export interface SdkWorld {
  readonly heddle: Heddle
  /** Fresh for each test. */
  readonly ownerId: string
  /** Does nothing, at once. */
  readonly noop: string
  /** Runs until it is aborted. */
  readonly slow: { readonly agent: string; readonly input: null | { readonly workMillis: number } }
}

const threadId = "order-7"
const words = { author: "ann", reason: "a test" }

const submitTo = ({ heddle, ownerId, noop }: SdkWorld, thread = threadId): Promise<Receipt> =>
  heddle.submit({ ownerId, threadId: thread, agent: noop, input: null })

/** The sequences of a thread's records up to one, and leaves. */
const observeUntil = async ({ heddle, ownerId }: SdkWorld, after: number, last: number) => {
  const sequences: Array<number> = []
  for await (const frame of heddle.observe({ ownerId, threadId, after })) {
    if (frame._tag === "Record") sequences.push(frame.record.sequence)
    if (sequences.at(-1) === last) break
  }
  return sequences
}

/** Submits, waits, looks, observes; breaks off in the middle and goes on from there. */
export const followsOneThread = async (world: SdkWorld): Promise<void> => {
  const { heddle, ownerId, noop } = world
  const receipt = await submitTo(world)
  expect(receipt).toMatchObject({ ownerId, threadId, sequence: 1, duplicate: false })
  expect(await heddle.awaitSettled(receipt)).toMatchObject({ outcome: "completed", sequence: 1 })
  const at = { ownerId, threadId, submissionId: receipt.submissionId }
  expect(await heddle.status(at)).toMatchObject({ state: "settled", attempts: 1 })
  const idempotencyKey = "one intent"
  const submission = { ownerId, threadId, agent: noop, input: null, idempotencyKey }
  const settlement = await heddle.submitAndWait(submission)
  expect(await heddle.submit(submission)).toMatchObject({
    duplicate: true,
    submissionId: settlement.submissionId,
  })
  const { records } = await heddle.history({ ownerId, threadId })
  const sequences = records.map(({ sequence }) => sequence)
  expect(sequences).toEqual(sequences.map((_, index) => index + 1))
  const middle = Math.floor(sequences.length / 2)
  expect(await observeUntil(world, 0, middle)).toEqual(sequences.slice(0, middle))
  expect(await observeUntil(world, middle, sequences.length)).toEqual(sequences.slice(middle))
  expect(await heddle.recoveryStatus({ ownerId, threadId })).toBeNull()
  expect(await heddle.listThreads({ ownerId })).toMatchObject({ threads: [{ threadId }] })
}

/** Sees a record that is written while it observes. */
export const seesWhatIsWritten = async (world: SdkWorld): Promise<void> => {
  const { heddle, ownerId } = world
  await heddle.awaitSettled(await submitTo(world))
  const frames = heddle.observe({ ownerId, threadId })
  const kinds: Array<string> = []
  for await (const frame of frames) {
    if (frame._tag === "Opened") expect(frame.tailSequence).toBeGreaterThan(0)
    if (frame._tag !== "Record") continue
    kinds.push(frame.record.kind)
    if (kinds.length === 2) await submitTo(world)
    if (kinds.filter((kind) => kind === "Settled").length === 2) break
  }
  expect(kinds).toEqual(["InputApplied", "Settled", "InputApplied", "Settled"])
}

/** Submits to several threads in one call, and is refused for one of them alone. */
export const submitsMany = async ({ heddle, noop, ownerId }: SdkWorld): Promise<void> => {
  const item = (thread: string, agent = noop) => ({ threadId: thread, agent, input: null })
  const submissions = [item("a"), item("b"), item("a"), item("a", "nobody")]
  const { outcomes } = await heddle.submitMany({ ownerId, submissions })
  expect(outcomes).toMatchObject([
    { _tag: "Accepted", receipt: { threadId: "a", sequence: 1 } },
    { _tag: "Accepted", receipt: { threadId: "b", sequence: 1 } },
    { _tag: "Accepted", receipt: { threadId: "a", sequence: 2 } },
    { _tag: "Refused", error: { _tag: "AgentNotRegistered", agent: "nobody" } },
  ])
  for (const outcome of outcomes) {
    if (outcome._tag === "Refused") expect(errorOf(outcome.error)).toBeInstanceOf(HeddleError)
    else expect(await heddle.awaitSettled(outcome.receipt)).toMatchObject({ outcome: "completed" })
  }
}

/** Leaves a wait and a stream that have nothing to tell. */
export const leavesBySignal = async (world: SdkWorld): Promise<void> => {
  const { heddle, ownerId, slow } = world
  const receipt = await heddle.submit({ ownerId, threadId, ...slow })
  const waiting = new AbortController()
  const wait = heddle.awaitSettled(receipt, { signal: waiting.signal })
  const frames = heddle.observe({ ownerId, threadId }, { signal: waiting.signal })
  expect((await frames.next()).value).toMatchObject({ _tag: "Opened" })
  const reason = new Error("the user left")
  waiting.abort(reason)
  await expect(wait).rejects.toBe(reason)
  const rest = (async () => {
    for await (const frame of frames) expect(frame._tag).toBe("Record")
  })()
  await expect(rest).rejects.toBe(reason)
  // It left, and what it had begun goes on.
  expect(await heddle.status(receipt)).not.toMatchObject({ state: "settled" })
  await heddle.abort({ ...placeOf(receipt), ...words })
  expect(await heddle.awaitSettled(receipt)).toMatchObject({ outcome: "aborted", abort: words })
}

const placeOf = ({ ownerId, submissionId, threadId: thread }: Receipt) => ({
  ownerId,
  threadId: thread,
  submissionId,
})

/** What a call is refused with. */
export const refusalOf = async (call: Promise<unknown>): Promise<AnyHeddleError> => {
  const error: unknown = await call.then(
    (answer) => expect.unreachable(`it answered ${JSON.stringify(answer)}`),
    (one: unknown) => one,
  )
  expect(error).toBeInstanceOf(HeddleError)
  if (!isHeddleError(error)) throw error
  return error
}

/** Every error that a caller can bring about alone, by what brings it about. */
export const refusals = (world: SdkWorld): Readonly<Record<string, () => Promise<unknown>>> => {
  const { heddle, noop, ownerId, slow } = world
  const submission = { ownerId, threadId, agent: noop, input: null }
  const unknown = "018f0000-0000-7000-8000-000000000001"
  const started = async (thread: string) => {
    const receipt = await heddle.submit({ ownerId, threadId: thread, ...slow })
    return placeOf(receipt)
  }
  return {
    InvalidInput: () => heddle.submit({ ...submission, threadId: "not/a thread" }),
    AgentNotRegistered: () => heddle.submit({ ...submission, agent: "nobody" }),
    IdempotencyConflict: async () => {
      const idempotencyKey = "taken"
      await heddle.submit({ ...submission, idempotencyKey })
      return heddle.submit({ ...submission, idempotencyKey, input: "another" })
    },
    AdmissionLimitExceeded: () => heddle.submit({ ...submission, input: "x".repeat(300_000) }),
    SubmissionNotFound: () => heddle.status({ ownerId, threadId, submissionId: unknown }),
    SettlementConflict: async () => {
      const receipt = await submitTo(world)
      await heddle.awaitSettled(receipt)
      return heddle.abort({ ...placeOf(receipt), ...words })
    },
    NotAwaiting: async () =>
      heddle.resolveUnknown({
        ...(await started("asked")),
        ...words,
        recordId: "0".repeat(32),
        resolution: { _tag: "NeverHappened" },
      }),
    NotSettled: async () => heddle.resubmit({ ...(await started("open")), ...words }),
    OperationDenied: () => heddle.listThreads({ ownerId: "somebody-else" }),
    WorkOwed: async () => {
      await started("owing")
      return heddle.forgetThread({ ownerId, threadId: "owing", ...words })
    },
    ThreadForgotten: async () => {
      await heddle.awaitSettled(await submitTo(world, "forgotten"))
      await heddle.forgetThread({ ownerId, threadId: "forgotten", ...words })
      return submitTo(world, "forgotten")
    },
  }
}
