/** The owner registry in the real runtime, and the cron that is the last net under the alarms. */
import { env } from "cloudflare:workers"
import { createScheduledController, evictDurableObject, runInDurableObject } from "cloudflare:test"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HeddleClient } from "../../client/HeddleClient.ts"
import { registryName } from "../../contracts/RegistryRpc.ts"
import { brokenStorage } from "./loom-control.ts"
import { binding, type Loom, openLoom } from "./loom.ts"
import worker from "./worker.ts"

const noop = { agent: "noop", input: null }

const inRegistry = <A>(use: (sql: SqlStorage) => A) =>
  Effect.promise(() =>
    runInDurableObject(
      env.LOOM_REGISTRY.getByName(registryName) as DurableObjectStub,
      (_, { storage }) => use(storage.sql),
    ),
  )

/** The registry's row of an owner. */
const rowOf = (loom: Loom) =>
  inRegistry(
    (sql) => sql.exec("SELECT * FROM owners WHERE owner_id = ?", loom.ownerId).toArray()[0],
  )

/** As an hour, or a day, later: the owner's look is due. */
const lookIsDue = (loom: Loom) =>
  inRegistry(
    (sql) => void sql.exec("UPDATE owners SET due_at = 1 WHERE owner_id = ?", loom.ownerId),
  )

/** The cron's event, as the platform hands it to what the Worker exports. */
const cron = Effect.promise(() => worker.scheduled(createScheduledController(), env))

/** Deletes the owner's alarm by hand, and has its object forget that there was one. */
const loseAlarm = Effect.fnUntraced(function* (loom: Loom) {
  yield* loom.until("no alarm stands", async () => {
    await Effect.runPromise(loom.inOwner(({ storage }) => storage.deleteAlarm()))
    await evictDurableObject(loom.owner())
    return (await loom.rows()).alarmAt === null
  })
})

const isRunning = async (loom: Loom): Promise<boolean> =>
  (await loom.rows()).rows["maintenance"]?.[0]?.["running"] === 1

describe("the cron", () => {
  it.live("finds an owner that owes work and has no alarm, and the work settles", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      // Its first attempt hangs until its object is lost; the next one is not held.
      loom.plan("thread", "step:before", "hold")
      const receipt = yield* loom.submit()
      yield* loom.until("the owner knows that it runs", () => isRunning(loom))
      yield* loseAlarm(loom)
      yield* loom.killThread()
      expect(yield* rowOf(loom)).toMatchObject({ looked_at: null })
      yield* cron
      expect((yield* Effect.promise(loom.rows)).alarmAt).toBeNull()
      yield* lookIsDue(loom)
      yield* cron
      expect(yield* rowOf(loom)).toMatchObject({ looked_at: expect.any(Number), owed: 1 })
      yield* loom.quiet
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", attempts: 2 })
      yield* lookIsDue(loom)
      yield* cron
      expect(yield* rowOf(loom)).toMatchObject({ owed: 0 })
      expect((yield* Effect.promise(loom.rows)).alarmAt).toBeNull()
    }),
  )

  it.live("is not stopped by an owner that does not answer, and comes back for it", () =>
    Effect.gen(function* () {
      const looms = [yield* openLoom("quick"), yield* openLoom("quick"), yield* openLoom("quick")]
      for (const loom of looms) {
        yield* loom.submit(noop)
        yield* loom.quiet
      }
      const [, broken] = looms
      if (broken === undefined) throw new Error("there are three")
      for (const loom of looms) yield* lookIsDue(loom)
      yield* Effect.promise(() => evictDurableObject(broken.owner()))
      brokenStorage.add(broken.ownerId)
      yield* cron
      brokenStorage.delete(broken.ownerId)
      for (const loom of looms) {
        const looked_at = loom === broken ? null : expect.any(Number)
        expect(yield* rowOf(loom)).toMatchObject({ looked_at })
      }
      expect((yield* rowOf(broken))?.["due_at"]).toBeGreaterThan(Date.now())
      yield* lookIsDue(broken)
      yield* cron
      expect(yield* rowOf(broken)).toMatchObject({ looked_at: expect.any(Number), owed: 0 })
    }),
  )
})

const clientOf = Effect.fnUntraced(function* (owners: ReadonlyArray<string>) {
  const context = yield* Layer.build(HeddleClient.layerServiceBinding(binding(owners)))
  return Context.get(context, HeddleClient)
})

describe("listOwners", () => {
  it.live("pages every owner once, by id, for a grant of all owners", () =>
    Effect.gen(function* () {
      const made = []
      for (let index = 0; index < 3; index++) {
        const loom = yield* openLoom("quick")
        yield* loom.submit(noop)
        yield* loom.quiet
        made.push(loom.ownerId)
      }
      const { rpc } = yield* clientOf(["*"])
      const listed: Array<string> = []
      let after: (typeof made)[number] | undefined
      do {
        const page = yield* rpc.listOwners({ limit: 2, ...(after === undefined ? {} : { after }) })
        expect(page.owners.length).toBeLessThanOrEqual(2)
        listed.push(...page.owners.map((owner) => owner.ownerId))
        after = page.next
      } while (after !== undefined)
      expect(listed).toEqual([...new Set(listed)].toSorted())
      expect(listed).toEqual(expect.arrayContaining(made))
    }),
  )

  it.live("is denied to a grant of some owners", () =>
    Effect.gen(function* () {
      const { rpc } = yield* clientOf(["quick.*"])
      expect(yield* Effect.flip(rpc.listOwners({}))).toMatchObject({
        _tag: "OperationDenied",
        operation: "listOwners",
      })
    }),
  )
})
