import { describe, it } from "vitest"
import { openNodeStorage } from "../../platform/NodeStorage.ts"
import { storageConformance } from "../conformance/storage.ts"

describe("the storage in Node", () => {
  for (const fact of storageConformance)
    it(fact.title, async () => {
      const storage = openNodeStorage()
      try {
        await fact.check(storage)
      } finally {
        storage.close()
      }
    })
})
