/**
 * What clients of the simulation do.
 *
 * - L1 An operator says about a call what really happened, and nothing else.
 */
import { Cause, Effect, Stream } from "effect"
import type { AgentId, IdempotencyKey, OwnerId } from "../contracts/Identifiers.ts"
import type { Receipt, ThreadSubmission } from "../contracts/Submission.ts"
import type { Client, Doing } from "./Doing.ts"
import type { Address, Operation } from "./Plan.ts"
import { abortMany, retryMany, submitAll } from "./Many.ts"
import { endOrRetry } from "./OpenWork.ts"
import { persist, tagOf } from "./Persist.ts"
import { denies, principalOf } from "./Policy.ts"
import { resubmission, resubmitCall } from "./Resubmit.ts"
import { talkPerform } from "./TalkClient.ts"
import type { Intent } from "./Told.ts"

/** What comes of it is its caller's to look at; but a client that breaks is a mistake of ours. */
const quietly = (
  { violate }: Doing,
  effect: Effect.Effect<unknown, unknown>,
): Effect.Effect<void> =>
  Effect.catchCause(Effect.asVoid(effect), (cause) =>
    Effect.sync(() => {
      if (Cause.hasDies(cause)) violate("no mistakes of ours", `a client: ${Cause.pretty(cause)}`)
    }),
  )

const awaitIt = ({ rpcs }: Client, intent: Intent, doing: Doing): Effect.Effect<void> => {
  const receipt = intent.receipts[0]
  if (receipt === undefined) return Effect.void
  const { ownerId, submissionId, threadId } = receipt
  const wait = (turns: number): Effect.Effect<void, unknown> =>
    persist(
      rpcs.thread.awaitSettlement({ ownerId, threadId, submissionId }),
      doing.faults.isHealed,
    ).pipe(
      Effect.flatMap((reply) => {
        if (reply._tag === "Settled") {
          intent.settlements.push(reply.settlement)
          return Effect.void
        }
        return turns > 20 || doing.faults.isHealed() ? Effect.void : wait(turns + 1)
      }),
    )
  return quietly(doing, wait(0))
}

type Submit = Extract<Operation, { readonly _tag: "Submit" }>

/** Submits an intent once more, however it goes; used by clients and by whoever judges. */
export const submitCall = (
  { rpcs }: Client,
  intent: Intent,
  doing: Doing,
): Effect.Effect<Receipt, { readonly _tag: string }> =>
  intent.again === undefined
    ? rpcs.owner.submit({ ownerId: intent.address.ownerId, ...submissionOf(intent, doing) })
    : resubmitCall(rpcs.owner, intent, intent.again, doing.faults.isHealed)

/** An intent as it is sent. */
const submissionOf = (intent: Intent, { queue }: Doing): ThreadSubmission => {
  const { address, operation } = intent
  const { afterMillis, agent, key, script, title } = operation
  if (afterMillis !== undefined)
    intent.deferredTo = Math.min(intent.deferredTo ?? Infinity, queue.now() + afterMillis)
  return {
    threadId: address.threadId,
    agent: agent as AgentId,
    input: script as unknown as ThreadSubmission["input"],
    idempotencyKey: key as IdempotencyKey,
    ...(operation.joins === true ? { delivery: "join" as const } : {}),
    ...(title === undefined ? {} : { title }),
    ...(afterMillis === undefined ? {} : { notBefore: queue.now() + afterMillis }),
  }
}

const submit = (client: Client, operation: Submit, doing: Doing): Effect.Effect<void> => {
  const address = doing.plan.threads[operation.thread]
  if (address === undefined) return Effect.void
  return sends(client, doing.told.intent(operation, address, doing.queue.now()), doing)
}

/** Sends an intent until it is answered. */
const sends = (client: Client, intent: Intent, doing: Doing): Effect.Effect<void> => {
  const { operation } = intent
  const where = () => intent.key
  const vanishes = doing.faults.strike("client vanishes", where)
  const once = persist(submitCall(client, intent, doing), () => vanishes).pipe(
    Effect.matchEffect({
      onSuccess: (receipt) => {
        intent.receipts.push(receipt)
        return operation.waits ? awaitIt(client, intent, doing) : Effect.void
      },
      onFailure: (error) =>
        Effect.sync(() => {
          intent.refusals.push(tagOf(error))
        }),
    }),
  )
  return doing.faults.strike("client sends twice", where)
    ? Effect.asVoid(Effect.all([once, once], { concurrency: "unbounded" }))
    : once
}

