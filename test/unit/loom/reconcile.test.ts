/** An owner that was lost is rebuilt from its threads' ids. */
import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"
import { echo, waiting } from "./waiting.ts"

const go = Effect.runPromise

/** Everything the owner knew is gone, and its alarm with it. */
const loseOwner = (loom: ReturnType<typeof makeLoom>): void => {
  loom.storage.transaction(() => {
    for (const table of ["lanes", "maintenance", "recovery_faults", "schema_version"]) {
      loom.storage.sql.run(`DROP TABLE ${table}`)
    }
  })
  loom.storage.alarm.delete()
  loom.crash()
}

const names = ["a", "b", "c"]
const threadIds = names.map((name) => ThreadId.make(name))

describe("reconcile", () => {
  it("brings accepted work of a lost owner to its settlement, once and in order", async () => {
    const held = waiting()
    const loom = makeLoom({ agents: [held.live], losesReports: true })
    const receipts = []
    for (const name of names) {
      for (let index = 0; index < 3; index++) {
        receipts.push({ name, ...(await go(loom.submit(name))) })
      }
    }
    await loom.alarmsUntil("all three run", () => held.bodies() === 3)
    loseOwner(loom)
    held.end()
    expect(await go(loom.client.reconcile({ ownerId, threadIds }))).toEqual({ enrolled: 3 })
    await loom.quiet()
    for (const { name, submissionId } of receipts) {
      expect(await loom.status(name, submissionId)).toMatchObject({ state: "settled" })
    }
    for (const name of names) {
      const kinds = await loom.kinds(name)
      expect(kinds.filter((kind) => kind === "Settled")).toHaveLength(3)
    }
    expect(await go(loom.client.maintenanceStatus({ ownerId }))).toMatchObject({
      lanes: 3,
      nonterminal: 0,
    })
  })

  it("lets no request land that a lost owner had sent", async () => {
    let land: () => void = () => undefined
    const landed = new Promise<void>((resolve) => (land = resolve))
    let sent = false
    const loom = makeLoom({
      agents: [echo],
      hooks: {
        request: async (message): Promise<Fate> => {
          if (!sent && message._tag === "Request" && message.tag === "admit") {
            sent = true
            await landed
          }
          return "deliver"
        },
      },
    })
    const dead = Effect.runFork(loom.submit("a", "k"))
    await loom.until("the request is on its way", () => sent)
    loseOwner(loom)
    await go(loom.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await loom.quiet()
    land()
    await go(Fiber.await(dead))
    expect(await loom.kinds("a")).toEqual([])
    expect(await go(loom.submit("a", "k"))).toMatchObject({ sequence: 1, duplicate: false })
  })

  it("takes each thread once, and learns of those that hold nothing, too", async () => {
    const loom = makeLoom({ agents: [echo] })
    await go(loom.submit("a"))
    await loom.quiet()
    const again = [ThreadId.make("a"), ThreadId.make("a"), ThreadId.make("empty")]
    expect(await go(loom.client.reconcile({ ownerId, threadIds: again }))).toEqual({ enrolled: 2 })
    await loom.quiet()
    const { threads } = await go(loom.client.listThreads({ ownerId }))
    expect(threads.map(({ threadId, nonterminal }) => [threadId, nonterminal])).toEqual([
      ["a", 0],
      ["empty", 0],
    ])
  })

  it("refuses no thread, or more than a thousand", async () => {
    const loom = makeLoom({ agents: [echo] })
    const many = Array.from({ length: 1_001 }, (_, index) => ThreadId.make(`t-${index}`))
    for (const wrong of [[], many]) {
      const refused = await go(Effect.flip(loom.client.reconcile({ ownerId, threadIds: wrong })))
      expect(refused).toMatchObject({ _tag: "InvalidInput" })
    }
  })

  it("keeps a mutation under way that reports what it did from being lost", async () => {
    const loom = makeLoom({ agents: [echo] })
    const [receipt] = await Promise.all([
      go(loom.submit("a")),
      go(loom.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] })),
    ])
    await loom.quiet()
    expect(await loom.status("a", receipt.submissionId)).toMatchObject({ state: "settled" })
  })
})
