/** The word of a child, as its parent's thread takes it. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { expectVerified } from "./calls.ts"
import { accepted, drain, go, makeWorld, until, type World } from "./harness.ts"
import { dispatched, outputOf, recorded, rowOf } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }
const Kid = Agent.make("kid", io)

const said = (world: World, more: object) =>
  ({ ...world.address, generation: world.generation(), now: world.time.now, ...more }) as never

/** Carries what waits to be carried; gives the child's id. */
const carried = async (world: World): Promise<string> => {
  const { result } = await go(world.asOwner.claimOutbox(said(world, { limit: 8 })))
  const [entry] = (result as { readonly value: ReadonlyArray<{ readonly id: string }> }).value
  if (entry === undefined) throw new Error("nothing is to be carried")
  const results = [{ id: entry.id, result: { _tag: "Taken" } }]
  await go(world.asOwner.acknowledgeOutbox(said(world, { results })))
  return entry.id
}

const notice = (world: World, submissionId: SubmissionId, name: string, childId: string) => {
  const settlement = { submissionId, sequence: 1, outcome: "completed", output: 1, attempts: 1 }
  return go(
    world.asOwner.settleChild(
      said(world, {
        submissionId,
        name,
        childId,
        settlement: { ...settlement, settledAt: world.time.now },
      }),
    ),
  )
}

describe("the notice of a child", () => {
  const races = Agent.make("races", io).handler((_, run) =>
    Effect.map(
      run.race("first", {
        time: run.sleep("time", "10 seconds"),
        kid: Effect.orDie(run.child("kid", Kid, 1)),
      }),
      ({ branch }) => branch,
    ),
  )

  it("loses against a time that had come before it, and brings the run back", async () => {
    const world = makeWorld({ agents: [races] })
    const { submissionId } = await accepted(world.admit("races", 1))
    expect(await dispatched(world)).toBe("Suspended")
    const childId = await carried(world)
    world.time.now += 60_000
    await notice(world, submissionId, "kid", childId)
    expect(rowOf(world)?.state).toBe("ready")
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("time")
    expect(await recorded(world)).not.toContain("ChildSettled kid")
    expect(world.storage.sql.all("SELECT kind FROM outbox")).toEqual([])
    await expectVerified(world)
  })

  it("wins before the time has come", async () => {
    const world = makeWorld({ agents: [races] })
    const { submissionId } = await accepted(world.admit("races", 1))
    expect(await dispatched(world)).toBe("Suspended")
    await notice(world, submissionId, "kid", await carried(world))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe("kid")
  })

  it("that is nobody's counts as no progress of the attempt that runs", async () => {
    let gate = Deferred.makeUnsafe<void>()
    const interrupts = Agent.make("interrupts", io).handler(() =>
      Effect.andThen(
        Effect.suspend(() => Deferred.await(gate)),
        Effect.interrupt,
      ),
    )
    const world = makeWorld({ agents: [interrupts], limits: { attemptsExhausted: 3 } })
    const { submissionId } = await accepted(world.admit("interrupts", 1))
    for (let attempt = 0; attempt < 3; attempt++) {
      gate = Deferred.makeUnsafe()
      await go(world.process({ attentionMillis: 2 }))
      await notice(world, submissionId, "nobody", "0".repeat(32))
      Deferred.doneUnsafe(gate, Effect.void)
      await until(
        "the attempt is over",
        () => world.thread().isRunning(),
        (running) => !running,
      )
      world.time.now += 60_000
    }
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "AttemptsExhausted" } },
    })
  })
})