const submitMany = (
  client: Client,
  operation: Extract<Operation, { readonly _tag: "SubmitMany" }>,
  doing: Doing,
): Effect.Effect<void> => {
  const { at, client: by, submissions } = operation
  const intents = submissions.flatMap((one) => {
    const address = doing.plan.threads[one.thread]
    const alone = { ...one, _tag: "Submit", at, client: by } as const
    return address === undefined ? [] : [doing.told.intent(alone, address, doing.queue.now())]
  })
  const where = () => submissions.map(({ key }) => key).join(" ")
  const vanishes = doing.faults.strike("client vanishes", where)
  const once = Effect.andThen(
    submitAll(client.rpcs.owner, intents, {
      send: (intent) => submissionOf(intent, doing),
      giveUp: () => vanishes,
    }),
    Effect.forEach(
      intents.filter((intent) => intent.operation.waits),
      (intent) => awaitIt(client, intent, doing),
      { concurrency: "unbounded", discard: true },
    ),
  )
  return doing.faults.strike("client sends twice", where)
    ? Effect.asVoid(Effect.all([once, once], { concurrency: "unbounded" }))
    : once
}

/** Decides every call of a thread that waits for a word. // L1 */
export const resolveAll = ({ rpcs }: Client, address: Address, doing: Doing) =>
  Effect.gen(function* () {
    const { ownerId, threadId } = address
    let found = 0
    const explained = yield* rpcs.thread.explain({ ownerId, threadId })
    for (const { submissionId, waits } of explained) {
      for (const { blocker, name, recordId } of waits) {
        if (blocker !== "unknown" || name === undefined || recordId === undefined) continue
        found += 1
        const result = doing.outside.lookUp(submissionId, name)
        if (result === undefined) doing.outside.giveLeave(submissionId, name)
        const resolution =
          result === undefined
            ? ({ _tag: "NeverHappened" } as const)
            : ({ _tag: "CompletedWithResult", result } as const)
        yield* Effect.ignore(
          rpcs.owner.resolveUnknown({
            ownerId,
            threadId,
            submissionId,
            recordId,
            resolution,
            author: "operator",
            reason: "looked it up",
          }),
        )
      }
    }
    return found
  })

const looks = 16
const lookEveryMillis = 8_000

/** Looks again and again until there is a call to decide, and decides it. */
const attend = (client: Client, address: Address, doing: Doing) =>
  Effect.gen(function* () {
    for (let look = 0; look < looks && !doing.faults.isHealed(); look++) {
      const found = yield* Effect.orElseSucceed(resolveAll(client, address, doing), () => 0)
      if (found > 0) return
      yield* Effect.sleep(lookEveryMillis)
    }
  })

/** A client calls what only an owner may call. */
const intrude = ({ rpcs }: Client, address: Address, doing: Doing): Effect.Effect<void> => {
  const now = doing.queue.now()
  const turn = { yieldAt: now + 1, maxHeads: 1, sliceMillis: 1, attentionMillis: 1, suspect: false }
  const calls: Record<string, Effect.Effect<unknown, { readonly _tag: string }>> = {
    recover: rpcs.thread.recover({ ...address, now }),
    processHead: rpcs.thread.processHead({ ...address, now, ...turn }),
    report: rpcs.owner.report({ ...address, report: {} as never }),
  }
  return Effect.forEach(
    Object.entries(calls),
    ([name, call]) =>
      Effect.match(call, {
        onSuccess: () => doing.violate("I17", `a client may call ${name}`),
        onFailure: ({ _tag }) => {
          if (!refusals.has(_tag)) doing.violate("I17", `${name} told a client ${_tag}`)
        },
      }),
    { discard: true },
  )
}

/** What a call that is not allowed may come to, besides never arriving. */
const refusals = new Set(["OperationDenied", "InvalidInput", "Unavailable"])

/** Whether the policy lets a client do it. */
const may = (
  { plan }: Doing,
  client: number,
  operation: string,
  { ownerId, threadId }: Address,
): boolean => !denies(plan, { operation, principal: principalOf(client), ownerId, threadId })

const said = { author: "operator", reason: "because" }

