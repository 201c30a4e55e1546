/** An alarm that is lost for good: the cron's look brings it back, whatever the owner had it for. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { runScheduled } from "../../../client/Scheduled.ts"
import { AgentId, IdempotencyKey, StepName, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { makeRegistry } from "../owner/makeRegistry.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom, type LoomOptions } from "./Loom.ts"

const go = Effect.runPromise
const hour = 60 * 60_000
const io = { input: Schema.Json, output: Schema.Json }

const Echo = Agent.make("echo", io)
const EchoLive = Echo.handler((input) => Effect.succeed(input))
const Sends = Agent.make("sends", io).handler((input, run) =>
  run.send("out", { threadId: ThreadId.make("b"), agent: Echo, input, ownerId: "other" as never }),
)
const Sleeps = Agent.make("sleeps", io).handler((input, run) =>
  Effect.as(run.sleep("a while", 300), input),
)
const agents = [EchoLive, Sends, Sleeps]

const makeNet = (options: Partial<LoomOptions> = {}) => {
  const clock = { now: Date.now() }
  const registry = makeRegistry({ now: () => clock.now })
  const loom = makeLoom({ agents, registry: registry.target, ...options })
  const owner = inMemoryTarget(() => loom.runtime())
  const targets = {
    owner: () => owner,
    thread: () => owner,
    registry: () => inMemoryTarget(registry.target),
    close: () => undefined,
  }
  const submit = (agent: string, extra: { readonly notBefore?: number } = {}) =>
    go(
      loom.client.submit({
        ownerId,
        threadId: ThreadId.make("a"),
        agent: AgentId.make(agent),
        input: "x",
        idempotencyKey: IdempotencyKey.make(agent),
        ...extra,
      }),
    )
  const schedule = (cron: string) =>
    go(
      loom.client.schedule({
        ownerId,
        threadId: ThreadId.make("a"),
        name: StepName.make("tick"),
        cron,
        agent: AgentId.make("echo"),
        input: "tick",
      }),
    )
  return {
    loom,
    registry,
    submit,
    schedule,
    /** The registry has heard of the owner, and the pass has ended. */
    entered: () =>
      loom.alarmsUntil("it is entered", () => registry.rows().length === 1 && !loom.isDelivering()),
    /** The platform has given the alarm up, and the object is gone. */
    loseAlarm: () => {
      loom.storage.alarm.delete()
      loom.crash()
    },
    /** The cron runs so many hours later. */
    sweep: (hours: number) => {
      clock.now += hours * hour
      return go(runScheduled(targets, targets.registry, makeLimits()).pipe(Effect.scoped))
    },
    reported: () =>
      JSON.parse(String(loom.lane("a")?.["report"] ?? "{}")) as Record<string, number>,
  }
}

type Net = ReturnType<typeof makeNet>

/** Nothing comes of it by itself; the next hour's look arms it again, and the work is done. */
const expectFound = async (net: Net, done: () => boolean) => {
  net.loseAlarm()
  expect(await net.loom.deliver()).toBe(false)
  expect(net.loom.storage.alarmAt()).toBeNull()
  expect(await net.sweep(1)).toEqual({ looked: 1, owing: 1, failed: 0 })
  expect(net.registry.rows()).toMatchObject([{ owed: 1 }])
  expect(net.loom.storage.alarmAt()).not.toBeNull()
  await net.loom.alarmsUntil("what was owed is done", done)
}

/** After which an hourly look finds nothing, and comes back daily. */
const expectIdle = async (net: Net) => {
  await net.loom.quiet()
  expect(await net.sweep(1)).toEqual({ looked: 1, owing: 0, failed: 0 })
  expect(await net.sweep(1)).toEqual({ looked: 0, owing: 0, failed: 0 })
}

describe("an owner whose alarm was lost is found within the hour, though nothing was owed but", () => {
  it("the next occurrence of a schedule, also one that it was given first of all", async () => {
    const net = makeNet()
    await net.schedule("* * * * * *")
    await net.entered()
    expect(net.registry.rows()).toMatchObject([{ owed: 1, looked_at: null }])
    const before = net.reported()["tailSequence"] ?? 0
    await expectFound(net, () => (net.reported()["tailSequence"] ?? 0) > before)
    await go(
      net.loom.client.unschedule({
        ownerId,
        threadId: ThreadId.make("a"),
        name: StepName.make("tick"),
      }),
    )
    await expectIdle(net)
  })

  it("an input whose time is to come", async () => {
    const net = makeNet()
    await net.submit("echo", { notBefore: Date.now() + 1_000 })
    await net.entered()
    await expectFound(net, () => net.reported()["nonterminal"] === 0)
    await expectIdle(net)
  })

  it("a timer of a run", async () => {
    const net = makeNet()
    await net.submit("sleeps")
    await net.loom.alarmsUntil("it sleeps", () => net.reported()["dueAt"] !== undefined)
    await net.entered()
    await expectFound(net, () => net.reported()["nonterminal"] === 0)
    await expectIdle(net)
  })

  it("a message that nobody has taken yet", async () => {
    const seen = { isAway: true, taken: 0 }
    const peer: WireTarget = {
      call: async () => {
        if (seen.isAway) throw new Error("Network connection lost.")
        seen.taken += 1
        return { _tag: "Success", value: undefined }
      },
    }
    const net = makeNet({ peer: () => peer })
    await net.submit("sends")
    const isCarrying = () =>
      net.reported()["nonterminal"] === 0 && net.reported()["outboxAt"] !== undefined
    await net.loom.alarmsUntil("only the message is left", () => isCarrying())
    await net.entered()
    seen.isAway = false
    await expectFound(net, () => seen.taken === 1)
  })

  it("records that its sink has not taken yet", async () => {
    const seen = { isAway: true, taken: 0 }
    const sink = {
      publish: async () => {
        if (seen.isAway) throw new Error("the sink is away")
        seen.taken += 1
      },
    }
    const net = makeNet({ sink })
    await net.submit("echo")
    await net.loom.alarmsUntil(
      "its sink lacks something",
      () => seen.isAway && net.reported()["publishAt"] !== undefined,
    )
    await net.entered()
    seen.isAway = false
    await expectFound(net, () => seen.taken > 0)
    await net.loom.quiet()
  })
})

describe("an owner that owed nothing at its last look", () => {
  it("is found within the day when it has lost the alarm of a schedule that came after that", async () => {
    const net = makeNet()
    await net.submit("echo")
    await net.loom.quiet()
    await expectIdle(net)
    await net.schedule("* * * * * *")
    net.loseAlarm()
    expect(await net.sweep(21)).toEqual({ looked: 0, owing: 0, failed: 0 })
    expect(await net.sweep(2)).toEqual({ looked: 1, owing: 1, failed: 0 })
    await net.loom.alarmsUntil("it rings", () => (net.reported()["tailSequence"] ?? 0) > 2)
  })
})
