/** Reconcilers: when they are asked, what their answers come to, and what happens when they give none. */
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
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, tags, until } from "./harness.ts"
import { type Answer, answers, makeCase, overMillis } from "./reconcilers.ts"

const again = [
  "ToolPrepared pay 0",
  "ToolResolved pay 1",
  "ToolPrepared pay 2",
  "ToolSettled pay 3",
]
const outcome = ["ToolPrepared pay 0", "ToolSettled pay 1"]

describe("a reconciler's answer", () => {
  const table = [
    ["neverStarted", again, 2, { output: "paid now" }],
    ["safeToRetry", again, 2, { output: "paid now" }],
    ["completed", outcome, 1, { output: "paid before" }],
    ["failed", outcome, 1, { outcome: "failed", failure: { tag: "Declined" } }],
  ] as const

  for (const ended of [true, false]) {
    const how = ended ? "ended without an outcome" : "was lost with its object"
    it.each(table)(
      `%s is carried out when the call ${how}`,
      async (name, records, started, end) => {
        const { asked, outside, world } = makeCase(
          () => Effect.succeed(answers[name]),
          ended ? { timeout: 5 } : {},
        )
        const { submissionId } = await accepted(world.admit("agent", ""))
        if (ended) expect(await tags(world.process())).toEqual(["Suspended"])
        else await lose(world)
        await settle(world)
        expect(asked).toHaveLength(1)
        expect(outside.started).toHaveLength(started)
        expect(await callRecords(world)).toEqual(records)
        expect(openRows(world)).toEqual([])
        expect(await settlementOf(world, submissionId)).toMatchObject(end)
      },
    )

    it(`uncertain makes the call unknown when it ${how}`, async () => {
      const { outside, world } = makeCase(
        () => Effect.succeed(answers.uncertain),
        ended ? { timeout: 5 } : {},
      )
      const { submissionId } = await accepted(world.admit("agent", ""))
      if (ended) expect(await tags(world.process())).toEqual(["Suspended"])
      else await lose(world)
      await settle(world)
      expect(outside.started).toHaveLength(1)
      expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolUnknown pay 1"])
      expect(await stateOf(world, submissionId)).toBe("unknown")
    })
  }

  it("is recorded with who gave it", async () => {
    const { world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    const { records } = await go(world.history())
    expect(records.find(({ kind }) => kind === "ToolSettled")?.payload).toEqual({
      by: { author: "reconciler", reason: "asked by recovery" },
      result: "paid before",
      tool: "payment",
    })
  })

  it("is asked for about the call as its body was told of it", async () => {
    const { asked, world } = makeCase(() => Effect.succeed(answers.neverStarted))
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    expect(asked).toEqual([
      {
        ...world.address,
        submissionId,
        name: "pay",
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        request: { order: 7 },
      },
    ])
  })

  it("comes without a handler being run", async () => {
    const { entered, world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    expect(entered).toEqual([1])
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect(entered).toEqual([1])
    await settle(world)
    expect(entered).toEqual([1, 2])
  })
})

describe("a reconciler is asked", () => {
  it("not before the end of the call, and at its end", async () => {
    const { asked, world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    for (const before of [0, overMillis - 1]) {
      world.time.now += before
      expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
      expect(asked).toEqual([])
    }
    expect((await go(world.inspect())).report.recoverAt).toBe(world.time.now + 1)
    world.time.now += 1
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect(asked).toHaveLength(1)
  })

  it("once at a time: a second recovery joins the first", async () => {
    const answer = Deferred.makeUnsafe<Answer>()
    const { asked, world } = makeCase(() => Deferred.await(answer))
    await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    const both = [decisionsOf(world), decisionsOf(world)]
    await until(
      "it is asked",
      () => asked.length,
      (count) => count > 0,
    )
    expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    Deferred.doneUnsafe(answer, Effect.succeed(answers.completed))
    expect(await Promise.all(both)).toEqual([["Reconcile: repaired"], ["Reconcile: repaired"]])
    expect(asked).toHaveLength(1)
    await settle(world)
  })

  it("eight times when it fails, later each time, before the call becomes unknown", async () => {
    const { asked, world } = makeCase(() => Effect.fail("no connection"))
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    const waits: Array<number> = []
    for (let time = 1; time < 8; time++) {
      expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
      expect(asked).toHaveLength(time)
      const { recoverAt } = (await go(world.inspect())).report
      waits.push((recoverAt ?? 0) - world.time.now)
      world.time.now = recoverAt ?? 0
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60].map((seconds) => seconds * 1_000))
    expect(await decisionsOf(world)).toEqual(["MarkUnknown: unknown"])
    expect(asked).toHaveLength(8)
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })

  it("again after failures, and its answer counts", async () => {
    const { asked, world } = makeCase((time) =>
      time < 8 ? Effect.die("not yet") : Effect.succeed(answers.completed),
    )
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    expect(asked).toHaveLength(8)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })

  it("of all calls of a run that are over, at once, each answer for its own", async () => {
    const asked: Array<string> = []
    const all = Deferred.makeUnsafe<void>()
    const found: Record<string, Answer> = {
      a: answers.completed,
      b: answers.neverStarted,
      c: answers.uncertain,
    }
    const tool = payment("ordinary", {
      timeout: 5,
      reconcile: ({ name }) =>
        Effect.suspend(() => {
          if (asked.push(name) === 3) Deferred.doneUnsafe(all, Effect.void)
          return Effect.as(Deferred.await(all), found[name] ?? answers.uncertain)
        }),
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          ["a", "b", "c"].map((name) => run.tool(name, tool, Effect.never)),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    await settle(world)
    expect(asked).toHaveLength(3)
    expect(await callRecords(world)).toEqual([
      "ToolPrepared a 0",
      "ToolPrepared b 0",
      "ToolPrepared c 0",
      "ToolSettled a 1",
      "ToolResolved b 1",
      "ToolUnknown c 1",
    ])
    expect(openRows(world)).toMatchObject([{ name: "c" }])
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })
})
