/** The order of several lines: what was reserved is given back, each line for itself. */
import { expect, it, vi } from "vitest"
import { GiveBackLive, Order, OrderLive, ReserveLineLive } from "../../../examples/04-order-saga.ts"
import { TestDeployment } from "../../../testing/index.ts"

// The package root joins the objects too, whose classes the platform brings.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object, WorkerEntrypoint: Object }))

const place = async (lines: ReadonlyArray<{ readonly sku: string; readonly quantity: number }>) => {
  const heddle = TestDeployment.make({ agents: [OrderLive, ReserveLineLive, GiveBackLive] })
  const receipt = await heddle.submit({ agent: Order, input: { lines }, threadId: "order" })
  return heddle.settled(receipt)
}

it("an order whose lines can all be had has a reservation for each, also two of the same goods", async () => {
  const settlement = await place([
    { sku: "warp", quantity: 2 },
    { sku: "warp", quantity: 3 },
  ])
  expect(settlement.outcome).toBe("completed")
  const { reservations } = settlement.output as { reservations: ReadonlyArray<string> }
  expect(new Set(reservations).size).toBe(2)
})

it("an order that lacks a line gives all others back, also two of the same goods", async () => {
  const settlement = await place([
    { sku: "warp", quantity: 2 },
    { sku: "weft", quantity: 200 },
    { sku: "warp", quantity: 3 },
  ])
  expect(settlement).toMatchObject({
    outcome: "failed",
    failure: { tag: "NotReserved", error: { skus: ["weft"] } },
  })
  const error = settlement.failure?.error as { givenBack: ReadonlyArray<string> } | undefined
  const givenBack = error?.givenBack ?? []
  expect(givenBack.map((reservation) => reservation.split("-")[0])).toEqual(["warp", "warp"])
  expect(new Set(givenBack).size).toBe(2)
})
