/** What a test says to its deployment: the product's own operations, each run to its answer. */
import { Effect, Schema } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import type { AbortReply } from "../contracts/Abort.ts"
import { NotAwaiting } from "../contracts/Errors.ts"
import { callbackAddress, type CallbackToken } from "../contracts/Callback.ts"
import type { ExplainedWait, RecoveryExplanation } from "../contracts/Explain.ts"
import { IdempotencyKey, OwnerId, StepName, ThreadId } from "../contracts/Identifiers.ts"
import type { JournalRecord } from "../contracts/JournalRecord.ts"
import type { Obligation } from "../contracts/Obligation.ts"
import type { PauseReply } from "../contracts/Pause.ts"
import type { ResolveApprovalReply } from "../contracts/ResolveApproval.ts"
import type { SearchPage } from "../contracts/Search.ts"
import type { SignalReply } from "../contracts/Signal.ts"
import type { Resolution, ResolveUnknownReply } from "../contracts/ResolveUnknown.ts"
import type { RetryReply } from "../contracts/Retry.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import type { Receipt } from "../contracts/Submission.ts"
import type { Agent, Json } from "../thread-actors/Agent.ts"
import { goesOn, notSettled, timesOf } from "./NotSettled.ts"
import { horizonMillis, Restless } from "./TestClock.ts"
import { addressOf, type Place, type TestKit } from "./TestKit.ts"
import type { Turning } from "./Turning.ts"

/** An input as its agent's handler gets it. */
export interface TestSubmission<In, Out, Err, State> {
  readonly agent: Agent<In, Out, Err, State>
  readonly input: NoInfer<In>
  readonly threadId: string
  readonly ownerId?: string
  /** Default: another one each time. */
  readonly idempotencyKey?: string
  /** `join` lets a run that is open take it (`run.takeInputs`). Default: it runs by itself, in its turn. */
  readonly delivery?: "queue" | "join"
  readonly notBefore?: number
}

/** Who commands, and why; the test says so where nothing is given. */
export interface Commanding {
  readonly author?: string
  readonly reason?: string
}

