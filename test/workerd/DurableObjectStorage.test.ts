import { env } from "cloudflare:workers"
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test"
import { describe, expect, it } from "vitest"
import type { ThreadId } from "../../contracts/Identifiers.ts"
import { makeProjectionTables, writeText } from "../../owner-object/ProjectionTables.ts"
import { storageConformance } from "../conformance/storage.ts"
import type { StorageProbe } from "./storage-probe.ts"

const far = 4_000_000_000_000

const open = (name: string) => env.STORAGE_PROBE.get(env.STORAGE_PROBE.idFromName(name))

const within = <A>(name: string, use: (probe: StorageProbe) => A | Promise<A>): Promise<A> =>
  runInDurableObject<StorageProbe, A>(open(name), (probe) => use(probe))

describe("the storage of a Durable Object", () => {
  for (const [index, fact] of storageConformance.entries())
    it(fact.title, () => within(`conformance-${index}`, (probe) => fact.check(probe.host.storage)))

  it("knows the name that the object was made under", async () => {
    expect(await within("owner/thread", (probe) => probe.host.name)).toBe("owner/thread")
  })

  // Made in the batch itself, the index fails the commit of all that is around: "internal error".
  it("commits what is around a batch that is taken back, if its search index was made before", async () => {
    const body = { threadId: "a" as ThreadId, sequence: 0, body: "about refunds" }
    const text = { ...body, submissionId: undefined, outcome: undefined, at: undefined }
    await within("index", async ({ host: { storage } }) => {
      storage.transaction(() => storage.sql.run("CREATE TABLE kept (id INTEGER PRIMARY KEY)"))
      storage.transaction(() => makeProjectionTables(storage.sql))
      const batch = () =>
        storage.transaction(() => {
          writeText(storage.sql, text)
          throw new Error("no room")
        })
      expect(batch).toThrow("no room")
      storage.transaction(() => storage.sql.run("INSERT INTO kept VALUES (1)"))
      await storage.sync()
    })
    const kept = await within("index", ({ host: { storage } }) =>
      storage.sql.all("SELECT id FROM kept"),
    )
    expect(kept).toEqual([{ id: 1 }])
  })

  it("keeps rows and alarm of a committed transaction over a crash", async () => {
    await within("crash", ({ host: { storage } }) => {
      storage.transaction(() => {
        storage.sql.run("CREATE TABLE facts (id INTEGER PRIMARY KEY) STRICT")
        storage.sql.run("INSERT INTO facts VALUES (1)")
        storage.alarm.set(far)
      })
      return storage.sync()
    })
    await abortAllDurableObjects()
    const after = await within("crash", async ({ host: { storage } }) => ({
      rows: storage.sql.all("SELECT id FROM facts"),
      alarmAt: await storage.alarm.get(),
    }))
    expect(after).toEqual({ rows: [{ id: 1 }], alarmAt: far })
  })
})
