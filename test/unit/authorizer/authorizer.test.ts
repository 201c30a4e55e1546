/** The application's own policy: asked once per public call, by the object, before it reads. */
import { Effect, Schema } from "effect"
import { describe, expect, it, vi } from "vitest"
import type { Authorizer, Operation } from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { makeOwnerWorld, ownerId } from "../owner/OwnerWorld.ts"
import { accepted, drain, go, makeWorld } from "../thread/harness.ts"

const asking = (answer: (operation: Operation) => Effect.Effect<void, unknown>) => {
  const asked: Array<Operation> = []
  const authorizer: Authorizer = {
    authorize: (operation) => {
      asked.push(operation)
      return answer(operation)
    },
  }
  return { asked, authorizer }
}

const denies = () => Effect.fail(new OperationDenied({ operation: "anything" }))
const echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler((input) =>
  Effect.succeed(input),
)

describe("a policy", () => {
  it("is asked once per public call, with who asks for what", async () => {
    const { asked, authorizer } = asking(() => Effect.void)
    const world = makeOwnerWorld({ authorizer })
    await go(world.submit("a"))
    expect(asked).toEqual([{ operation: "submit", principal: "tester", ownerId, threadId: "a" }])
    await world.quiet()
    expect(asked).toHaveLength(1)
  })

  it("that denies keeps an owner from reading and writing anything", async () => {
    const { authorizer } = asking(denies)
    const world = makeOwnerWorld({ authorizer })
    const before = { dump: world.storage.dump(), counts: world.storage.counts() }
    const threadId = ThreadId.make("a")
    for (const call of [
      world.submit("a"),
      world.client.recoveryStatus({ ownerId, threadId }),
      world.client.maintenanceStatus({ ownerId }),
      world.client.reconcile({ ownerId, threadIds: [threadId] }),
    ] as ReadonlyArray<Effect.Effect<unknown, unknown>>) {
      expect(await go(Effect.flip(call))).toMatchObject({ _tag: "OperationDenied" })
    }
    expect(world.storage.dump()).toBe(before.dump)
    expect(world.storage.counts()).toEqual(before.counts)
  })

  it("is asked by a thread for its reads, and for nothing that its owner calls", async () => {
    const { asked, authorizer } = asking(denies)
    const world = makeWorld({ agents: [echo], authorizer })
    const { submissionId } = await accepted(world.admit("echo", 1))
    await drain(world)
    expect(asked).toEqual([])
    const before = world.storage.counts().read
    expect(await go(Effect.flip(world.status(submissionId)))).toMatchObject({
      _tag: "OperationDenied",
      operation: "status",
    })
    expect(world.storage.counts().read).toBe(before)
    expect(asked).toEqual([
      {
        operation: "status",
        principal: "reader",
        ownerId: world.address.ownerId,
        threadId: world.address.threadId,
        submissionId,
      },
    ])
  })

  it.each([
    ["fails", () => Effect.fail("the directory is away")],
    ["fails in lines", () => Effect.fail({ _tag: "Away\nsecret", message: "\nsecret" })],
    ["dies", () => Effect.die(new Error("secret"))],
    [
      "throws",
      () => {
        throw new Error("secret")
      },
    ],
    ["hangs", () => Effect.never],
  ])("that %s is Unavailable, not a denial, and its words are not logged", async (_how, answer) => {
    const { authorizer } = asking(answer)
    const world = makeOwnerWorld({ authorizer, limits: { authorizeMillis: 10 } })
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined)
    const error = await go(Effect.flip(world.submit("a")))
    const logged = log.mock.calls.flat().join(" ")
    log.mockRestore()
    expect(logged).toContain("the policy failed")
    expect(logged).not.toMatch(/secret|the directory|\n/)
    expect(error).toMatchObject({ _tag: "Unavailable", retryable: true, overloaded: false })
    expect(JSON.stringify(error)).not.toContain("secret")
  })
})
