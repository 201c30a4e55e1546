/** Outcomes that nobody has read yet: how long an owner looks for them, and that it looks for nothing else. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Limits } from "../../../contracts/Limits.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
const threadId = "a" as ThreadId
const aMinute = 60_000

/** An owner with one thread that has an outcome, and tells it unless it is silent. */
const makeWorld = async (limits: Partial<Limits>) => {
  const world = makeOwnerWorld({ searchesOutcomes: true, limits })
  await run(world.submit("a"))
  await world.quiet()
  const thread = world.thread("a")
  const told = { silent: true, asked: 0, selects: 0, onAsked: () => undefined as void }
  thread.readsOutcomes = ({ after }) =>
    Effect.suspend(() => {
      told.asked += 1
      told.onAsked()
      if (told.silent) return Effect.never
      const outcome = {
        submissionId: "01890000-0000-7000-8000-000000000001" as SubmissionId,
        sequence: 1,
        outcome: "completed" as const,
        settledAt: 1,
        text: "red apple",
      }
      return Effect.succeed({ outcomes: after < 1 ? [outcome] : [], readTo: 1, more: false })
    })
  world.setFailpoints({
    reach: (point) => Effect.sync(() => void (told.selects += Number(point === "select:before"))),
  })
  const { revision, tailSequence, ...report } = thread.report()
  thread.replaces = { ...report, revision: revision + 500, tailSequence: tailSequence + 1 }
  await run(world.client.wake({ ownerId, threadId }))
  return { world, thread, told }
}

type Made = Awaited<ReturnType<typeof makeWorld>>

/** Delivers its alarms, beside what the test does, until the thread is asked. */
const untilAsked = async ({ told, world }: Made): Promise<void> => {
  while (told.asked === 0) {
    void world.deliver()
    await world.until(
      "its event has ended, or waits",
      () => told.asked > 0 || !world.isDelivering(),
    )
  }
}

/** Many turns of the clock, in which whoever looks again and again has looked. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}

const ids = async ({ world }: Made) =>
  (await run(world.client.search({ ownerId, query: "apple" }))).hits.map((hit) => hit.threadId)

describe("outcomes that nobody has read", () => {
  it("have a pass that waits for the answer look at nothing meanwhile", async () => {
    const made = await makeWorld({ outcomeMillis: aMinute })
    await untilAsked(made)
    await turns()
    const before = made.told.selects
    await turns()
    expect(made.told.selects).toBe(before)
    expect(made.world.isDelivering()).toBe(true)
  })

  it("are looked for no more when their thread is forgotten", async () => {
    const made = await makeWorld({ outcomeMillis: 10, projectionRetryMillis: 100 })
    const { thread, told, world } = made
    await untilAsked(made)
    await world.until("its event has ended", () => !world.isDelivering())
    thread.replaces = undefined
    const forgotten = run(
      world.client.forgetThread({ ownerId, threadId, author: "ann", reason: "asked" }),
    )
    await world.alarmsUntil("its lane is gone", () => world.lane("a") === undefined)
    await world.quiet()
    expect(await forgotten).toMatchObject({ _tag: "Forgotten" })
    const before = told.selects
    await turns()
    expect(told.selects).toBe(before)
  })

  it("are waited for as long as the tables are, where those fail", async () => {
    const made = await makeWorld({ projectionRetryMillis: aMinute })
    const { told, world } = made
    told.silent = false
    told.onAsked = () => {
      // Neither can a row be written now, nor can the tables be made anew.
      if (told.asked > 1) return
      world.storage.sql.run("DROP TABLE directory")
      world.storage.sql.run("CREATE VIEW directory AS SELECT 1 AS one")
    }
    await untilAsked(made)
    await world.until("its event has ended", () => !world.isDelivering())
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + aMinute / 3)
    expect(told.asked).toBe(1)
  })

  it("are read by the life that follows, whoever begins it", async () => {
    for (const rings of [true, false]) {
      const made = await makeWorld({ outcomeMillis: 10, projectionRetryMillis: 100 })
      const { told, world } = made
      await untilAsked(made)
      await world.until("its event has ended", () => !world.isDelivering())
      world.crash()
      told.silent = false
      if (!rings) {
        world.storage.alarm.delete()
        await run(world.client.maintenanceStatus({ ownerId }))
      }
      await world.quiet()
      expect(await ids(made)).toEqual(["a"])
    }
  })

  it("keep no life from beginning where the tables are gone", async () => {
    const made = await makeWorld({})
    const { told, world } = made
    told.silent = false
    await world.quiet()
    world.storage.sql.run("DROP TABLE directory")
    world.crash()
    await run(world.client.maintenanceStatus({ ownerId }))
    await world.quiet()
    expect(await ids(made)).toEqual(["a"])
  })
})
