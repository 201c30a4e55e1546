/** A thread that was condemned without the word to abort, and turns out to owe work, stays: somebody is told. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { logged } from "./logged.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
const threadId = ThreadId.make("a")
const words = { ownerId, threadId, author: "ann", reason: "asked to" }

const stays = (lines: ReadonlyArray<string>) => lines.filter((line) => line.includes("so it stays"))

describe("a thread that was condemned and owes work", () => {
  it("is told in the log as staying, when whoever asked was told that it is condemned", async () => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld({ limits: { forgetWaitMillis: 5, bindingWaitMillis: 60_000 } })
      const thread = world.thread("a")
      thread.turn = "binding"
      thread.forgetting = "hang"
      await go(world.submit("a"))
      const told = await go(world.client.forgetThread(words))
      expect(told).toEqual({ _tag: "Condemned" })
      thread.forgetting = "answer"
      await world.alarmsUntil(
        "the mark is gone",
        () => !String(world.lane("a")?.["marks"]).includes("condemned"),
      )
      const lane = await go(world.client.laneStatus({ ownerId, threadId }))
      expect(lane).not.toHaveProperty("condemned")
      thread.turn = "settle"
      await go(world.submit("a"))
    })
    expect(stays(lines)).toHaveLength(1)
    expect(stays(lines)[0]).toContain("WARN")
    expect(stays(lines)[0]).toContain('"threadId":"a"')
  })

  it("is not told there to somebody who still waits, and gets the refusal", async () => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld({ limits: { forgetWaitMillis: 60_000 } })
      world.thread("a").turn = "binding"
      await go(world.submit("a"))
      const asking = go(Effect.flip(world.client.forgetThread(words)))
      let answered = false
      void asking.then(() => (answered = true))
      await world.alarmsUntil("it is answered", () => answered)
      expect(await asking).toMatchObject({ _tag: "WorkOwed" })
    })
    expect(stays(lines)).toEqual([])
  })
})
