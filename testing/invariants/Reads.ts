/**
 * I15 Reads and `explain` write nothing. And `verify` finds nothing wrong in a world that is whole.
 *
 * - A1 Whoever comes to an owner whose alarm will not ring any more, because it was lost or the platform has given
 *   it up, has it repaired, and a pass follows. So where there is such a one, the readers come twice: the second time
 *   there is nothing left to repair.
 */
import { Effect } from "effect"
import type { Doing } from "../Doing.ts"
import { threadsOf } from "../Births.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const batches = (world: World): number =>
  world.platform.objects().reduce((sum, { state }) => sum + state.batches(), 0)

/** A few submissions of a thread, as clients know of them. */
const receiptsIn = ({ told }: World, name: string) =>
  [...told.intents.values()]
    .filter(({ address }) => `${address.ownerId}/${address.threadId}` === name)
    .flatMap(({ receipts }) => receipts.slice(0, 1))
    .slice(0, 2)
    .map(({ submissionId }) => submissionId)

const childrenRead = 4

/** Has everything read, and the world come to rest. Gives how often something was written. */
const readAll = (world: World, doing: Doing, violate: Violate, settle: () => boolean): number => {
  const before = batches(world)
  const [client] = world.clients
  if (client === undefined) return 0
  // Of children only the first: each read is a call.
  for (const address of threadsOf(world).slice(0, doing.plan.threads.length + childrenRead)) {
    const name = `${address.ownerId}/${address.threadId}`
    if (!world.platform.object("thread", name).state.hasTable("journal")) continue
    const { owner, thread } = client.rpcs
    client.run(
      Effect.match(
        Effect.all([
          thread.verify(address),
          thread.explain(address),
          thread.history(address),
          thread.readState(address),
          thread.schedules(address),
          owner.laneStatus(address),
          owner.recoveryStatus(address),
          owner.obligations({ ownerId: address.ownerId }),
          owner.maintenanceStatus({ ownerId: address.ownerId }),
          owner.listThreads({ ownerId: address.ownerId }),
          owner.search({ ownerId: address.ownerId, query: "k1" }),
          ...receiptsIn(world, name).flatMap((submissionId) => [
            thread.status({ ...address, submissionId }),
            thread.awaitSettlement({ ...address, submissionId }),
          ]),
        ]),
        {
          onSuccess: ([verified]) => {
            for (const check of verified.checks)
              if (check._tag === "Failed") violate("I5", `${name}: ${check.check}: ${check.detail}`)
          },
          onFailure: (error) => {
            if (error._tag !== "ThreadForgotten")
              violate("I15", `${name}: a read failed: ${error._tag}`)
          },
        },
      ),
    )
  }
  if (!settle()) violate("I20", "the world does not come to rest after reads")
  return batches(world) - before
}

export const readsWriteNothing = (
  world: World,
  doing: Doing,
  violate: Violate,
  settle: () => boolean,
): void => {
  const read = () => readAll(world, doing, violate, settle)
  if (world.platform.objects().some(({ alarm }) => alarm.givenUp)) read() // A1
  const written = read()
  if (written > 0) violate("I15", `reads wrote ${written} times`)
}
