/** Commands for many through the owner into real threads. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { AbortManyReply, BulkCursor } from "../../../contracts/Bulk.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import type { WireMessage } from "../../../contracts/transport/Wire.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise

/** Every run of this agent goes on until it is ended. */
const make = () => {
  const started: Array<number> = []
  const agent = Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler((_, run) =>
    Effect.suspend(() => {
      started.push(run.info.sequence)
      return Effect.never
    }),
  )
  // A call takes longer than a turn: what a thread may begin between two of them, it begins.
  const request = (message: WireMessage) =>
    message._tag === "Request" && message.tag === "requestAbort"
      ? new Promise<Fate>((resolve) => setTimeout(() => resolve("deliver"), 10))
      : "deliver"
  const loom = makeLoom({ agents: [agent], limits: { abortGraceMillis: 30 }, hooks: { request } })
  return { loom, started }
}

const all = { ownerId, filter: {}, author: "ann", reason: "enough", dryRun: false }

/** Every page, one after the other. */
const abortAll = async ({ client }: ReturnType<typeof makeLoom>, limit: number) => {
  const results: Array<AbortManyReply["results"][number]> = []
  let next: BulkCursor | undefined
  do {
    const after = next === undefined ? {} : { after: next }
    const page: AbortManyReply = await go(client.abortMany({ ...all, limit, ...after }))
    results.push(...page.results)
    next = page.next
  } while (next !== undefined)
  return results
}

describe("an abort of all that a thread has open", () => {
  it("starts nothing that was waiting behind the run that it ends, in pages", async () => {
    const { loom, started } = make()
    for (let nth = 0; nth < 20; nth++) await go(loom.submit("a"))
    await loom.alarmsUntil("the first runs", () => started.length === 1)
    let ended = false
    const aborting = abortAll(loom, 7).finally(() => (ended = true))
    await loom.alarmsUntil("all are aborted", () => ended)
    const results = await aborting
    expect(results.map(({ effect, sequence }) => `${sequence} ${effect._tag}`)).toEqual(
      Array.from({ length: 20 }, (_, index) => `${20 - index} Done`),
    )
    await loom.quiet()
    expect(started).toEqual([1])
  })
})
