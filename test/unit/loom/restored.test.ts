/** A thread whose database was taken back without a word: its owner finds out, and loses no work. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { logged } from "../owner/logged.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"
import { echo, waiting } from "./waiting.ts"

const go = Effect.runPromise
const threadId = ThreadId.make("a")

const goneBack = (lines: ReadonlyArray<string>) =>
  lines.filter((line) => line.includes("ERROR") && line.includes("went back"))

const stateOf = (loom: ReturnType<typeof makeLoom>) =>
  go(loom.client.laneStatus({ ownerId, threadId }))

describe("a thread whose database went back", () => {
  it("settles what it accepts from then on; its owner says so once", async () => {
    const lines = await logged(async () => {
      const loom = makeLoom({ agents: [echo] })
      await go(loom.submit("a"))
      await loom.quiet()
      const restore = loom.backup("a")
      for (let index = 0; index < 4; index++) await go(loom.submit("a"))
      await loom.quiet()
      restore()
      const { submissionId, sequence } = await go(loom.submit("a"))
      expect(sequence).toBe(2)
      await loom.quiet()
      expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
      expect(await stateOf(loom)).toMatchObject({ nonterminal: 0, mustVisit: false })
      expect(await stateOf(loom)).not.toHaveProperty("enrolled")
      expect(await go(loom.client.maintenanceStatus({ ownerId }))).toMatchObject({ nonterminal: 0 })
      await go(loom.submit("a"))
      await loom.quiet()
    })
    const told = goneBack(lines)
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('"threadId":"a"')
  })

  it("to a moment with open work has it done, once its owner looks", async () => {
    const held = waiting()
    const loom = makeLoom({ agents: [held.live], losesReports: true, limits: { watchMillis: 5 } })
    const { submissionId } = await go(loom.submit("a"))
    await loom.alarmsUntil("it runs", () => held.bodies() === 1)
    const restore = loom.backup("a")
    held.end()
    await loom.quiet()
    for (let index = 0; index < 2; index++) await go(loom.submit("a"))
    await loom.quiet()
    restore()
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "running" })
    await go(loom.client.wake({ ownerId, threadId }))
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
    expect(await stateOf(loom)).toMatchObject({ nonterminal: 0 })
  })

  it("while it runs is found out by the look at its run", async () => {
    const held = waiting()
    const lines = await logged(async () => {
      const loom = makeLoom({ agents: [held.live], losesReports: true, limits: { watchMillis: 5 } })
      const { submissionId } = await go(loom.submit("a"))
      await loom.until("it is finished", () => loom.lane("a")?.["enrolled"] === null)
      const restore = loom.backup("a")
      for (let index = 0; index < 4; index++) {
        const words = { ownerId, threadId, author: "ann", reason: "audit" }
        await go(loom.client.pauseThread(words))
        await go(loom.client.resumeThread(words))
      }
      await loom.alarmsUntil("it runs", () => held.bodies() === 1)
      await loom.alarmsUntil("its owner knows", () =>
        String(loom.lane("a")?.["report"]).includes("running"),
      )
      restore()
      held.end()
      await loom.quiet()
      expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
      expect(await stateOf(loom)).toMatchObject({ nonterminal: 0 })
    })
    expect(goneBack(lines)).toHaveLength(1)
  })
})

describe("a thread whose words overtake each other", () => {
  it("has not gone back", async () => {
    const lines = await logged(async () => {
      const loom = makeLoom({ agents: [echo] })
      const receipts = await Promise.all(Array.from({ length: 24 }, () => go(loom.submit("a"))))
      await loom.quiet()
      for (const { submissionId } of receipts) {
        expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
      }
    })
    expect(goneBack(lines)).toEqual([])
  })
})
