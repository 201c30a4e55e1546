/** Calls that are counted per principal, over both edges, and what a caller learns of one too many. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeEdge } from "../../../client/Edge.ts"
import { httpTarget } from "../../../client/HttpTarget.ts"
import { identityOfProps, type Verified } from "../../../client/Identity.ts"
import { admitted, type RateLimiter } from "../../../client/RateLimit.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import { grants, makeObjects, ownerId, receipt, submission, threadId } from "./fakes.ts"
import {
  bearer,
  type HttpWorld,
  line,
  makeHttpWorld,
  messages,
  origin,
  rpcRequest,
} from "./httpWorld.ts"

const place = { ownerId, threadId }

/** Lets so many calls of each key pass. */
const allowing = (calls: number) => {
  const counted = new Map<string, number>()
  const limiter: RateLimiter = {
    limit: async ({ key }) => {
      const count = (counted.get(key) ?? 0) + 1
      counted.set(key, count)
      return { success: count <= calls }
    },
  }
  return { counted, limiter, edge: { rateLimiter: () => limiter } }
}

const tooMany = {
  _tag: "Unavailable",
  retryable: true,
  overloaded: true,
  reason: "This principal makes too many calls",
}
const exitOfTooMany = { _tag: "Failure", cause: [{ _tag: "Fail", error: tooMany }] }

const post = (world: HttpWorld, body: RequestInit["body"]) =>
  Effect.promise(() =>
    world.fetch(rpcRequest(body, bearer(world.token), { duplex: "half" } as RequestInit)),
  )

describe("over HTTPS a call too many", () => {
  it.effect("is answered 429, typed, with when to come back, and none of it is read", () =>
    Effect.gen(function* () {
      const { counted, edge } = allowing(1)
      const world = yield* makeHttpWorld({ edge })
      expect((yield* post(world, line("submit", submission))).status).toBe(200)
      let asked = false
      const pull = () => {
        asked = true
        return new Promise<never>(() => undefined)
      }
      const response = yield* post(world, new ReadableStream({ pull }, { highWaterMark: 0 }))
      expect(response.status).toBe(429)
      expect(response.headers.get("retry-after")).toBe("10")
      expect(yield* Effect.promise(() => messages(response))).toEqual([tooMany])
      expect(asked).toBe(false)
      expect(world.objects.calls).toHaveLength(1)
      expect([...counted]).toEqual([["ada", 2]])
    }),
  )

  it.effect("of a body with several is refused for itself, and those before it are answered", () =>
    Effect.gen(function* () {
      const { counted, edge } = allowing(2)
      const world = yield* makeHttpWorld({ edge })
      const lines = ["a", "b", "c", "d"].map((id) => line("submit", submission, id))
      const answers = yield* Effect.flatMap(post(world, lines.join("\n")), (response) =>
        Effect.promise(() => messages(response)),
      )
      const exits = answers.map((answer) => (answer as unknown as { exit: unknown }).exit)
      const accepted = { _tag: "Success", value: receipt }
      expect(exits).toHaveLength(4)
      expect(
        exits.filter((exit) => JSON.stringify(exit) === JSON.stringify(accepted)),
      ).toHaveLength(2)
      expect(exits.filter((exit) => JSON.stringify(exit).includes("too many"))).toEqual([
        exitOfTooMany,
        exitOfTooMany,
      ])
      expect(world.objects.calls).toHaveLength(2)
      expect(counted.get("ada")).toBe(4)
    }),
  )

  it.effect("is told to our client as it is, which does not repeat it by itself", () =>
    Effect.gen(function* () {
      const { counted, edge } = allowing(0)
      const world = yield* makeHttpWorld({ edge })
      const target = httpTarget({
        url: origin,
        token: world.token,
        fetch: (input, init) => world.fetch(new Request(input, init)),
      })
      const request = JSON.parse(line("readState", place)) as Parameters<typeof target.call>[0]
      expect(yield* Effect.promise(() => target.call(request))).toEqual(exitOfTooMany)
      expect(counted.get("ada")).toBe(1)
    }),
  )

  it.effect("is nobody's who has no token: that is answered before anything is counted", () =>
    Effect.gen(function* () {
      const { counted, edge } = allowing(0)
      const world = yield* makeHttpWorld({ edge })
      const response = yield* Effect.promise(() => world.fetch(rpcRequest(line("wake", place))))
      expect(response.status).toBe(401)
      expect(counted.size).toBe(0)
    }),
  )
})

describe("over a service binding a call too many", () => {
  it.effect("is refused before it is looked at; what ends a stream is not counted", () =>
    Effect.gen(function* () {
      const { counted, limiter } = allowing(1)
      const objects = yield* makeObjects()
      const identity = identityOfProps(grants()) as Verified
      const admission = () =>
        Effect.runPromise(admitted(limiter, identity.grants.principal, defaultLimits))
      const edge = yield* makeEdge({ identity, targets: objects.targets, admission })
      const call = (message: unknown) => Effect.promise(() => edge.call(message as never))
      const wake = JSON.parse(line("wake", place)) as unknown
      expect(yield* call(wake)).toMatchObject({ _tag: "Success" })
      for (const message of [wake, { ...(wake as object), tag: "unheard-of" }, "garbage"]) {
        expect(yield* call(message)).toEqual(exitOfTooMany)
      }
      expect(yield* call({ _tag: "Interrupt", requestId: "1" })).toMatchObject({ _tag: "Success" })
      expect(counted.get("ada")).toBe(4)
      expect(objects.calls).toHaveLength(1)
    }),
  )
})

describe("a rate limiter", () => {
  it.effect("counts each principal for itself", () =>
    Effect.gen(function* () {
      const { limiter } = allowing(1)
      const ask = (principal: string) => admitted(limiter, principal, defaultLimits)
      expect([yield* ask("ada"), yield* ask("ben"), yield* ask("ada")]).toEqual([true, true, false])
    }),
  )

  for (const [title, limit] of [
    ["rejects", () => Promise.reject(new Error("secret"))],
    [
      "throws",
      () => {
        throw new Error("secret")
      },
    ],
    ["does not answer", () => new Promise<never>(() => undefined)],
    ["resolves to nothing", () => Promise.resolve(undefined as never)],
    ["resolves to no answer", () => Promise.resolve({} as never)],
  ] as const) {
    it.effect(`that ${title} lets calls pass, within a second`, () =>
      Effect.gen(function* () {
        const asking = yield* Effect.forkChild(admitted({ limit }, "ada", defaultLimits))
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asking)).toBe(true)
      }),
    )
  }
})
