/** What readers of an owner are told while its storage fails. */
import { Effect, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

type Client = ReturnType<typeof makeOwnerWorld>["client"]

const at = { ownerId, threadId: ThreadId.make("a") }

const reads: Record<string, (client: Client) => Effect.Effect<unknown, unknown>> = {
  laneStatus: (client) => client.laneStatus(at),
  recoveryStatus: (client) => client.recoveryStatus(at),
  maintenanceStatus: (client) => client.maintenanceStatus({ ownerId }),
  obligations: (client) => client.obligations({ ownerId }),
  wake: (client) => client.wake(at),
  watch: (client) => Stream.runDrain(client.watch({ ownerId })),
  listThreads: (client) => client.listThreads({ ownerId }),
}

describe("an input while the owner's storage does not tell its size", () => {
  it("is StorageUnavailable, and nothing is written", async () => {
    let fails = false
    const world = makeOwnerWorld({
      storageFault: (use) => {
        if (fails && use === "size") throw new Error("the storage is gone")
      },
    })
    await Effect.runPromise(world.submit("a"))
    await world.quiet()
    const before = world.storage.dump()
    fails = true
    const error = await Effect.runPromise(Effect.flip(world.submit("a")))
    expect(error).toMatchObject({ _tag: "StorageUnavailable", operation: "admit" })
    expect(world.storage.dump()).toBe(before)
    fails = false
    expect(await Effect.runPromise(world.submit("a"))).toMatchObject({ sequence: 2 })
  })
})

describe.each(Object.entries(reads))("%s while the owner's storage fails", (operation, read) => {
  it("is StorageUnavailable, which callers repeat, and no defect", async () => {
    const world = makeOwnerWorld()
    await Effect.runPromise(world.submit("a"))
    await world.quiet()
    if (operation !== "wake") world.storage.sql.run("DROP TABLE lanes")
    world.storage.sql.run("DROP TABLE recovery_faults")
    const error = await Effect.runPromise(Effect.flip(read(world.client)))
    expect(error).toMatchObject({ _tag: "StorageUnavailable", operation })
  })
})
