/** What the page of an owner says of what it does not list. */
import { expect, it } from "vitest"
import { openWorld } from "./world.ts"

const fault = (threadId: string) => ({
  threadId,
  failure: { operation: "recover", phase: "load", reason: "defect", tag: "Ill", message: "" },
  firstFailedAt: 1,
  lastFailedAt: 2,
  retryAt: 3,
  attempts: 1,
})

const lane = (threadId: string) => ({
  threadId,
  known: true,
  mustVisit: false,
  suspect: false,
  paused: false,
  running: false,
  nonterminal: 1,
  unchangedTurns: 0,
  fault: fault(threadId),
})

it("that more runs and is at fault than is listed is said, with the way to all of it", async () => {
  const { goTo, main, page, signIn } = await openWorld()
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `order-${index}`)
  const rest = { nonterminal: 1, parked: 0, paused: false, tailSequence: 1, state: "running" }
  await page.route("**/rpc", async (route) => {
    const [line = "{}"] = (route.request().postData() ?? "").split("\n")
    const { id, payload, tag } = JSON.parse(line) as {
      readonly id: string
      readonly tag: string
      readonly payload: { readonly state?: string }
    }
    const answer = (...frames: ReadonlyArray<object>) =>
      route.fulfill({
        contentType: "application/x-ndjson",
        body: frames.map((frame) => `${JSON.stringify({ requestId: id, ...frame })}\n`).join(""),
      })
    if (tag === "listThreads" && payload.state === "running") {
      const threads = ids(50).map((threadId) => ({ threadId, ...rest }))
      return answer({ _tag: "Exit", exit: { _tag: "Success", value: { threads } } })
    }
    if (tag === "watch") {
      const told = ids(256).map((threadId) => ({ _tag: "Lane", lane: lane(threadId) }))
      const values = [{ _tag: "Opened", faultedLanes: 300 }, ...told]
      return answer({ _tag: "Chunk", values })
    }
    return route.continue()
  })
  await goTo()
  await signIn()
  for (const [panel, rows] of [
    ["Running turns", 50],
    ["Faults", 256],
  ] as const) {
    const region = main.getByRole("region", { name: panel })
    await region.getByRole("link", { name: "There may be more" }).waitFor()
    expect(await region.getByRole("listitem").count()).toBe(rows)
  }
  await main
    .getByRole("region", { name: "Faults" })
    .getByRole("link", { name: /may be/ })
    .click()
  await main.getByRole("heading", { name: "Faults" }).waitFor()
})
