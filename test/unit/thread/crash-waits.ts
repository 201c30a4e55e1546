/** A crash in the blocks of a wait: the question is asked once, and its answer given once. */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"
import { taken } from "./operators.ts"
import { outputOf, outside, recorded } from "./waits.ts"

const Asks = Agent.make("asks", { input: Schema.String, output: Schema.Json }).handler(
  Effect.fn(function* (_, run) {
    const { branch } = yield* run.race("first", {
      asked: run.approval("ask", { summary: "?" }),
      late: run.sleep("late", "1 day"),
    })
    return branch
  }),
)

export const crashInWait = async (point: string) => {
  const world = makeWorld({ agents: [Asks], stopAt: point })
  const { submissionId } = await accepted(world.admit("asks", "a"))
  const decide = () => outside(world).decide(submissionId, "ask", true)
  if (point.startsWith("wait")) void go(world.process()).catch(() => undefined)
  else {
    await go(world.process())
    void decide().catch(() => undefined)
  }
  await world.stopped()
  world.crash()
  await go(world.recover())
  const { report } = await go(world.inspect())
  if (report.dueAt !== undefined && report.dueAt < world.time.now + 60_000) {
    world.time.now = Math.max(world.time.now, report.dueAt)
    await go(world.process())
  }
  await taken(decide())
  await drain(world)
  expect(await outputOf(world, submissionId)).toBe("asked")
  const records = await recorded(world)
  expect(records.filter((record) => !record.startsWith("AttemptInterrupted"))).toEqual([
    "InputApplied",
    "ApprovalRequested ask",
    "TimerSet late",
    "ApprovalDecided ask",
    "WaitWithdrawn first",
    "WaitWithdrawn late",
    "Settled",
  ])
}