/** Calls fail with the typed errors of the contracts, which their promises reject with. */
export interface TestCalls {
  readonly submit: <In, Out, Err, State>(
    submission: TestSubmission<In, Out, Err, State>,
  ) => Promise<Receipt>
  /**
   * Moves time until this submission has settled. Rejects with `NotSettled` if that needs somebody, without moving time
   * where nothing of the deployment goes on by itself.
   */
  readonly settled: (receipt: Receipt) => Promise<Settlement>
  /** All records of a thread, oldest first. */
  readonly history: (place: Place) => Promise<ReadonlyArray<JournalRecord>>
  readonly explain: (place: Place) => Promise<ReadonlyArray<RecoveryExplanation>>
  /** All that an owner owes, whatever its age. */
  readonly obligations: (ownerId?: string) => Promise<ReadonlyArray<Obligation>>
  /** What an owner finds of these words: titles, and outcomes if the deployment says so. The first page. */
  readonly search: (query: string, ownerId?: string) => Promise<SearchPage>
  /** Says what happened to an ordinary call of unknown outcome; `name` it where there are several. */
  readonly resolve: (
    receipt: Receipt,
    resolution: Resolution,
    about?: About,
  ) => Promise<ResolveUnknownReply>
  /** Decides the approval that the run asks for; `name` it where there are several. */
  readonly approve: (receipt: Receipt, about?: About) => Promise<ResolveApprovalReply>
  readonly deny: (receipt: Receipt, about?: About) => Promise<ResolveApprovalReply>
  /** Sends a value to the wait of this name, which may yet be to come. */
  readonly signal: (receipt: Receipt, name: string, payload: Json) => Promise<SignalReply>
  /** Does what somebody does who was given a token: sends a value with it alone. */
  readonly callback: (token: CallbackToken, payload: Json) => Promise<SignalReply>
  readonly pause: (place: Place, words?: Commanding) => Promise<PauseReply>
  readonly resume: (place: Place, words?: Commanding) => Promise<PauseReply>
  readonly retry: (receipt: Receipt, words?: Commanding) => Promise<RetryReply>
  readonly abort: (receipt: Receipt, words?: Commanding) => Promise<AbortReply>
  /** Runs what the calls above do not have, with the client that deployments have. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, HeddleClient>) => Promise<A>
}

/** Whoever decides, and about which question. */
export interface About extends Commanding {
  readonly name?: string
}

const wordsOf = ({ author = "test", reason = "the test says so" }: Commanding = {}) => ({
  author,
  reason,
})

const commandOf = (receipt: Receipt, words?: Commanding) => ({
  ownerId: receipt.ownerId,
  threadId: receipt.threadId,
  submissionId: receipt.submissionId,
  ...wordsOf(words),
})

const withClient = <A, E>(
  use: (client: HeddleClient["Service"]) => Effect.Effect<A, E>,
): Effect.Effect<A, E, HeddleClient> => Effect.flatMap(HeddleClient, use)

const submit = <In, Out, Err, State>(
  kit: TestKit,
  submission: TestSubmission<In, Out, Err, State>,
) => {
  const { agent, delivery, idempotencyKey, input, notBefore } = submission
  kit.keys += 1
  return withClient((client) =>
    Effect.flatMap(Schema.encodeEffect(agent.input)(input), (encoded) =>
      client.submit({
        ...addressOf(kit, submission),
        agent: agent.name,
        input: encoded,
        idempotencyKey: IdempotencyKey.make(idempotencyKey ?? `test-${kit.keys}`),
        ...(delivery === undefined ? {} : { delivery }),
        ...(notBefore === undefined ? {} : { notBefore }),
      }),
    ),
  )
}

/** How often a submission is looked at before it is told that it does not come to an end. */
const turnsMax = 5_000

/** The open work of a thread, and what it waits for. */
const openOf = ({ caller }: TestKit, name: string) => {
  const [ownerId = "", threadId = ""] = name.split("/")
  const place = { ownerId: OwnerId.make(ownerId), threadId: ThreadId.make(threadId) }
  return caller.run(withClient(({ rpc }) => rpc.explain(place)))
}

/** Whether any thread of the deployment goes on by itself. */
const anyGoesOn = function* (kit: TestKit): Turning<boolean> {
  for (const { kind, name } of kit.objects.platform.objects())
    if (kind === "thread" && goesOn(yield* openOf(kit, name))) return true
  return false
}

const settled = function* (kit: TestKit, receipt: Receipt): Turning<Settlement> {
  const { caller, clock, objects } = kit
  const { ownerId, submissionId, threadId } = receipt
  let until = objects.queue.now() + horizonMillis
  for (let turn = 0; turn < turnsMax; turn++) {
    yield* clock.settle()
    const asked = withClient(({ rpc }) => rpc.status({ ownerId, threadId, submissionId }))
    const { settlement } = yield* caller.run(asked)
    if (settlement !== undefined) return settlement
    const open = yield* openOf(kit, `${ownerId}/${threadId}`)
    until = Math.max(until, ...timesOf(open))
    const isWaitedFor = goesOn(open) || (yield* anyGoesOn(kit))
    if (isWaitedFor && (yield* clock.next(until))) continue
    throw notSettled(
      receipt,
      open.filter((one) => one.submissionId === submissionId),
    )
  }
  throw new Restless({ message: `Not settled after ${turnsMax} things that came due` })
}

const history = (kit: TestKit, place: Place) =>
  withClient(({ rpc }) => {
    const from = (after: number): Effect.Effect<ReadonlyArray<JournalRecord>, unknown> =>
      Effect.flatMap(rpc.history({ ...addressOf(kit, place), after }), ({ next, records }) =>
        next === undefined
          ? Effect.succeed(records)
          : Effect.map(from(next), (rest) => [...records, ...rest]),
      )
    return from(0)
  })

const obligations = (owner: string) =>
  withClient(({ rpc }) => {
    const ownerId = OwnerId.make(owner)
    const from = (after?: ThreadId): Effect.Effect<ReadonlyArray<Obligation>, unknown> => {
      const position = after === undefined ? {} : { after }
      return Effect.flatMap(
        rpc.obligations({ ownerId, agedAfterMillis: 0, ...position }),
        ({ next, obligations: page }) =>
          next === undefined
            ? Effect.succeed(page)
            : Effect.map(from(next), (rest) => [...page, ...rest]),
      )
    }
    return from()
  })

const resolve = (receipt: Receipt, resolution: Resolution, about: About = {}) =>
  withClient(({ rpc }) =>
    Effect.gen(function* () {
      const { ownerId, submissionId, threadId } = receipt
      const explained = yield* rpc.explain({ ownerId, threadId, submissionId })
      const unknown = explained
        .flatMap(({ waits }) => waits)
        .filter(({ blocker, name }) => blocker === "unknown" && name === (about.name ?? name))
      const [call] = unknown
      if (call?.recordId === undefined)
        return yield* new NotAwaiting({ submissionId, name: about.name ?? "any call" })
      if (unknown.length > 1)
        throw new TypeError(`Name one of these: ${unknown.map(({ name }) => name).join(", ")}`)
      const { recordId } = call
      return yield* rpc.resolveUnknown({ ...commandOf(receipt, about), recordId, resolution })
    }),
  )

/** The only approval that a run asks for, or the one of this name. */
const approvalOf = (receipt: Receipt, waits: ReadonlyArray<ExplainedWait>, about: About) => {
  const asked = waits.filter(
    ({ blocker, name }) => blocker === "approval" && name === (about.name ?? name),
  )
  const [approval] = asked
  if (asked.length > 1)
    throw new TypeError(`Name one of these: ${asked.map(({ name }) => name).join(", ")}`)
  return approval?.name === undefined
    ? Effect.fail(
        new NotAwaiting({ submissionId: receipt.submissionId, name: about.name ?? "any approval" }),
      )
    : Effect.succeed(StepName.make(approval.name))
}

const decide = (receipt: Receipt, approved: boolean, about: About = {}) =>
  withClient(({ rpc }) =>
    Effect.gen(function* () {
      const { ownerId, submissionId, threadId } = receipt
      const explained = yield* rpc.explain({ ownerId, threadId, submissionId })
      const waits = explained.flatMap((one) => one.waits)
      const name = yield* approvalOf(receipt, waits, about)
      return yield* rpc.resolveApproval({ ...commandOf(receipt, about), name, approved })
    }),
  )

const explain = (kit: TestKit, place: Place) =>
  withClient(({ rpc }) => {
    const submissionId = typeof place === "string" ? undefined : place.submissionId
    return rpc.explain({
      ...addressOf(kit, place),
      ...(submissionId === undefined ? {} : { submissionId }),
    })
  })

/** The calls of the client, each to its end. */
export const testCalls = (kit: TestKit): TestCalls => {
  const { inTest } = kit
  const run: TestCalls["run"] = (effect) => inTest(() => kit.caller.run(effect))
  /** Runs what answers a question of a run, once that has come as far as it does by itself. */
  const asked: TestCalls["run"] = (effect) =>
    inTest(function* () {
      yield* kit.clock.settle()
      return yield* kit.caller.run(effect)
    })
  const commanded = (place: Place, words?: Commanding) => ({
    ...addressOf(kit, place),
    ...wordsOf(words),
  })
  return {
    run,
    submit: (submission) => run(submit(kit, submission)),
    settled: (receipt) => inTest(() => settled(kit, receipt)),
    history: (place) => run(history(kit, place)),
    explain: (place) => run(explain(kit, place)),
    obligations: (ownerId = kit.ownerId) => run(obligations(ownerId)),
    search: (query, ownerId = kit.ownerId) =>
      run(withClient(({ rpc }) => rpc.search({ ownerId: OwnerId.make(ownerId), query }))),
    resolve: (receipt, resolution, about) => asked(resolve(receipt, resolution, about)),
    approve: (receipt, about) => asked(decide(receipt, true, about)),
    deny: (receipt, about) => asked(decide(receipt, false, about)),
    signal: ({ ownerId, submissionId, threadId }, name, payload) => {
      const about = { ownerId, threadId, submissionId, name: StepName.make(name) }
      return run(withClient(({ rpc }) => rpc.signal({ ...about, payload })))
    },
    callback: (token, payload) => {
      const { ownerId, threadId } = callbackAddress(token)
      return run(withClient(({ rpc }) => rpc.callback({ ownerId, threadId, token, payload })))
    },
    pause: (place, words) => run(withClient(({ rpc }) => rpc.pauseThread(commanded(place, words)))),
    resume: (place, words) =>
      run(withClient(({ rpc }) => rpc.resumeThread(commanded(place, words)))),
    retry: (receipt, words) => run(withClient(({ rpc }) => rpc.retry(commandOf(receipt, words)))),
    abort: (receipt, words) => run(withClient(({ rpc }) => rpc.abort(commandOf(receipt, words)))),
  }
}
