/** A crash in the block by which a child is told to end before it comes. */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"

const Kid = Agent.make("kid", { input: Schema.String, output: Schema.String })

const call = (world: World) => ({
  ...world.address,
  generation: world.generation(),
  now: world.time.now,
})

/** A child that is told to end before it comes: whenever the word is lost, it settles aborted, once. */
export const crashInAbortChild = async (point: string): Promise<void> => {
  const ran: Array<string> = []
  const live = Kid.handler((input) => Effect.sync(() => ran.push(input)).pipe(Effect.as(input)))
  const world = makeWorld({ agents: [live], stopAt: point })
  const childId = "c".repeat(32)
  const words = { author: "heddle", reason: "the parent failed", principal: "alice" }
  const end = () => go(world.asOwner.abortChild({ ...call(world), childId, ...words } as never))
  void end().catch(() => undefined)
  await world.stopped()
  world.crash()
  await end()
  const parent = {
    threadId: "p",
    submissionId: "01900000-0000-7000-8000-000000000001",
    name: "kid",
    depth: 1,
  }
  const extra = { idempotencyKey: childId, parent } as never
  const { submissionId } = await accepted(world.admit("kid", "small", extra))
  await drain(world)
  expect(await go(world.status(submissionId))).toMatchObject({
    settlement: { outcome: "aborted", abort: { author: "heddle" } },
  })
  expect(ran).toEqual([])
  const { result } = await go(world.asOwner.claimOutbox({ ...call(world), limit: 8 }))
  expect(result).toMatchObject({
    value: [{ _tag: "ChildNotice", childId, threadId: "p", settlement: { outcome: "aborted" } }],
  })
}
