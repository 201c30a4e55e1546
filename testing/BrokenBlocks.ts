/**
 * Blocks that fail before their end: a statement that errs, or for which there is no room; and clients that ask right
 * after, when memory may believe what the block did.
 *
 * - B1 Where a plan has neither, no statement is asked for.
 * - B2 Who asks finds and repairs what else would not be noticed: so not every plan has it, and each asks a bounded number
 *   of times.
 */
import { Effect } from "effect"
import type { BlockStatement, Breaks } from "./DurableState.ts"
import type { Client } from "./Doing.ts"
import type { FaultRates, Faults } from "./Faults.ts"
import type { SimulatedObject } from "./Incarnation.ts"
import type { Plan } from "./Plan.ts"
import type { Queue } from "./Queue.ts"
import { type StatementDoes, type Strikes, statementWords } from "./Strikes.ts"
import type { Told } from "./Told.ts"

interface Breaking {
  readonly queue: Queue
  readonly faults: Faults
  readonly rates: FaultRates
  readonly strikes: Strikes
}

/** There is no room for longer than the block. */
const filled = (queue: Queue, { state }: SimulatedObject, millis: number): void => {
  state.setFault("no room")
  queue.at(queue.now() + millis, undefined, "there is room", () => {
    if (state.fault() === "no room") state.setFault("none")
  })
}

/** Which statements fail; undefined where none does. // B1 */
export const breaksOf = ({ faults, queue, rates, strikes }: Breaking) => {
  const isAny =
    strikes.areOfStatements ||
    rates["statement fails"] !== undefined ||
    rates["no room in a block"] !== undefined
  if (!isAny) return undefined
  const byChance = (where: () => string): StatementDoes | undefined => {
    if (faults.strike("statement fails", where)) return { _tag: "Errs" }
    if (!faults.strike("no room in a block", where)) return undefined
    return { _tag: "HasNoRoom", millis: queue.random.pick([0, 0, 0, 2_000, 20_000]) }
  }
  return (object: SimulatedObject, statement: BlockStatement): Breaks | undefined => {
    const { does: kind, nth } = statement
    const where = () => `${object.name} at ${statementWords(kind === "commits" ? "commit" : nth)}`
    const does = strikes.ofStatement(object.name, statement) ?? byChance(where)
    if (does === undefined) return undefined
    if (does._tag === "Errs") return "errs"
    if (does.millis > 0) filled(queue, object, does.millis)
    return "no room"
  }
}

/** Times after a block that failed at which clients ask. */
const asksAfter = [1, 400] as const
const asksMost = 60

/** Who asks, and about what. */
interface Asking {
  readonly plan: Plan
  readonly queue: Queue
  readonly told: Told
  readonly clients: ReadonlyArray<Client>
}

/** How often they have asked in each world. */
const asked = new WeakMap<Asking, number>()

/** What is asked of an object: all that it may answer out of its memory. */
const questions = (world: Asking, { kind, name }: SimulatedObject): Effect.Effect<unknown> => {
  const [client] = world.clients
  if (client === undefined || kind === "registry") return Effect.void
  const { owner, thread } = client.rpcs
  const addresses = world.plan.threads.filter(({ ownerId, threadId }) =>
    kind === "owner" ? ownerId === name : `${ownerId}/${threadId}` === name,
  )
  const [first] = addresses
  if (first === undefined) return Effect.void
  const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> =
    kind === "owner"
      ? [owner.maintenanceStatus(first), ...addresses.map((one) => owner.laneStatus(one))]
      : [...world.told.intents.values()]
          .flatMap(({ receipts }) => receipts.slice(0, 1))
          .filter((one) => one.ownerId === first.ownerId && one.threadId === first.threadId)
          .slice(-3)
          .map(({ submissionId }) => thread.status({ ...first, submissionId }))
  return Effect.forEach(calls, (call) => Effect.ignore(call), { discard: true })
}

/** Has clients ask an object one of whose blocks has failed. // B2 */
export const askAfter = (world: Asking, object: SimulatedObject): void => {
  const times = asked.get(world) ?? 0
  const [client] = world.clients
  if (world.plan.asksAfter !== true || times >= asksMost || client === undefined) return
  asked.set(world, times + 1)
  for (const millis of asksAfter)
    world.queue.at(world.queue.now() + millis, client.runner, "ask after a block", () =>
      client.run(questions(world, object)),
    )
}
