/** Playing the owner of a thread that publishes: what the sink was given, and a thread that comes to rest. */
import type { FullRecord } from "../../../contracts/Publication.ts"
import { go, type World } from "./harness.ts"

export const claimOf = (
  world: World,
  { bytes = 120_000, generation = world.generation(), limit = 256 } = {},
) =>
  world.asOwner.claimPublication({
    ...world.address,
    limit,
    bytes,
    generation,
    now: world.time.now,
  })

export const acknowledge = (world: World, through: number, generation = world.generation()) =>
  world.asOwner.acknowledgePublication({
    ...world.address,
    through,
    generation,
    now: world.time.now,
  })

/** The records that a claim gives which is answered. */
export const claimed = async (
  world: World,
  options: Parameters<typeof claimOf>[1] = {},
): Promise<ReadonlyArray<FullRecord>> => {
  const { result } = await go(claimOf(world, options))
  if (result._tag === "Failure") throw result.error
  return result.value
}

/** Claims and acknowledges until nothing is owed; gives what the sink has seen. */
export const publishAll = async (
  world: World,
  options: Parameters<typeof claimOf>[1] = {},
): Promise<ReadonlyArray<FullRecord>> => {
  const seen: Array<FullRecord> = []
  for (let round = 0; round < 100; round++) {
    const records = await claimed(world, options)
    const last = records.at(-1)
    if (last === undefined) return seen
    seen.push(...records)
    await go(acknowledge(world, last.sequence))
  }
  throw new Error("the records do not end")
}

/** Recovers, publishes and dispatches until nothing is due. Gives what the sink has seen. */
export const drainPublishing = async (world: World): Promise<ReadonlyArray<FullRecord>> => {
  const seen: Array<FullRecord> = []
  for (let round = 0; round < 200; round++) {
    const { report } = await go(world.inspect())
    if (report.recoverAt !== undefined) await go(world.recover())
    else if (report.publishAt !== undefined) seen.push(...(await publishAll(world)))
    else if (report.dueAt === undefined) return seen
    else {
      world.time.now = Math.max(world.time.now + 1, report.dueAt)
      await go(world.process())
    }
  }
  throw new Error("the thread does not come to rest")
}
