/** What an owner's log says of something thrown: its name and place, and nothing of its message, its stack or SQL. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { consoleLines } from "../consoleLines.ts"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const secret = "4111-secret"
const broken = () => new Error(`SELECT ${secret} FROM cards\n    at ${secret} (${secret}.ts:1:1)`)

const lines = consoleLines()

const expectTold = (words: RegExp) => {
  expect(lines.filter((line) => words.test(line))).not.toEqual([])
  for (const line of lines) {
    expect(line).not.toContain(secret)
    expect(line).not.toMatch(/SELECT|\n\s+at |node_modules/)
  }
}

describe("an owner whose storage fails", () => {
  it("logs what was thrown by name and place, for a block and for a read", async () => {
    const at = { ownerId, threadId: ThreadId.make("a") }
    const world = makeOwnerWorld()
    await Effect.runPromise(world.submit("a"))
    await world.quiet()
    const storage = world.storage as {
      transaction: unknown
      readonly sql: { all: unknown }
    }
    const { transaction } = storage
    storage.transaction = () => {
      throw broken()
    }
    await Effect.runPromise(Effect.exit(world.submit("a")))
    expectTold(/storage failed in \w+: Error at .*logs\.test\.ts:\d+/)
    storage.transaction = transaction
    lines.length = 0
    const { all } = storage.sql
    storage.sql.all = () => {
      throw broken()
    }
    await Effect.runPromise(Effect.exit(world.client.laneStatus(at)))
    expectTold(/(storage failed in laneStatus|the owner could not start): /)
    storage.sql.all = all
  })
})
