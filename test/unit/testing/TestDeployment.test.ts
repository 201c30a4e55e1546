/** The testing kit: time and crashes in the test's hands, and nothing of the process touched. */
import { Clock, Context, Effect, Layer, Random, Schema } from "effect"
import { describe, expect, it, vi } from "vitest"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import { IdempotencyConflict, NotAwaiting, SettlementConflict } from "../../../contracts/Errors.ts"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { NoAnswer, NotSettled, Restless, TestDeployment } from "../../../testing/index.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { threadFailpoints } from "../../../thread-actors/ThreadFailpoints.ts"

const threadId = "thread-1"
const minute = 60_000

/** Runs what a test gives it, as a step. */
const agentOf = <R>(
  body: (run: Agent.Run<number>) => Effect.Effect<number, Agent.RunFailure, R>,
  retry?: Agent.RetryPolicy,
) => {
  const options = { input: Schema.Number, output: Schema.Number, state: Schema.Number }
  const agent = Agent.make("tested", retry === undefined ? options : { ...options, retry })
  return { agent, live: agent.handler((_input: number, run) => body(run)) }
}

const stepping = (effect: Effect.Effect<number>) =>
  agentOf((run) => run.step("work", Schema.Number, effect))

const sleeping = stepping(Effect.as(Effect.sleep(4 * minute), 7))
const quick = stepping(Effect.succeed(7))

describe("the test clock", () => {
  it("stands still, but for the millisecond of an alarm, while what is due at once runs", async () => {
    const heddle = TestDeployment.make({ agents: [sleeping.live] })
    const startedAt = heddle.now()
    await heddle.submit({ agent: sleeping.agent, input: 1, threadId })
    await heddle.settle()
    const [explained] = await heddle.explain(threadId)
    expect(explained?.state).toBe("running")
    expect(heddle.now() - startedAt).toBeLessThan(10)
  })

  it("moves by exactly as much as it is told, and ends a sleep with it", async () => {
    const heddle = TestDeployment.make({ agents: [sleeping.live] })
    const receipt = await heddle.submit({ agent: sleeping.agent, input: 1, threadId })
    await heddle.settle()
    const before = heddle.now()
    await heddle.advance("3 minutes")
    expect(heddle.now()).toBe(before + 3 * minute)
    expect((await heddle.explain(receipt))[0]?.state).toBe("running")
    await heddle.advance("2 minutes")
    expect(await heddle.explain(receipt)).toEqual([])
  })

  it("does not move for what is no time that can pass", async () => {
    const heddle = TestDeployment.make({ agents: [quick.live] })
    const startedAt = heddle.now()
    for (const duration of [Number.NaN, -5, Number.POSITIVE_INFINITY, "Infinity"] as const)
      await expect(heddle.advance(duration)).rejects.toThrow(RangeError)
    expect(heddle.now()).toBe(startedAt)
  })

  it("moves as far as a settlement needs, and to rest when nothing is due", async () => {
    const heddle = TestDeployment.make({ agents: [sleeping.live] })
    const receipt = await heddle.submit({ agent: sleeping.agent, input: 1, threadId })
    const { outcome, output, settledAt } = await heddle.settled(receipt)
    expect([outcome, output]).toEqual(["completed", 7])
    expect(settledAt - receipt.acceptedAt).toBeGreaterThanOrEqual(4 * minute)
    await heddle.advanceToRest()
    expect(await heddle.advanceToNext()).toBe(false)
  })

  it("is what code of the agents reads", async () => {
    const { agent, live } = stepping(Clock.currentTimeMillis)
    const heddle = TestDeployment.make({ agents: [live], startsAt: 5_000_000 })
    const receipt = await heddle.submit({ agent, input: 1, threadId })
    const { output } = await heddle.settled(receipt)
    expect(output).toBeGreaterThanOrEqual(5_000_000)
    expect(output).toBeLessThan(5_001_000)
  })

  it("tells of work that never rests, and of a call that nothing will answer", async () => {
    const { agent, live } = stepping(Effect.forever(Effect.yieldNow))
    const heddle = TestDeployment.make({ agents: [live] })
    await expect(heddle.run(Effect.never)).rejects.toThrow(NoAnswer)
    await heddle.submit({ agent, input: 1, threadId })
    await expect(heddle.settle()).rejects.toThrow(Restless)
  })
})

