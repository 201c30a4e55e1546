/**
 * What clients of the simulation do about runs that wait: they decide, and signal, at any time and more than once.
 *
 * - L1 The first decision that was accepted stands: whoever says it again is told the same, whoever says another is
 *   refused. So does the first value.
 */
import { Effect } from "effect"
import type { AgentId, StepName, SubmissionId } from "../contracts/Identifiers.ts"
import { answerByToken, callBack } from "./CallbackClient.ts"
import type { Client, Doing } from "./Doing.ts"
import { persist } from "./Persist.ts"
import type { Address, Talking } from "./Plan.ts"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Script } from "./Script.ts"
import { markOf } from "./Talk.ts"

/** As the ledger has it: its parts in the order of their names. */
const inputText = (script: Script): string => {
  const text = canonicalJson(script, { maxBytes: 1_000_000, maxNesting: 100 })
  return text._tag === "Success" ? text.success.text : ""
}

const said = { author: "operator", reason: "because" }

/** A wait of a run. */
interface Place extends Address {
  readonly submissionId: SubmissionId
  readonly name: string
}

/** Decides once. // L1 */
const decide = ({ rpcs }: Client, place: Place, approved: boolean, doing: Doing) => {
  const { told, violate } = doing
  const key = markOf(place.submissionId, place.name)
  const name = place.name as StepName
  return Effect.match(
    persist(
      rpcs.owner.resolveApproval({ ...place, ...said, name, approved }),
      doing.faults.isHealed,
    ),
    {
      onSuccess: (reply) => {
        const before = told.decided.get(key)?.approved
        if (reply.approved !== approved || (before !== undefined && before !== approved))
          violate("I5", `${key} was decided ${before}, and ${approved} was accepted`)
        told.decided.set(key, { ...place, approved: reply.approved })
      },
      onFailure: () => undefined,
    },
  )
}

/** Sends a value once. // L1 */
const signal = ({ rpcs }: Client, place: Place, payload: number, doing: Doing) => {
  const { told, violate } = doing
  const key = markOf(place.submissionId, place.name)
  const name = place.name as StepName
  return Effect.match(
    persist(rpcs.owner.signal({ ...place, name, payload }), doing.faults.isHealed),
    {
      onSuccess: () => {
        const before = told.signalled.get(key)
        if (before !== undefined && before !== payload)
          violate("I5", `${key} was signalled ${before}, and ${payload} was accepted`)
        told.signalled.set(key, payload)
      },
      onFailure: () => undefined,
    },
  )
}

/** What the runs of a thread ask for from outside. */
const asked = ({ rpcs }: Client, { ownerId, threadId }: Address) =>
  Effect.map(rpcs.thread.explain({ ownerId, threadId }), (explained) =>
    explained.flatMap(({ submissionId, waits }) =>
      waits.flatMap(({ blocker, name }) =>
        name === undefined ? [] : [{ ownerId, threadId, submissionId, name, blocker }],
      ),
    ),
  )

/** Decides what a thread asks, and repeats what was decided there before. Gives how many it found. */
const decideAll = (client: Client, address: Address, approved: boolean, doing: Doing) =>
  Effect.gen(function* () {
    for (const one of doing.told.decided.values())
      if (one.threadId === address.threadId && one.ownerId === address.ownerId)
        yield* decide(client, one, approved, doing)
    const waits = yield* asked(client, address)
    const approvals = waits.filter(({ blocker }) => blocker === "approval")
    for (const { blocker: _b, ...place } of approvals) yield* decide(client, place, approved, doing)
    return approvals.length
  })

/** Gives a thread all that it waits for from outside. */
export const answerAll = (client: Client, address: Address, doing: Doing) =>
  Effect.gen(function* () {
    for (const { blocker, ...place } of yield* asked(client, address)) {
      if (blocker === "approval") yield* decide(client, place, true, doing)
      if (blocker === "signal")
        yield* answerByToken(place, doing) ?? signal(client, place, 1, doing)
    }
  })

