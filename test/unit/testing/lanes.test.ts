/** The testing kit beside threads: host lanes and the search of outcomes behave as they do when deployed. */
import { Context, Effect, Layer, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import { OwnerId } from "../../../contracts/Identifiers.ts"
import type { HostLane } from "../../../heddle.ts"
import { TestDeployment } from "../../../testing/index.ts"
import * as Agent from "../../../thread-actors/Agent.ts"

const Echo = Agent.make("echo", { input: Schema.String, output: Schema.String })
const EchoLive = Echo.handler((input) => Effect.succeed(input))
const submission = { agent: Echo, input: "a", threadId: "thread-1" }

/** A lane that is always due until it has done so many waves. */
const laneOf = (wave: Effect.Effect<unknown, unknown>, waves = 1) => {
  const ended = { count: 0, starts: [] as Array<number> }
  const lane: HostLane = {
    name: "lane",
    allowanceMillis: 500,
    run: ({ now }) =>
      Effect.andThen(
        Effect.sync(() => ended.starts.push(now)),
        Effect.andThen(
          wave,
          Effect.sync(() => (ended.count += 1)),
        ),
      ),
    nextDeadline: ({ now }) => Effect.succeed(ended.count < waves ? now : undefined),
  }
  return { lane, ended }
}

const deployed = (lane: HostLane) =>
  TestDeployment.make({ agents: [EchoLive], hostLanes: [lane] as const })

const statusOf = (heddle: TestDeployment) =>
  heddle.run(
    Effect.flatMap(HeddleClient, ({ rpc }) =>
      rpc.maintenanceStatus({ ownerId: OwnerId.make("owner") }),
    ),
  )

describe("a host lane of the testing kit", () => {
  it("is tried again after a failure by the test clock, later each time", async () => {
    let left = 3
    const failing = Effect.suspend(() => (left-- > 0 ? Effect.fail("not yet") : Effect.void))
    const { ended, lane } = laneOf(failing)
    const heddle = deployed(lane)
    await heddle.settled(await heddle.submit(submission))
    await heddle.advanceToRest()
    const [first = 0, ...later] = ended.starts.map((at) => at - (ended.starts[0] ?? 0))
    expect([first, ...later]).toHaveLength(4)
    const gaps = later.map((at, index) => at - ([first, ...later][index] ?? 0))
    expect(gaps.map((gap) => Math.floor(gap / 1_000))).toEqual([1, 2, 4])
    expect(await statusOf(heddle)).toMatchObject({
      hostLanes: [{ name: "lane", state: "idle", failures: 0 }],
    })
  })

  it("is interrupted at its allowance, and counts that as a failure", async () => {
    const { ended, lane } = laneOf(Effect.never)
    const heddle = deployed(lane)
    await heddle.submit(submission)
    await heddle.advance("900 millis")
    expect(ended).toMatchObject({ count: 0, starts: [expect.any(Number)] })
    expect(await statusOf(heddle)).toMatchObject({
      hostLanes: [{ name: "lane", state: "waiting", failures: 1 }],
    })
    await heddle.advance("1 minute")
    expect(ended.starts.length).toBeGreaterThan(2)
  })

  it("comes again after its owner's object died in the midst of a wave", async () => {
    const { ended, lane } = laneOf(Effect.sleep(100))
    const heddle = deployed(lane)
    await heddle.submit(submission)
    await heddle.advance("50 millis")
    expect(ended).toMatchObject({ count: 0, starts: [expect.any(Number)] })
    heddle.crashOwner()
    await heddle.advanceToRest()
    expect(ended).toMatchObject({ count: 1, starts: [expect.any(Number), expect.any(Number)] })
  })

  it("holds up no thread", async () => {
    const { lane } = laneOf(Effect.never)
    const heddle = deployed(lane)
    const startedAt = heddle.now()
    for (const threadId of ["a", "b"])
      expect(await heddle.settled(await heddle.submit({ ...submission, threadId }))).toMatchObject({
        outcome: "completed",
      })
    expect(heddle.now() - startedAt).toBeLessThan(100)
  })

  it("that could never run is refused, as a deployment would", () => {
    const { lane } = laneOf(Effect.void)
    const make = (hostLanes: ReadonlyArray<HostLane>) => () =>
      TestDeployment.make({ agents: [EchoLive], hostLanes })
    expect(make([lane, lane])).toThrow(/Two host lanes are named "lane"/)
    expect(make([{ ...lane, allowanceMillis: 0 }])).toThrow(TypeError)
  })

  it("brings a requirement that the services must meet", () => {
    class Needed extends Context.Service<Needed, { readonly value: number }>()("test/Needed") {}
    const needs: HostLane<Needed> = {
      name: "needs",
      allowanceMillis: 500,
      run: () => Effect.asVoid(Needed),
      nextDeadline: () => Effect.as(Needed, undefined),
    }
    const agents = [EchoLive] as const
    const services = Layer.succeed(Needed, { value: 1 })
    expect(TestDeployment.make({ agents, hostLanes: [needs], services })).toBeDefined()
    // @ts-expect-error the service that the lane needs is not there
    expect(TestDeployment.make({ agents, hostLanes: [needs] })).toBeDefined()
  })
})

describe("a search of the testing kit", () => {
  it("finds titles always, and outcomes only if asked to, also after crashes", async () => {
    for (const outcomes of [true, false]) {
      const heddle = TestDeployment.make({ agents: [EchoLive], search: { outcomes } })
      await heddle.settled(await heddle.submit({ ...submission, input: "feed the cat" }))
      heddle.crashOwner()
      heddle.crash("thread-1")
      await heddle.settled(await heddle.submit({ ...submission, input: "feed the dog" }))
      await heddle.advanceToRest()
      expect((await heddle.search("feed")).hits).toHaveLength(outcomes ? 2 : 0)
      expect((await heddle.search("dog")).hits).toHaveLength(outcomes ? 1 : 0)
    }
  })
})