describe("crashes", () => {
  it("at every failpoint of a thread that a run reaches leave one settlement", async () => {
    const { agent, live } = agentOf((run) =>
      Effect.gen(function* () {
        yield* run.progress("begun", {})
        const worked = yield* run.step("work", Schema.Number, Effect.succeed(3))
        return yield* run.state.update("sum", () => worked)
      }),
    )
    const reached: Array<string> = []
    for (const name of threadFailpoints) {
      for (const point of [`${name}:before`, `${name}:after`] as const) {
        const heddle = TestDeployment.make({ agents: [live] })
        heddle.crashAt(point)
        const receipt = await heddle.submit({ agent, input: 1, threadId })
        expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed", output: 3 })
        const records = await heddle.history(threadId)
        expect(records.filter(({ kind }) => kind === "Settled").length).toBe(1)
        reached.push(...heddle.crashes().map((crash) => crash.point))
        heddle.close()
      }
    }
    expect(reached).toEqual(
      ["admit", "claim", "apply", "step", "state", "progress", "settle"].flatMap((name) => [
        `${name}:before`,
        `${name}:after`,
      ]),
    )
  })

  it("before a block lose what it would have written, and after it nothing", async () => {
    for (const [point, bodies] of [
      ["step:before", 2],
      ["step:after", 1],
    ] as const) {
      let ran = 0
      const { agent, live } = stepping(Effect.sync(() => ++ran))
      const heddle = TestDeployment.make({ agents: [live] })
      heddle.crashAt(point)
      await heddle.settled(await heddle.submit({ agent, input: 1, threadId }))
      expect([point, ran]).toEqual([point, bodies])
    }
  })

  it("strike the thread that was meant, as often as was said, or the owner", async () => {
    const heddle = TestDeployment.make({ agents: [quick.live] })
    heddle.crashAt("claim:before", { threadId, times: 2 })
    heddle.crashAt("report:before", { object: "owner" })
    heddle.crashAt("finish:after")
    const other = await heddle.submit({ agent: quick.agent, input: 1, threadId: "other" })
    const receipt = await heddle.submit({ agent: quick.agent, input: 1, threadId })
    await heddle.settled(other)
    await heddle.settled(receipt)
    const told = heddle.crashes().map(({ name, point }) => `${name} ${point}`)
    expect(told.filter((one) => one === "owner/thread-1 claim:before").length).toBe(2)
    expect(told.filter((one) => one.startsWith("owner/other"))).toEqual([])
    expect(told).toContain("owner finish:after")
  })

  it("come to nobody who was never called: a test would prove nothing", async () => {
    const heddle = TestDeployment.make({ agents: [quick.live] })
    await heddle.submit({ agent: quick.agent, input: 1, threadId })
    expect(() => heddle.crash("typo")).toThrow("No thread owner/typo was ever called")
    expect(() => heddle.crashOwner("typo")).toThrow("No owner typo was ever called")
    heddle.crash(threadId)
    heddle.crashOwner()
  })

  it("may come from within a handler, and of either object at any time", async () => {
    let dies = true
    const dying = stepping(
      Effect.suspend(() => {
        if (!dies) return Effect.succeed(7)
        dies = false
        heddle.crash(threadId)
        return Effect.never
      }),
    )
    const heddle = TestDeployment.make({ agents: [dying.live] })
    const receipt = await heddle.submit({ agent: dying.agent, input: 1, threadId })
    heddle.crashOwner()
    const settlement = await heddle.settled(receipt)
    expect(settlement).toMatchObject({ outcome: "completed", output: 7, attempts: 2 })
  })
})

describe("commands", () => {
  it("pause and resume a thread; what waits for somebody is told in words", async () => {
    const heddle = TestDeployment.make({ agents: [quick.live] })
    expect(await heddle.pause(threadId, { author: "ada", reason: "lunch" })).toMatchObject({
      pause: { author: "ada", reason: "lunch" },
    })
    const receipt = await heddle.submit({ agent: quick.agent, input: 1, threadId })
    await expect(heddle.settled(receipt)).rejects.toThrow(/ada.*lunch/)
    await expect(heddle.settled(receipt)).rejects.toThrow(NotSettled)
    expect(await heddle.obligations()).toMatchObject([{ blocker: "paused", threadId }])
    await heddle.resume(threadId)
    expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed" })
    expect(await heddle.obligations()).toEqual([])
  })

  it("retry what rests between two tries, at once", async () => {
    let tries = 0
    const failing = agentOf(
      (run) =>
        run.step(
          "work",
          Schema.Number,
          Effect.suspend(() => (++tries === 1 ? Effect.die("once") : Effect.succeed(7))),
        ),
      { times: 1, delay: "1 hour" },
    )
    const heddle = TestDeployment.make({ agents: [failing.live] })
    const receipt = await heddle.submit({ agent: failing.agent, input: 1, threadId })
    await heddle.settle()
    await heddle.advance("1 second")
    expect(tries).toBe(1)
    await heddle.retry(receipt)
    await heddle.advance("1 second")
    expect(tries).toBe(2)
  })

  it("abort what runs, and refuse with the errors of the contracts", async () => {
    const heddle = TestDeployment.make({ agents: [sleeping.live] })
    const { agent } = sleeping
    const receipt = await heddle.submit({ agent, input: 1, threadId, idempotencyKey: "k" })
    await heddle.settle()
    await expect(
      heddle.submit({ agent, input: 2, threadId, idempotencyKey: "k" }),
    ).rejects.toBeInstanceOf(IdempotencyConflict)
    await expect(heddle.resolve(receipt, { _tag: "NeverHappened" })).rejects.toBeInstanceOf(
      NotAwaiting,
    )
    await heddle.abort(receipt, { reason: "no more" })
    expect(await heddle.settled(receipt)).toMatchObject({
      outcome: "aborted",
      abort: { author: "test", reason: "no more" },
    })
    await expect(heddle.retry(receipt)).rejects.toBeInstanceOf(SettlementConflict)
  })

  it("have the product's client for all the others", async () => {
    const heddle = TestDeployment.make({ agents: [quick.live], ownerId: "shop" })
    await heddle.settled(await heddle.submit({ agent: quick.agent, input: 1, threadId }))
    const address = { ownerId: OwnerId.make("shop"), threadId: ThreadId.make(threadId) }
    const verified = await heddle.run(
      Effect.flatMap(HeddleClient, ({ rpc }) => rpc.verify(address)),
    )
    expect(verified.checks.map(({ _tag }) => _tag)).toEqual(verified.checks.map(() => "Passed"))
  })
})

