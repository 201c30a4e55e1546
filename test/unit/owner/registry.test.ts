import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import type { Operation } from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import { OwnerId } from "../../../contracts/Identifiers.ts"
import { makeRegistry } from "./makeRegistry.ts"

const run = Effect.runPromise
const hour = 60 * 60_000
const start = 1_800_000_000_000

/** A registry whose clock the test sets. */
const makeTimed = (options: Parameters<typeof makeRegistry>[0] = {}) => {
  const clock = { now: start }
  return { clock, ...makeRegistry({ ...options, now: () => clock.now }) }
}

type Timed = ReturnType<typeof makeTimed>

const due = async ({ scheduler }: Timed, limit = 100): Promise<ReadonlyArray<string>> =>
  (await run(scheduler.takeDue({ limit }))).owners

const looked = ({ scheduler }: Timed, name: string, owed: boolean) =>
  run(scheduler.looked({ looks: [{ ownerId: OwnerId.make(name), owed }] }))

describe("the owner registry", () => {
  it("writes nothing until an owner enters, and knows nobody", async () => {
    const registry = makeTimed()
    const before = registry.storage.dump()
    expect(await run(registry.principal.list({}))).toEqual({ owners: [] })
    expect(await due(registry)).toEqual([])
    await looked(registry, "nobody", true)
    expect(registry.storage.dump()).toBe(before)
  })

  it("lists every owner once, by id, in pages of the size that is asked for", async () => {
    const registry = makeTimed({ limits: { pageOwners: 3 } })
    for (const name of ["e", "b", "d", "a", "c"]) await run(registry.enter(name, name === "b"))
    const first = await run(registry.principal.list({ limit: 2 }))
    expect(first).toEqual({
      owners: [
        { ownerId: "a", enteredAt: start, owed: false },
        { ownerId: "b", enteredAt: start, owed: true },
      ],
      next: "b",
    })
    const second = await run(registry.principal.list({ after: OwnerId.make("b"), limit: 1_000 }))
    expect(second.owners.map((owner) => owner.ownerId)).toEqual(["c", "d", "e"])
    expect(second).not.toHaveProperty("next")
    const least = await run(registry.principal.list({ limit: 0 }))
    expect(least.owners).toHaveLength(1)
  })

  it("has those that owed looked at within the hour, the others within the day", async () => {
    const registry = makeTimed()
    await run(registry.enter("owing", true))
    await run(registry.enter("idle", false))
    expect(await due(registry)).toEqual([])
    registry.clock.now = start + hour
    expect(await due(registry)).toEqual(["owing"])
    await looked(registry, "owing", false)
    registry.clock.now = start + 2 * hour
    expect(await due(registry)).toEqual([])
    registry.clock.now = start + 24 * hour
    expect(await due(registry)).toEqual(["idle"])
    await looked(registry, "idle", true)
    registry.clock.now = start + 25 * hour
    expect(await due(registry)).toEqual(["idle", "owing"])
    expect(await run(registry.principal.list({}))).toMatchObject({
      owners: [
        { ownerId: "idle", lookedAt: start + 24 * hour, owed: true },
        { ownerId: "owing", lookedAt: start + hour, owed: false },
      ],
    })
  })

  it("gives an owner to one run at a time, the longest due first, and again if no look comes back", async () => {
    const registry = makeTimed()
    for (const name of ["c", "a", "b"]) {
      await run(registry.enter(name, true))
      registry.clock.now += 1
    }
    registry.clock.now = start + hour
    expect(await due(registry, 2)).toEqual(["c", "a"])
    expect(await due(registry, 2)).toEqual(["b"])
    expect(await due(registry, 2)).toEqual([])
    await looked(registry, "a", true)
    registry.clock.now += registry.limits.lookRetryMillis
    expect(await due(registry)).toEqual(["b", "c"])
  })

  it("puts no look off and forgets no debt when an owner enters again", async () => {
    const registry = makeTimed()
    await run(registry.enter("a", true))
    registry.clock.now = start + hour / 2
    await run(registry.enter("a", false))
    await run(registry.enter("a", true))
    expect(registry.rows()).toMatchObject([{ entered_at: start, owed: 1 }])
    registry.clock.now = start + hour
    expect(await due(registry)).toEqual(["a"])
  })

  it("reads a page of rows and no more, of ten owners and of ten thousand", async () => {
    const costs = []
    for (const known of [10, 10_000]) {
      const registry = makeTimed()
      await run(registry.enter("z", false))
      registry.storage.sql.run(
        `INSERT INTO owners WITH RECURSIVE n(i) AS
           (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         SELECT 'owner-' || i, 1, NULL, 0, i FROM n`,
        known,
      )
      const plans = ["due_at <= 5 ORDER BY due_at", "owner_id > 'a' ORDER BY owner_id"].map(
        (question) =>
          registry.storage.sql
            .all(`EXPLAIN QUERY PLAN SELECT owner_id FROM owners WHERE ${question} LIMIT 3`)
            .map((row) => row["detail"]),
      )
      for (const plan of plans) {
        expect(plan).toHaveLength(1)
        expect(plan[0]).toMatch(/^SEARCH owners USING /)
      }
      const { read, written } = registry.storage.counts()
      await due(registry, 5)
      await run(registry.principal.list({ limit: 5 }))
      const after = registry.storage.counts()
      costs.push({ read: after.read - read, written: after.written - written })
    }
    expect(costs[0]).toEqual(costs[1])
  })

  it("asks the application's policy for listOwners, and for nothing of the deployment's own", async () => {
    const asked: Array<Operation> = []
    const registry = makeTimed({
      authorizer: {
        authorize: (operation) => {
          asked.push(operation)
          return Effect.fail(new OperationDenied({ operation: "anything" }))
        },
      },
    })
    await run(registry.enter("a", true))
    await due(registry)
    const denied = await run(Effect.flip(registry.principal.list({})))
    expect(denied).toMatchObject({ _tag: "OperationDenied", operation: "listOwners" })
    expect(asked).toEqual([{ operation: "listOwners", principal: "ann" }])
  })

  it("refuses who enters another owner, and who is no cron, and stays as it is", async () => {
    const registry = makeTimed()
    await run(registry.enter("a", true))
    const before = registry.storage.dump()
    const { principal } = registry
    const ownerId = OwnerId.make("b")
    for (const call of [
      principal.enter({ ownerId, owes: true }),
      principal.takeDue({ limit: 1 }),
      principal.looked({ looks: [{ ownerId: OwnerId.make("a"), owed: false }] }),
      registry.scheduler.enter({ ownerId, owes: true }),
    ]) {
      const exit = await run(Effect.exit<unknown, unknown, never>(call))
      expect(Exit.isFailure(exit) && String(exit.cause)).toContain("OperationDenied")
    }
    expect(registry.storage.dump()).toBe(before)
  })
})
