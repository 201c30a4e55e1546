/**
 * A provider that carries a payment out 20 s after the request left, a crash in between, and a reconciler that
 * says "never started" until then: paid once. The clock is the test's.
 */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { Limits } from "../../../contracts/Limits.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { callRecords, io, payment, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld, type World } from "./harness.ts"

const carriedOutAfterMillis = 20_000

/** It pays for every request that reached it, and tells only of what it has carried out. */
const makeProvider = (now: () => number) => {
  const requests: Array<{ readonly key: string; readonly at: number }> = []
  return {
    send: (key: string) => void requests.push({ key, at: now() }),
    knows: (key: string) =>
      requests.some(
        (request) => request.key === key && now() >= request.at + carriedOutAfterMillis,
      ),
    payments: () => requests.length,
  }
}

/** The body sends its request, and never hears of it. */
const unheard = (_world: World | undefined, send: () => void): Effect.Effect<never> =>
  Effect.andThen(Effect.sync(send), Effect.never)

const makeCase = (timeout: number, limits: Partial<Limits> = {}, body = unheard) => {
  const clock: { world?: World } = {}
  const provider = makeProvider(() => clock.world?.time.now ?? 0)
  const asked: Array<number> = []
  const tool = payment("ordinary", {
    timeout,
    reconcile: ({ key }) =>
      Effect.sync(() => {
        asked.push(clock.world?.time.now ?? 0)
        return provider.knows(key)
          ? ({ _tag: "Completed", result: "paid" } as const)
          : ({ _tag: "NeverStarted" } as const)
      }),
  })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      run.tool("pay", tool, ({ key }) => body(clock.world, () => provider.send(key))),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, limits })
  clock.world = world
  return { asked, provider, world }
}

/** Sends the payment, loses the object so many milliseconds later, and asks recovery every second. */
const play = async ({ world }: ReturnType<typeof makeCase>, crashAfterMillis: number) => {
  const { submissionId } = await accepted(world.admit("agent", ""))
  await go(world.process({ attentionMillis: 20 }))
  const start = world.time.now
  world.time.now += crashAfterMillis
  world.crash()
  while (world.time.now < start + 60_000) {
    await go(world.recover())
    await go(world.process({ attentionMillis: 5 }))
    world.time.now += 1_000
  }
  return { start, submissionId }
}

describe("a payment that is carried out 20 s after its request left", () => {
  it.each([0, 1, 10_000, 19_999, 20_000, 40_000])(
    "is paid once when its object is lost after %i ms and the reconciler says never started until then",
    async (crashAfterMillis) => {
      const made = makeCase(25_000)
      const { start, submissionId } = await play(made, crashAfterMillis)
      await settle(made.world)
      expect(made.provider.payments()).toBe(1)
      expect(made.asked).toHaveLength(1)
      expect(made.asked[0]).toBeGreaterThanOrEqual(start + 55_000)
      expect(await callRecords(made.world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
      expect(await settlementOf(made.world, submissionId)).toMatchObject({ output: "paid" })
    },
  )

  it("would be paid twice were its reconciler asked before the call's end", async () => {
    const made = makeCase(1, { clockAllowanceMillis: 0, oldInstanceMillis: 0 })
    await play(made, 1_000)
    expect(made.provider.payments()).toBeGreaterThan(1)
  })

  it("is paid once when its object's clock stood still for 5 s before the request left", async () => {
    const body = (world: World | undefined, send: () => void) =>
      Effect.suspend(() => {
        if (world !== undefined) world.time.now += 5_000
        send()
        return Effect.die("the connection was reset")
      })
    const { asked, provider, world } = makeCase(carriedOutAfterMillis, {}, body)
    const { submissionId } = await accepted(world.admit("agent", ""))
    const start = world.time.now
    await go(world.process())
    await settle(world)
    expect(provider.payments()).toBe(1)
    expect(asked).toEqual([start + 5_000 + carriedOutAfterMillis])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid" })
  })
})
