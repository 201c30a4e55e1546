/** A crash in the blocks of a schedule: it is set once, and each of its occurrences is one submission. */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { go, makeWorld } from "./harness.ts"
import { taken } from "./operators.ts"

const Echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler((input) =>
  Effect.succeed(input),
)

export const crashInSchedule = async (point: string) => {
  const world = makeWorld({ agents: [Echo], stopAt: point })
  const createdAt = world.time.now
  const set = () =>
    go(
      world.asOwner.schedule({
        ...world.address,
        name: "hourly",
        cron: "0 * * * *",
        agent: "echo",
        input: 1,
        principal: "alice",
        generation: world.generation(),
        now: world.time.now,
      } as never),
    )
  const turn = async () => {
    const { report } = await go(world.inspect())
    world.time.now = Math.max(world.time.now, report.upkeepAt ?? report.dueAt ?? 0)
    await go(world.process())
  }
  const script = async () => {
    await set()
    await turn()
  }
  void script().catch(() => undefined)
  await world.stopped()
  world.crash()
  const schedule = await taken(set())
  expect(schedule.createdAt).toBe(createdAt)
  while ((await go(world.history())).records.length < 4) await turn()
  const { records } = await go(world.history())
  expect(records.map(({ kind }) => kind)).toEqual([
    "InputApplied",
    "Settled",
    "InputApplied",
    "Settled",
  ])
  const hour = 3_600_000
  const nextAt = (Math.floor(createdAt / hour) + 3) * hour
  const { schedules } = await go(world.asReader.schedules(world.address))
  expect(schedules).toMatchObject([{ collapsed: 0, lastAt: nextAt - hour, nextAt }])
}
