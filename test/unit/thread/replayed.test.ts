/**
 * A platform may carry out a call again, seconds after it was answered. Its owner believes the first answer: what the
 * second changed would stand in a thread that nobody comes for.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"
import { openWaits, outside } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }
const late = { _tag: "Unavailable", retryable: true }

describe("a call that is carried out again later", () => {
  it("decides nothing where its approval was not asked for yet when it was answered", async () => {
    const Refund = Agent.make("refund", io).handler((_, run) =>
      Effect.as(run.approval("ok", { summary: "Refund?" }), null),
    )
    const world = makeWorld({ agents: [Refund] })
    const { submissionId } = await accepted(world.admit("refund", null))
    const generation = world.generation()
    const decide = () => outside(world).decide(submissionId, "ok", true, { generation })
    expect(await refused(decide())).toMatchObject({ _tag: "NotAwaiting" })
    await tags(world.process())
    expect(openWaits(world)).toEqual(["ok"])
    expect(await refused(decide())).toMatchObject(late)
    expect(openWaits(world)).toEqual(["ok"])
    await taken(outside(world).decide(submissionId, "ok", true))
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("signals nothing where the run had no room for it when it was answered", async () => {
    const Waits = Agent.make("waits", io).handler((_, run) => run.waitFor("paid", Schema.Json))
    const world = makeWorld({ agents: [Waits], limits: { earlySignals: 3 } })
    const { submissionId } = await accepted(world.admit("waits", null))
    for (const name of ["a", "b", "c"]) await taken(outside(world).signal(submissionId, name, 1))
    const generation = world.generation()
    const signal = () => outside(world).signal(submissionId, "paid", 1, { generation })
    expect(await refused(signal())).toMatchObject({ _tag: "AdmissionLimitExceeded" })
    expect(await refused(signal())).toMatchObject(late)
  })

  it("retries nothing a second time", async () => {
    const Echo = Agent.make("echo", io).handler(() => Effect.never)
    const world = makeWorld({ agents: [Echo] })
    const { submissionId } = await accepted(world.admit("echo", null))
    const generation = world.generation()
    await taken(operate(world).retry(submissionId, { generation }))
    expect(await refused(operate(world).retry(submissionId, { generation }))).toMatchObject(late)
  })

  it("brings no schedule back that was removed, and removes none that was set since", async () => {
    const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
    const world = makeWorld({ agents: [Echo] })
    const order = (said: object) =>
      ({
        ...world.address,
        principal: "alice",
        generation: world.generation(),
        now: world.time.now,
        name: "hourly",
        ...said,
      }) as never
    const content = { cron: "0 * * * *", agent: "echo", input: 1 }
    const listed = async () =>
      (await go(world.asReader.schedules({ ...world.address }))).schedules.length
    const set = order(content)
    await taken(go(world.asOwner.schedule(set)))
    const remove = order({})
    expect(await taken(go(world.asOwner.unschedule(remove)))).toEqual({ removed: true })
    expect(await refused(go(world.asOwner.schedule(set)))).toMatchObject(late)
    expect(await listed()).toBe(0)
    await taken(go(world.asOwner.schedule(order(content))))
    expect(await refused(go(world.asOwner.unschedule(remove)))).toMatchObject(late)
    expect(await listed()).toBe(1)
  })

  it("has no parent told a second time by a child that has settled meanwhile", async () => {
    const Kid = Agent.make("kid", io).handler(() => Effect.succeed(1))
    const world = makeWorld({ agents: [Kid] })
    const childId = "c".repeat(32)
    const parent = {
      threadId: "p",
      submissionId: "01900000-0000-7000-8000-000000000001",
      name: "kid",
      depth: 1,
    }
    await accepted(world.admit("kid", null, { idempotencyKey: childId, parent } as never))
    const about = (said: object = {}) =>
      ({ ...world.address, generation: world.generation(), now: world.time.now, ...said }) as never
    const word = about({ childId, author: "heddle", reason: "over", principal: "alice" })
    await taken(go(world.asOwner.abortChild(word)))
    const claimed = await taken(go(world.asOwner.claimOutbox(about({ limit: 8 }))))
    const results = claimed.map((entry) => ({ ...entry, result: { _tag: "Taken" } }))
    await taken(go(world.asOwner.acknowledgeOutbox(about({ results }))))
    const { report } = await go(world.inspect())
    expect(report.outboxAt).toBeUndefined()
    expect(await refused(go(world.asOwner.abortChild(word)))).toMatchObject(late)
    expect((await go(world.inspect())).report.outboxAt).toBeUndefined()
  })

  it("has no child asked after a second time by a visit of an owner that knew nothing of the thread", async () => {
    const Parent = Agent.make("parent", io).handler((_, run) => run.child("kid", Parents, null))
    const Parents = Agent.make("kid", io)
    const world = makeWorld({ agents: [Parent] })
    await accepted(world.admit("parent", null))
    await tags(world.process())
    const about = (said: object = {}) =>
      ({ ...world.address, generation: world.generation(), now: world.time.now, ...said }) as never
    const carry = async () => {
      const claimed = await taken(go(world.asOwner.claimOutbox(about({ limit: 8 }))))
      const results = claimed.map((entry) => ({ ...entry, result: { _tag: "Taken" } }))
      await taken(go(world.asOwner.acknowledgeOutbox(about({ results }))))
      return claimed.map(({ _tag }) => _tag)
    }
    expect(await carry()).toEqual(["Child"])
    const fence = world.generation()
    const visit = () =>
      go(
        world.asOwner.inspect({
          ...world.address,
          now: world.time.now,
          fence,
          anew: true,
        } as never),
      )
    await visit()
    expect(await carry()).toEqual(["ChildAsk"])
    await visit()
    expect(await carry()).toEqual([])
  })
})
