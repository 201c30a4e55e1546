import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags, type World } from "./harness.ts"

const Noop = Agent.make("noop", { input: Schema.Null, output: Schema.Null }).handler(() =>
  Effect.succeed(null),
)

/** Rows that statements wrote, and entries that stand in indexes: together what is billed. */
const writtenBy = async (world: World, work: () => Promise<void>): Promise<number> => {
  const { sql, counts } = world.storage
  const entries = () => {
    const [row] = sql.all<{ keys: number; names: number }>(
      `SELECT (SELECT count(*) FROM submissions) AS keys,
         (SELECT count(*) FROM journal WHERE name IS NOT NULL) AS names`,
    )
    return (row?.keys ?? 0) + (row?.names ?? 0)
  }
  const before = counts().written + entries()
  await work()
  return counts().written + entries() - before
}

const warm = async () => {
  const world = makeWorld({ agents: [Noop] })
  await accepted(world.admit("noop", null))
  await go(world.process())
  return world
}

describe("the rows of a submission that does nothing", () => {
  it("are six when it is alone", async () => {
    const world = await warm()
    const written = await writtenBy(world, async () => {
      await accepted(world.admit("noop", null))
      expect(await tags(world.process())).toEqual(["Settled"])
    })
    expect(written).toBe(6)
  })

  it("are six in a full queue too, in one commit more than there are heads", async () => {
    const world = await warm()
    let commits = 0
    const storage = world.storage as { transaction: <A>(block: () => A) => A }
    const { transaction } = storage
    storage.transaction = (block) => {
      commits += 1
      return transaction(block)
    }
    const written = await writtenBy(world, async () => {
      for (let index = 0; index < 8; index++) await accepted(world.admit("noop", null))
      commits = 0
      expect(await tags(world.process())).toHaveLength(8)
    })
    expect(written / 8).toBe(6)
    expect(commits).toBe(9)
  })

  it("leave the queue's beginning behind the last of an unbroken row of settled ones", async () => {
    const world = await warm()
    const floor = () =>
      world.storage.sql.all("SELECT floor FROM journal ORDER BY sequence DESC LIMIT 1")[0]
    await accepted(world.admit("noop", null, { notBefore: world.time.now + 1_000 }))
    for (let index = 0; index < 3; index++) await accepted(world.admit("noop", null))
    await go(world.process({ maxHeads: 2 }))
    expect(floor()).toEqual({ floor: 5 })
    await go(world.process())
    expect(floor()).toEqual({ floor: 6 })
  })

  it("are read at most twenty times, at a queue of 2 or of 200, and at any history", async () => {
    const readAt = async (queued: number) => {
      const world = await warm()
      for (let index = 0; index < queued; index++) await accepted(world.admit("noop", null))
      const before = world.storage.counts().read
      await accepted(world.admit("noop", null))
      await go(world.process({ maxHeads: 1 }))
      return world.storage.counts().read - before
    }
    const short = await readAt(2)
    expect(short).toBeLessThanOrEqual(20)
    expect(await readAt(200)).toBe(short)
  })
})
