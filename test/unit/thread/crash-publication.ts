/** A crash in the block that takes the sink's word: the next run starts all the same, once, with every record published. */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld } from "./harness.ts"
import { acknowledge, claimed, drainPublishing } from "./publishing.ts"

const Echo = (ran: Array<string>) =>
  Agent.make("echo", { input: Schema.String, output: Schema.String }).handler((input) =>
    Effect.sync(() => {
      ran.push(input)
      return input
    }),
  )

export const crashInPublication = async (point: string) => {
  const ran: Array<string> = []
  const world = makeWorld({ agents: [Echo(ran)], publishes: true, stopAt: point })
  await accepted(world.admit("echo", "a"))
  await accepted(world.admit("echo", "b"))
  await go(world.process())
  const first = await claimed(world)
  void go(acknowledge(world, first.at(-1)?.sequence ?? 0))
  await world.stopped()
  world.crash()
  const rest = await drainPublishing(world)
  const { records } = await go(world.history())
  expect(ran).toEqual(["a", "b"])
  const isLost = point === "publish:before"
  expect([...(isLost ? [] : first), ...rest]).toEqual(records)
  expect(await claimed(world)).toEqual([])
}
