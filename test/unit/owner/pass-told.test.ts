/** What an operator can read of passes that did not go well. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { logged } from "./logged.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise

describe("a pass that failed", () => {
  it("is the last pass until another has ended", async () => {
    let failing = false
    let commits = 0
    const world = makeOwnerWorld({
      storageFault: (use) => {
        // The second commit of the pass fails, and what comes after it succeeds.
        if (failing && use === "commit" && ++commits === 2) throw new Error("disk I/O error")
      },
    })
    const lastPass = async () => (await run(world.client.maintenanceStatus({ ownerId }))).lastPass
    await run(world.submit("a"))
    await world.until("it is finished", () => world.lane("a")?.["enrolled"] === null)
    failing = true
    world.storage.alarm.delete()
    await world.runtime().alarm()
    expect(await lastPass()).toMatchObject({ endedBy: "failure", alarm: "rearmed" })
    expect(world.storage.alarmAt()).not.toBeNull()
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
    expect(await lastPass()).toMatchObject({ endedBy: "quiescent" })
  })
})

describe("a pass after three that did not finish", () => {
  const told = async (unfinished: number) => {
    const lines = await logged(async () => {
      const world = makeOwnerWorld()
      for (const name of ["a", "b"]) await run(world.submit(name))
      await world.until("both are finished", () =>
        ["a", "b"].every((name) => world.lane(name)?.["enrolled"] === null),
      )
      world.storage.sql.run("UPDATE maintenance SET unfinished = ?", unfinished)
      world.crash()
      await world.quiet()
      expect([world.thread("a").settled, world.thread("b").settled]).toEqual([[1], [1]])
    })
    return lines.filter((line) => line.includes("did not finish"))
  }

  it("says before each call which thread is called", async () => {
    const lines = await told(3)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain("dispatch")
    expect(lines[0]).toContain('"threadId":"a"')
    expect(lines[1]).toContain('"threadId":"b"')
  })

  it("is the first that says so", async () => {
    expect(await told(2)).toEqual([])
  })
})