describe("beside the user's own code", () => {
  class Counter extends Context.Service<Counter, { readonly life: number }>()("test/Counter") {}

  it("builds the services anew for each life of an object", async () => {
    let lives = 0
    const services = Layer.effect(
      Counter,
      Effect.sync(() => ({ life: ++lives })),
    )
    const { agent, live } = agentOf((run) =>
      Effect.gen(function* () {
        yield* run.progress("here", {})
        return (yield* Counter).life
      }),
    )
    const heddle = TestDeployment.make({ agents: [live], services })
    heddle.crashAt("progress:before")
    const settlement = await heddle.settled(await heddle.submit({ agent, input: 1, threadId }))
    expect(settlement.output).toBe(2)
  })

  it("asks at compile time for the services and inputs that agents need", () => {
    const { agent, live } = agentOf(() => Effect.map(Counter, ({ life }) => life))
    // @ts-expect-error the services are missing
    const heddle = TestDeployment.make({ agents: [live] })
    // @ts-expect-error the input is a number
    const wrong = () => heddle.submit({ agent, input: "one", threadId })
    expect(wrong).toBeTypeOf("function")
    expect(() => TestDeployment.make({ agents: [quick.live, quick.live] })).toThrow("same name")
  })

  it("repeats itself to the last id and draw", async () => {
    const { agent, live } = stepping(Effect.andThen(Effect.sleep(5), Random.next))
    const once = async (seed: number) => {
      const heddle = TestDeployment.make({ agents: [live], seed })
      heddle.crashAt("step:before")
      await heddle.settled(await heddle.submit({ agent, input: 1, threadId }))
      return heddle.history(threadId)
    }
    const first = await once(1)
    expect(await once(1)).toEqual(first)
    expect(await once(2)).not.toEqual(first)
  })

  it("leaves the process's own time and timers alone unless asked", async () => {
    const seen: Array<number> = []
    const { agent, live } = stepping(
      Effect.sync(() => {
        seen.push(Date.now())
        expect(Math.abs(new Date().getTime() - Date.now())).toBeLessThan(60_000)
        expect(new Date(5)).toBeInstanceOf(Date)
        return 7
      }),
    )
    const own = [Date, Date.now, Math.random, setTimeout]
    const before = Date.now()
    for (const patchGlobals of [false, true]) {
      const heddle = TestDeployment.make({ agents: [live], patchGlobals, startsAt: 5_000_000 })
      await heddle.settled(await heddle.submit({ agent, input: 1, threadId }))
    }
    expect(seen[0]).toBeGreaterThanOrEqual(before)
    expect(seen[1]).toBeLessThan(6_000_000)
    expect([Date, Date.now, Math.random, setTimeout]).toEqual(own)
  })

  it("runs under the test's own fake timers, and awaits the promises of its fakes", async () => {
    vi.useFakeTimers()
    try {
      const later = async () => {
        await Promise.resolve()
        return (await new Promise<number>((resolve) => queueMicrotask(() => resolve(6)))) + 1
      }
      const { agent, live } = stepping(Effect.promise(later))
      const heddle = TestDeployment.make({ agents: [live] })
      const receipt = await heddle.submit({ agent, input: 1, threadId })
      expect(await heddle.settled(receipt)).toMatchObject({ outcome: "completed", output: 7 })
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it("keeps what objects and agents warn of", async () => {
    const { agent, live } = stepping(Effect.as(Effect.logWarning("the yarn is thin"), 7))
    const heddle = TestDeployment.make({ agents: [live] })
    await heddle.settled(await heddle.submit({ agent, input: 1, threadId }))
    expect(heddle.log()).toContainEqual({
      object: "owner/thread-1",
      level: "Warn",
      message: "the yarn is thin",
    })
  })
})