/** What a console asks for, or somebody has built anew. */
const aboutLists = (
  { rpcs: { owner } }: Client,
  what: "List" | "RebuildLists",
  ownerId: OwnerId,
): Effect.Effect<unknown, unknown> =>
  what === "List"
    ? Effect.all([
        owner.listThreads({ ownerId, order: "activity" }),
        owner.listThreads({ ownerId, state: "suspended" }),
        owner.search({ ownerId, query: "about" }),
      ])
    : owner.rebuildProjections({ ownerId })

/** What an operation does. It never fails: who operates looks again. */
export const perform = (
  client: Client,
  operation: Operation,
  doing: Doing,
): Effect.Effect<void> => {
  const { plan, told } = doing
  const { owner, thread } = client.rpcs
  const calmly = (effect: Effect.Effect<unknown, unknown>) => quietly(doing, effect)
  switch (operation._tag) {
    case "Submit":
      return submit(client, operation, doing)
    case "Abort":
    case "Retry": {
      const intent = told.intents.get(operation.key)
      const receipt = intent?.receipts[0]
      if (intent === undefined || receipt === undefined) return Effect.void
      const { ownerId, submissionId, threadId } = receipt
      const payload = { ownerId, threadId, submissionId, ...said }
      if (operation._tag === "Retry") return calmly(owner.retry(payload))
      if (may(doing, operation.client, "abort", receipt)) intent.abortAsked = true
      const accepted = Effect.map(owner.abort(payload), () => {
        intent.abortAccepted = true
      })
      return calmly(accepted)
    }
    case "Resubmit": {
      const intent = resubmission(operation, doing)
      return intent === undefined ? Effect.void : sends(client, intent, doing)
    }
    case "SubmitMany":
      return submitMany(client, operation, doing)
    case "RetryMany":
      return calmly(retryMany(owner, plan.owners[operation.owner] as OwnerId))
    case "AbortMany":
      return calmly(
        abortMany(owner, plan.owners[operation.owner] as OwnerId, { now: doing.queue.now(), told }),
      )
    case "List":
    case "RebuildLists":
      return calmly(aboutLists(client, operation._tag, plan.owners[operation.owner] as OwnerId))
    case "Maintenance":
    case "Cron":
    case "Rebuild": {
      const ownerId = plan.owners[operation.owner] as OwnerId
      if (operation._tag === "Cron") return calmly(doing.cron())
      if (operation._tag === "Maintenance")
        return calmly(owner.runMaintenance({ ownerId, timeoutMillis: 1_000 }))
      const threadIds = doing.threadsOf(ownerId)
      return threadIds.length === 0
        ? Effect.void
        : calmly(persist(owner.reconcile({ ownerId, threadIds }), () => false))
    }
    case "Decide":
    case "Approve":
    case "Signal":
    case "AbortSent":
    case "Callback":
    case "Schedule":
    case "Unschedule":
      return calmly(talkPerform(client, operation, doing))
    default: {
      const address = doing.threadAt(operation.thread)
      if (address === undefined) return Effect.void
      switch (operation._tag) {
        case "Pause":
          if (may(doing, operation.client, "pauseThread", address))
            told.paused.add(operation.thread)
          return calmly(owner.pauseThread({ ...address, ...said }))
        case "Resume":
          return calmly(owner.resumeThread({ ...address, ...said }))
        case "Wake":
          return calmly(owner.wake(address))
        case "Reconcile":
          return calmly(
            owner.reconcile({ ownerId: address.ownerId, threadIds: [address.threadId] }),
          )
        case "Intrude":
          return intrude(client, address, doing)
        case "Resolve":
          return calmly(resolveAll(client, address, doing))
        case "Attend":
          return calmly(attend(client, address, doing))
        case "Read":
          return calmly(
            Effect.all([
              thread.history(address),
              thread.verify(address),
              owner.laneStatus(address),
              owner.recoveryStatus(address),
              owner.maintenanceStatus(address),
              owner.obligations({ ownerId: address.ownerId }),
            ]),
          )
        case "AbortOpen":
        case "RetryOpen":
          return calmly(endOrRetry(client, operation._tag, address, doing))
        case "Observe":
          return calmly(Effect.timeoutOption(Stream.runDrain(thread.observe(address)), 20_000))
        case "Forget":
          if (may(doing, operation.client, "forgetThread", address))
            told.forgotten.add(operation.thread)
          return calmly(owner.forgetThread({ ...address, ...said, abort: operation.abort }))
      }
    }
  }
}
