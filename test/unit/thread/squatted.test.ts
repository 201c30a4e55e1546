/** The ids of children and messages are no secrets: who submits under one takes nobody's place. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"
import { taken } from "./operators.ts"

const Kid = Agent.make("kid", { input: Schema.Json, output: Schema.Json }).handler((_, run) =>
  Effect.succeed(run.info.from ?? run.info.parent ?? "nobody"),
)
const id = "c".repeat(32)
const from = {
  ownerId: "acme",
  threadId: "p",
  submissionId: "01900000-0000-7000-8000-000000000001",
}
const parent = { threadId: "p", submissionId: from.submissionId, name: "kid", depth: 1 }

/** Somebody has submitted the same under the id that is to come. */
const squatted = async (origin: object) => {
  const world = makeWorld({ agents: [Kid] })
  const squatter = await accepted(world.admit("kid", 1, { idempotencyKey: id }))
  const come = await accepted(world.admit("kid", 1, { idempotencyKey: id, ...origin }))
  const again = await accepted(world.admit("kid", 1, { idempotencyKey: id, ...origin }))
  expect(come).toMatchObject({ duplicate: false })
  expect(come.submissionId).not.toBe(squatter.submissionId)
  expect(again).toMatchObject({ duplicate: true, submissionId: come.submissionId })
  await drain(world)
  return { world, come }
}

const outputOf = async ({ come, world }: Awaited<ReturnType<typeof squatted>>) =>
  (await go(world.status(come.submissionId))).settlement

describe("a submission under an id of somebody's run", () => {
  it("takes no child's place: the child runs, and its parent is told its end", async () => {
    const { come, world } = await squatted({ parent })
    expect(await outputOf({ come, world })).toMatchObject({ output: { threadId: "p" } })
    const call = { ...world.address, generation: world.generation(), now: world.time.now }
    const claimed = await taken(go(world.asOwner.claimOutbox({ ...call, limit: 8 })))
    expect(claimed).toMatchObject([
      { _tag: "ChildNotice", childId: id, settlement: { submissionId: come.submissionId } },
    ])
  })

  it("takes no message's place: its run is told who sent it", async () => {
    expect(await outputOf(await squatted({ from }))).toMatchObject({ output: from })
  })
})
