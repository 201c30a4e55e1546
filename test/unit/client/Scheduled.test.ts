/** One run of the cron over the real registry, and owners that answer as a test says. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeScheduledHandler, runScheduled } from "../../../client/Scheduled.ts"
import { callerMiddlewareLayer } from "../../../contracts/Authorization.ts"
import type { OwnerId } from "../../../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import { inMemoryTarget, makeWireServer } from "../../../contracts/transport/index.ts"
import { makeRegistry } from "../owner/makeRegistry.ts"

const hour = 60 * 60_000

type Answer = "owes" | "idle" | "fails" | "hangs"

const makeWorld = Effect.fnUntraced(function* (
  owners: Record<string, Answer>,
  run: Partial<Limits>,
) {
  const limits = makeLimits(run)
  const clock = { now: 1_800_000_000_000 }
  const registry = makeRegistry({ limits, now: () => clock.now })
  for (const name of Object.keys(owners)) {
    yield* registry.enter(name, true)
    clock.now += 1
  }
  clock.now += hour
  const asked: Array<string> = []
  const unused = () => Effect.die(new Error("the cron asks this of nobody"))
  const others = [...OwnerRpc.requests.keys()].map((tag) => [tag, unused] as const)
  const handlers = OwnerRpc.toLayer({
    ...Object.fromEntries(others),
    look: ({ ownerId }: { readonly ownerId: OwnerId }) =>
      Effect.suspend(() => {
        asked.push(ownerId)
        const answer = owners[ownerId]
        if (answer === "fails") return Effect.die(new Error("the owner is broken"))
        if (answer === "hangs") return Effect.never
        return Effect.succeed({ owes: answer === "owes" })
      }),
  } as never)
  const context = yield* Layer.build(Layer.merge(handlers, callerMiddlewareLayer))
  const server = yield* Effect.provideContext(makeWireServer(OwnerRpc), context)
  let messages = 0
  const owner = inMemoryTarget(server, {
    request: () => {
      messages += 1
      return "deliver"
    },
  })
  const targets = {
    owner: () => owner,
    thread: () => inMemoryTarget(server),
    registry: () => inMemoryTarget(registry.target),
    close: () => void (closed += 1),
  }
  let closed = 0
  return {
    asked,
    /** What was sent to owners: looks, and the words that they are let go. */
    messages: () => messages,
    clock,
    registry,
    closed: () => closed,
    run: runScheduled(targets, targets.registry, limits),
    handler: makeScheduledHandler({ limits, targets: () => targets }),
    withoutRegistry: makeScheduledHandler({
      limits,
      targets: () => ({ ...targets, registry: undefined }),
    }),
  }
})

describe("a run of the cron", () => {
  it.live("looks at every owner that is due, once, and records what it owed", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ a: "owes", b: "idle", c: "owes" }, { pageOwners: 2 })
      expect(yield* world.run).toEqual({ looked: 3, owing: 2, failed: 0 })
      expect(world.asked.toSorted()).toEqual(["a", "b", "c"])
      expect(world.registry.rows().map((row) => [row["owner_id"], row["owed"]])).toEqual([
        ["a", 1],
        ["b", 0],
        ["c", 1],
      ])
      expect(yield* world.run).toEqual({ looked: 0, owing: 0, failed: 0 })
      world.clock.now += hour
      expect(yield* world.run).toEqual({ looked: 2, owing: 2, failed: 0 })
    }),
  )

  it.live("looks at some 780 of a thousand that are due, and the next run at the rest", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 1_000 }, (_, index) => `owner-${index}`)
      const owners = Object.fromEntries(names.map((name) => [name, "owes" as const]))
      const world = yield* makeWorld(owners, {})
      const { looked } = yield* world.run
      expect(looked).toBeGreaterThan(770)
      expect(looked).toBeLessThan(800)
      expect(new Set(world.asked)).toEqual(new Set(names.slice(0, looked)))
      expect(yield* world.run).toEqual({ looked: 1_000 - looked, owing: 1_000 - looked, failed: 0 })
    }),
  )

  it.live("is not held up by owners that fail or hang, and the next run asks them again", () =>
    Effect.gen(function* () {
      const owners: Record<string, Answer> = { a: "fails", b: "hangs", c: "owes", d: "idle" }
      const world = yield* makeWorld(owners, { lookMillis: 30, lookSlots: 2 })
      expect(yield* world.run).toEqual({ looked: 2, owing: 1, failed: 2 })
      Object.assign(owners, { a: "owes", b: "owes" })
      world.clock.now += world.registry.limits.lookRetryMillis
      expect(yield* world.run).toEqual({ looked: 2, owing: 2, failed: 0 })
    }),
  )

  it.live(
    "makes no more calls than its budget; the next goes on with those that waited longest",
    () =>
      Effect.gen(function* () {
        const names = ["a", "b", "c", "d", "e", "f", "g"]
        const owners = Object.fromEntries(names.map((name) => [name, "owes" as const]))
        const world = yield* makeWorld(owners, { scheduledCalls: 8, pageOwners: 2 })
        world.registry.state.calls = 0
        expect(yield* world.run).toMatchObject({ looked: 3 })
        expect(world.registry.state.calls + world.messages()).toBeLessThanOrEqual(8)
        expect(world.asked).toEqual(["a", "b", "c"])
        yield* world.run
        expect(world.asked.slice(3)).toEqual(["d", "e", "f"])
      }),
  )

  it.live("counts the message by which a look that hangs is let go", () =>
    Effect.gen(function* () {
      const names = ["a", "b", "c", "d", "e", "f"]
      const owners = Object.fromEntries(names.map((name) => [name, "hangs" as const]))
      const world = yield* makeWorld(owners, { scheduledCalls: 10, lookMillis: 20 })
      world.registry.state.calls = 0
      expect(yield* world.run).toEqual({ looked: 0, owing: 0, failed: 4 })
      expect(world.messages()).toBe(8)
      expect(world.registry.state.calls + world.messages()).toBeLessThanOrEqual(10)
    }),
  )

  it.live("takes no more owners after its time", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ a: "owes" }, { scheduledMillis: 0 })
      expect(yield* world.run).toEqual({ looked: 0, owing: 0, failed: 0 })
      expect(world.asked).toEqual([])
    }),
  )

  it.live("rejects when the registry cannot be reached, and frees its stubs", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ a: "owes" }, {})
      yield* Effect.promise(() => world.handler({}, {}))
      world.registry.state.mood = "away"
      const failure = yield* Effect.flip(Effect.tryPromise(() => world.handler({}, {})))
      expect(String(failure.cause)).toContain("Unavailable")
      expect(world.closed()).toBe(2)
    }),
  )

  it.live("rejects when the registry does not answer in time", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ a: "owes" }, { registryMillis: 30 })
      world.registry.state.mood = "hangs"
      const failure = yield* Effect.flip(Effect.tryPromise(() => world.handler({}, {})))
      expect(String(failure.cause)).toContain("Timeout")
      expect(world.closed()).toBe(1)
    }),
  )

  it.live("of a deployment without a registry asks nobody", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ a: "owes" }, {})
      yield* Effect.promise(() => world.withoutRegistry({}, {}))
      expect(world.asked).toEqual([])
      expect(world.closed()).toBe(1)
    }),
  )
})
