/**
 * I17 Authorisation precedes every read and write: whom the policy denies a call is told `OperationDenied` and
 * nothing else, whatever is there; nothing is written for it, and no storage is used.
 *
 * - D1 A policy that failed, or did not answer, denies nothing, and allows nothing: `Unavailable`.
 * - D2 What is there and what was invented are answered alike: a denial is no oracle.
 */
import type { Effect } from "effect"
import type { Address } from "../Plan.ts"
import { denies, principalOf, stranger } from "../Policy.ts"
import type { WireExit, WireMessage } from "../../contracts/transport/Wire.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

type Headers = ReadonlyArray<readonly [string, string]>

const headerOf = (headers: Headers, name: string): string | undefined =>
  headers.find(([key]) => key === name)?.[1]

const tagOf = (exit: WireExit): string => {
  if (exit._tag === "Success") return "a success"
  const [reason] = exit.cause as ReadonlyArray<{ readonly error?: { readonly _tag?: string } }>
  return reason?.error?._tag ?? "no error of the contract"
}

/** What a call that is denied may come to while things go wrong. // D1 */
const refusals = new Set(["OperationDenied", "Unavailable", "InvalidInput"])

/** Looks at an answer that leaves an object: the policy's word is kept, whatever else goes on. */
export const policyIsKept = (
  { plan }: World,
  message: WireMessage,
  exit: WireExit,
  violate: Violate,
): void => {
  if (plan.denials === undefined || message._tag !== "Request") return
  const headers = message.headers as Headers
  const principal = headerOf(headers, "heddle-principal")
  if (principal === undefined) return
  const { ownerId, threadId } = message.payload as Partial<Address>
  const question = {
    operation: message.tag,
    principal,
    ...(ownerId === undefined ? {} : { ownerId }),
    ...(threadId === undefined ? {} : { threadId }),
  }
  const tag = tagOf(exit)
  if (denies(plan, question) && !refusals.has(tag))
    violate("I17", `${message.tag} of ${principal} is denied, and was answered with ${tag}`)
}

const said = { author: "nobody", reason: "why not" }

interface Target extends Address {
  readonly submissionId: string
}

type Answer = Effect.Effect<unknown, { readonly _tag: string; readonly operation?: string }>

/** Calls of a stranger about something. */
const callsAbout = ({ stranger: client }: World, target: Target): Record<string, Answer> => {
  const { owner, thread } = client.rpcs
  const { ownerId, threadId } = target
  const address = { ownerId, threadId }
  const submission = target as never
  const command = { ...target, ...said } as never
  const many = { ownerId, filter: {}, ...said }
  const input = { agent: "first", input: {}, idempotencyKey: stranger }
  return {
    submit: owner.submit({ ...address, ...input } as never),
    submitMany: owner.submitMany({ ownerId, submissions: [{ threadId, ...input }] } as never),
    resubmit: owner.resubmit({ ...target, ...said, idempotencyKey: stranger } as never),
    retryMany: owner.retryMany({ ...many, dryRun: true }),
    abortMany: owner.abortMany({ ...many, dryRun: false }),
    abort: owner.abort(command),
    retry: owner.retry(command),
    resolveUnknown: owner.resolveUnknown({
      ...target,
      ...said,
      recordId: "0".repeat(32),
      resolution: { _tag: "NeverHappened" },
    } as never),
    pauseThread: owner.pauseThread({ ...address, ...said }),
    resumeThread: owner.resumeThread({ ...address, ...said }),
    forgetThread: owner.forgetThread({ ...address, ...said, abort: true }),
    wake: owner.wake(address),
    reconcile: owner.reconcile({ ownerId, threadIds: [threadId] }),
    laneStatus: owner.laneStatus(address),
    recoveryStatus: owner.recoveryStatus(address),
    maintenanceStatus: owner.maintenanceStatus({ ownerId }),
    runMaintenance: owner.runMaintenance({ ownerId }),
    obligations: owner.obligations({ ownerId }),
    listThreads: owner.listThreads({ ownerId }),
    status: thread.status(submission),
    awaitSettlement: thread.awaitSettlement(submission),
    history: thread.history(address),
    readState: thread.readState(address),
    explain: thread.explain(address),
    verify: thread.verify(address),
  }
}

/** What is there, and what is not. // D2 */
const targets = (world: World): ReadonlyArray<Target> => {
  const [intent] = [...world.told.intents.values()].filter(({ receipts }) => receipts.length > 0)
  const [address] = world.plan.threads
  if (address === undefined) return []
  const submissionId = "0192f0c0-0000-7000-8000-000000000000"
  const invented = [
    { ...address, threadId: "invented" as Address["threadId"], submissionId },
    { ownerId: "invented" as Address["ownerId"], threadId: address.threadId, submissionId },
  ]
  const receipt = intent?.receipts[0]
  return receipt === undefined ? invented : [receipt, ...invented]
}

const uses = ({ platform }: World): number =>
  platform.objects().reduce((sum, { state }) => sum + state.uses(), 0)

/** Some operations are tried by each run; all of them by a few. */
const triedEach = 5

/** A stranger tries what it can, in a world that is quiet and well. */
export const strangersAreDenied = (world: World, violate: Violate, settle: () => boolean): void => {
  if (world.plan.denials === undefined) return
  const before = uses(world)
  let answered = 0
  let asked = 0
  for (const target of targets(world)) {
    const calls = Object.entries(callsAbout(world, target))
    const from = (world.plan.seed * triedEach) % calls.length
    for (const [operation, call] of [...calls, ...calls].slice(from, from + triedEach)) {
      asked += 1
      world.stranger.run(call, (exit) => {
        answered += 1
        const failure =
          exit._tag === "Failure"
            ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
            : undefined
        if (failure?._tag !== "OperationDenied" || failure.operation !== operation)
          violate(
            "I17",
            `a stranger asked for ${operation} of ${target.ownerId}/${target.threadId}, and was told ${failure?._tag}`,
          )
      })
    }
  }
  if (!settle()) violate("I20", "the world does not come to rest after a stranger was denied")
  if (answered < asked) violate("I17", `${asked - answered} calls of a stranger have no answer`)
  if (uses(world) !== before)
    violate("I17", `denying a stranger used storage ${uses(world) - before} times`)
}

/** Nothing stands anywhere that the policy denied. */
export const nothingDeniedIsThere = (world: World, violate: Violate): void => {
  const { plan, platform, told } = world
  if (plan.denials === undefined) return
  for (const { address, again, client, key } of told.intents.values()) {
    const principal = principalOf(client)
    const operation = again === undefined ? "submit" : "resubmit"
    if (!denies(plan, { operation, principal, ...address })) continue
    const { name, state } = platform.object("thread", `${address.ownerId}/${address.threadId}`)
    if (!state.hasTable("submissions")) continue
    const rows = state.read("SELECT 1 FROM submissions WHERE idempotencyKey = ?", key)
    if (rows.length > 0) violate("I17", `${name} has ${key}, and its submission was denied`)
  }
}
