/** Seeds whose clients submit in batches, and abort and retry all at once. */
import { expect, it } from "vitest"
import { inNode } from "./inNode.ts"

it("holds every invariant when what is submitted is sent in batches", async () => {
  const { output } = await inNode("test/simulation/batches.ts", "1", "60")
  const told = JSON.parse(output) as Record<string, unknown>
  expect(told["violations"]).toEqual([])
  expect(told).toMatchObject({ schedules: 60 })
  expect(told["most"]).toBeGreaterThan(10)
})