const schedule = (
  { rpcs }: Client,
  address: Address,
  { everySeconds, name, script }: Extract<Talking, { readonly _tag: "Schedule" }>,
  { faults, queue, told }: Doing,
) => {
  const key = `${address.ownerId}/${address.threadId} ${name}`
  const known = told.scheduled.get(key)
  const one = known ?? {
    ...address,
    name,
    everySeconds,
    periods: new Set<number>(),
    since: queue.now(),
    inputs: new Set<string>(),
    asked: 0,
  }
  one.inputs.add(inputText(script))
  one.periods.add(everySeconds)
  const fastest = Math.min(one.everySeconds, everySeconds)
  told.scheduled.set(key, { ...one, everySeconds: fastest, asked: one.asked + 1 })
  const cron = `*/${everySeconds} * * * * *`
  return persist(
    rpcs.owner.schedule({
      ...address,
      name: name as StepName,
      cron,
      agent: "first" as AgentId,
      input: script,
    }),
    faults.isHealed,
  )
}

/** Cancels every schedule that anybody has asked for. */
export const unscheduleAll = ({ rpcs }: Client, { told }: Doing) =>
  Effect.forEach(
    told.scheduled.values(),
    ({ name, ownerId, threadId }) =>
      Effect.ignore(
        persist(rpcs.owner.unschedule({ ownerId, threadId, name: name as StepName }), () => false),
      ),
    { discard: true },
  )

/** Has the parked messages of a thread carried again. */
export const carryParked = (
  { rpcs }: Client,
  { ownerId, threadId }: Address,
  runs: ReadonlyArray<string>,
) =>
  Effect.forEach(
    runs,
    (id) =>
      persist(
        rpcs.owner.retry({ ownerId, threadId, submissionId: id as SubmissionId, ...said }),
        () => false,
      ),
    { discard: true },
  )

const looks = 12
const lookEveryMillis = 3_000

const patiently = (client: Client, address: Address, approved: boolean, doing: Doing) =>
  Effect.gen(function* () {
    for (let look = 0; look < looks && !doing.faults.isHealed(); look++) {
      const found = yield* Effect.orElseSucceed(
        decideAll(client, address, approved, doing),
        () => 0,
      )
      if (found > 0) return
      yield* Effect.sleep(lookEveryMillis)
    }
  })

const abortSent = (
  { rpcs }: Client,
  nth: number,
  { talk, told }: Doing,
): Effect.Effect<unknown, unknown> => {
  const all = [...talk.entered.values()].flat()
  const one = all[nth % Math.max(1, all.length)]
  if (one === undefined) return Effect.void
  const [ownerId, threadId] = one.thread.split("/") as [Address["ownerId"], Address["threadId"]]
  const submissionId = one.submissionId as SubmissionId
  told.abortedIds.add(submissionId)
  return Effect.map(rpcs.owner.abort({ ownerId, threadId, submissionId, ...said }), () => {
    told.abortedSurely.add(submissionId)
  })
}

/** What an operation that is about talking does. */
export const talkPerform = (
  client: Client,
  operation: Talking,
  doing: Doing,
): Effect.Effect<unknown, unknown> => {
  switch (operation._tag) {
    case "Decide": {
      const address = doing.threadAt(operation.thread)
      if (address === undefined) return Effect.void
      const { approved, patient } = operation
      return patient
        ? patiently(client, address, approved, doing)
        : decideAll(client, address, approved, doing)
    }
    case "Approve":
    case "Signal": {
      const receipt = doing.told.idOf(operation.key)
      if (receipt === undefined) return Effect.void
      const { ownerId, submissionId, threadId } = receipt
      const place = { ownerId, threadId, submissionId, name: operation.name }
      return operation._tag === "Approve"
        ? decide(client, place, operation.approved, doing)
        : signal(client, place, operation.value, doing)
    }
    case "Schedule":
    case "Unschedule": {
      const address = doing.plan.threads[operation.thread]
      if (address === undefined) return Effect.void
      return operation._tag === "Schedule"
        ? schedule(client, address, operation, doing)
        : client.rpcs.owner.unschedule({ ...address, name: operation.name as StepName })
    }
    case "AbortSent":
      return abortSent(client, operation.nth, doing)
    case "Callback":
      return callBack(operation, doing)
  }
}
