/** Reconcilers that look for long: what goes on beside them, and what a try costs before it begins. */
import { Deferred, Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  decisionsOf,
  io,
  lose,
  openRows,
  payment,
  settle,
  settlementOf,
} from "./calls.ts"
import { accepted, go, makeWorld, tags, until } from "./harness.ts"
import { type Answer, answers, makeCase, overMillis } from "./reconcilers.ts"

/** A lost call whose reconciler looks until it is told what to find. */
const looking = async (options: { readonly ownerFails?: boolean } = {}) => {
  const answer = Deferred.makeUnsafe<Answer>()
  const made = makeCase(() => Deferred.await(answer), {
    ...options,
    limits: { attentionMillis: 5 },
  })
  const { submissionId } = await accepted(made.world.admit("agent", ""))
  await lose(made.world)
  made.world.time.now += overMillis
  const find = (found: Answer) => Deferred.doneUnsafe(answer, Effect.succeed(found))
  return { ...made, submissionId, find }
}

describe("a reconciler that looks for long", () => {
  it("is asked once, however often recovery comes by, and holds back nothing of the ledger", async () => {
    const { asked, find, submissionId, world } = await looking()
    await decisionsOf(world)
    const before = world.storage.dump()
    for (let time = 0; time < 3; time++) {
      expect(await decisionsOf(world)).toEqual(["Reconcile: deferred"])
      expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    }
    expect(world.storage.dump()).toBe(before)
    expect(asked).toHaveLength(1)
    find(answers.completed)
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })

  it("has its answer found by the owner's own look when the report is lost", async () => {
    const { find, submissionId, world } = await looking({ ownerFails: true })
    await decisionsOf(world)
    find(answers.completed)
    await until(
      "the answer is written",
      () => callRecords(world),
      (records) => records.length === 2,
    )
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })

  it("does not keep its run from being aborted", async () => {
    const { find, submissionId, world } = await looking()
    await decisionsOf(world)
    await go(world.abort(submissionId))
    expect((await go(world.inspect())).report.recoverAt).toBe(0)
    expect(await decisionsOf(world)).toEqual(["SettleAborted: repaired"])
    const before = world.storage.dump()
    find(answers.completed)
    await until(
      "it has told",
      () => world.reports.length,
      (count) => count > 0,
    )
    expect(world.storage.dump()).toBe(before)
    await settle(world)
  })

  it("is one of eight at the most that look for one run at the same time", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `pay ${index}`)
    const looks = { now: 0, most: 0, all: 0 }
    const tool = payment("ordinary", {
      timeout: 1,
      reconcile: () =>
        Effect.gen(function* () {
          looks.all += 1
          looks.now += 1
          looks.most = Math.max(looks.most, looks.now)
          yield* Effect.sleep(1)
          looks.now -= 1
          return { _tag: "Completed", result: "found" } as const
        }),
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          names.map((name) => run.tool(name, tool, Effect.never)),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(looks).toEqual({ now: 0, most: 8, all: 20 })
    expect(await settlementOf(world, submissionId)).toMatchObject({
      output: names.map(() => "found"),
    })
  })
})

describe("a try of a reconciler", () => {
  it("is used up, and flushed, before the reconciler runs", async () => {
    const order: Array<string> = []
    const { world } = makeCase(() =>
      Effect.sync(() => {
        order.push(`asked at try ${String(openRows(world)[0]?.["tries"])}`)
        return answers.completed
      }),
    )
    await accepted(world.admit("agent", ""))
    await lose(world)
    const storage = world.storage as { sync: () => Promise<void> }
    storage.sync = () => {
      order.push("flushed")
      return Promise.resolve()
    }
    world.time.now += overMillis
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect(order).toEqual(["flushed", "asked at try 1"])
  })

  it("is not begun when it cannot be flushed", async () => {
    const { asked, world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    const storage = world.storage as { sync: () => Promise<void> }
    const { sync } = storage
    storage.sync = () => Promise.reject(new Error("no disk"))
    world.time.now += overMillis
    const error = await go(Effect.flip(world.recover()))
    expect(error).toMatchObject({ _tag: "StorageUnavailable" })
    expect(asked).toEqual([])
    storage.sync = sync
    await settle(world)
    expect(asked).toHaveLength(1)
  })
})
