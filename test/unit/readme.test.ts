import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { PlaceOrderLive } from "../../examples/00-order.ts"
import { CheckoutLive } from "../../examples/08-checkout.ts"
import { accepted, drain, go, makeWorld } from "./thread/harness.ts"

// The package root joins the objects too, whose classes the platform brings.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object, WorkerEntrypoint: Object }))

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../..", path), "utf8")

/** The code of a file as a user of the package would write it. */
const asUsersWrite = (path: string): string =>
  read(path)
    .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
    .replaceAll('"../heddle.ts"', '"heddle"')
    .replaceAll('"../client/index.ts"', '"heddle/client"')
    .trim()

describe("the README", () => {
  const readme = read("README.md")

  it("shows the agents, the Worker and the caller that the examples are", () => {
    expect(readme).toContain(asUsersWrite("examples/00-order.ts"))
    expect(readme).toContain(asUsersWrite("examples/worker.ts"))
    expect(readme).toContain(asUsersWrite("examples/02-approval.ts"))
    expect(readme).toContain(asUsersWrite("examples/09-caller.ts"))
    expect(readme).toContain(asUsersWrite("examples/08-checkout.ts"))
  })

  it("names the lines of wrangler.toml that this repository deploys with", () => {
    const shown = /```toml\n(compatibility_date[\s\S]*?)```/.exec(readme)?.[1] ?? ""
    const real = read("wrangler.toml").split("\n")
    const lines = shown.split("\n").filter((line) => line !== "")
    expect(lines.length).toBeGreaterThan(8)
    for (const line of lines) expect(real).toContain(line)
  })

  it("names only files that exist", () => {
    const files = [...readme.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|toml))`/g)]
    expect(files.length).toBeGreaterThan(20)
    for (const [, path] of files) expect(() => read(path ?? "")).not.toThrow()
  })

  it("shows an agent that settles with its state kept between orders", async () => {
    const order = { sku: "warp", quantity: 2 }
    const world = makeWorld({ agents: [PlaceOrderLive] })
    const first = await accepted(world.admit("place-order", order))
    const second = await accepted(world.admit("place-order", order))
    await drain(world)
    for (const [receipt, ordersSoFar] of [
      [first, 1],
      [second, 2],
    ] as const) {
      const { settlement } = await go(world.status(receipt.submissionId))
      expect(settlement).toMatchObject({
        outcome: "completed",
        output: { reservation: "2 × warp", ordersSoFar },
      })
    }
  })

  it("shows an agent that pays once, over a crash in the middle of the payment", async () => {
    const world = makeWorld({ agents: [CheckoutLive], stopAt: "settleTool:before" })
    const { submissionId } = await accepted(world.admit("checkout", { order: "7", cents: 100 }))
    void go(world.process())
    await world.stopped()
    world.crash()
    world.time.now += 55_000
    await drain(world)
    const { records } = await go(world.history())
    const settled = records.find(({ kind }) => kind === "ToolSettled")
    expect(records.filter(({ kind }) => kind === "ToolPrepared").length).toBe(1)
    expect(settled?.payload).toMatchObject({ by: { author: "reconciler" } })
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      outcome: "completed",
      output: { transaction: expect.stringMatching(/^t-/) },
    })
  })

  it("shows an agent whose refused payment is an outcome like any other", async () => {
    const world = makeWorld({ agents: [CheckoutLive] })
    const { submissionId } = await accepted(world.admit("checkout", { order: "8", cents: 200_000 }))
    await drain(world)
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      outcome: "failed",
      failure: { tag: "Declined", error: { code: "limit" } },
    })
  })
})
