/** An operator at the console: gets in, sees what happens, and decides what waits for somebody. */
import { describe, expect, it } from "vitest"
import { command, control, openWorld, tokenFor, until, url, type World } from "./world.ts"

const submit = ({ heddle, ownerId }: World, threadId: string, agent: string, input: unknown) =>
  heddle.submit({ ownerId, threadId, agent, input: input as never })

const kindsOf = async ({ heddle, ownerId }: World, threadId: string) =>
  (await heddle.history({ ownerId, threadId })).records.map(({ kind }) => kind)

const stateOf = async ({ heddle, ownerId }: World, threadId: string, submissionId: string) =>
  (await heddle.status({ ownerId, threadId, submissionId })).state

describe("the door", () => {
  it("lets in with a token, which stands in no address and no storage that outlives the tab", async () => {
    const world = await openWorld()
    const { context, goTo, main, page, signIn } = world
    await submit(world, "order-1", "place-order", { sku: "warp", quantity: 1 })
    await goTo()
    const token = await tokenFor()
    await signIn(token)
    await main.getByRole("heading", { name: world.ownerId }).waitFor()
    const kept = JSON.stringify(await context.storageState())
    expect(kept).not.toContain(token)
    expect(page.url()).not.toContain(token)
    expect(
      await page.evaluate("JSON.stringify({ ...sessionStorage, ...localStorage })"),
    ).not.toContain(token)
    await page.reload()
    await page.getByRole("textbox", { name: "Token" }).waitFor()
  })

  it("keeps a token over a reload where that is asked for, and until one leaves", async () => {
    const { goTo, main, ownerId, page, signIn } = await openWorld()
    await goTo()
    await page.getByLabel("Keep it in this tab").check()
    await signIn()
    await main.getByRole("heading", { name: ownerId }).waitFor()
    await page.reload()
    await main.getByRole("heading", { name: ownerId }).waitFor()
    await page.getByRole("button", { name: "Leave" }).click()
    await page.reload()
    await page.getByRole("textbox", { name: "Token" }).waitFor()
  })

  it("is closed to who has no right, with a way on for who has another token", async () => {
    const world = await openWorld()
    const { goTo, main, ownerId, page, signIn } = world
    await goTo()
    await signIn("none.at.all")
    await page.getByRole("alertdialog").waitFor()
    await signIn(await tokenFor({ owners: ["elsewhere"] }))
    await page.getByRole("alertdialog").waitFor({ state: "hidden" })
    await main.getByText("OperationDenied").first().waitFor()
    expect(await main.getByText("What you can do").count()).toBeGreaterThan(0)
    expect(await main.getByRole("heading", { name: ownerId }).count()).toBe(1)
  })

  it("leads to the owners, and by one's id where they may not be listed", async () => {
    const world = await openWorld()
    const { main, ownerId, page, signIn } = world
    await submit(world, "order-1", "place-order", { sku: "warp", quantity: 1 })
    await until("the registry knows the owner", async () =>
      (await world.heddle.listOwners({})).owners.some((owner) => owner.ownerId === ownerId),
    )
    await page.goto(`${url}/console/`)
    await signIn()
    await main.getByRole("link", { name: ownerId }).click()
    await main.getByRole("heading", { name: ownerId }).waitFor()
    await page.goBack()
    await main.getByLabel("An owner by its id").fill(ownerId)
    await main.getByRole("button", { name: "Open" }).click()
    await main.getByText("Open submissions").waitFor()
  })
})

describe("a run", () => {
  it("is seen live, from its input to its end, on the page of its thread and of its owner", async () => {
    const world = await openWorld()
    const { context, goTo, main, page, signIn } = world
    await goTo("threads/ledger")
    await signIn()
    await main.getByText("Nothing is on record").waitFor()
    await page.locator('[data-live="Live"]').waitFor()
    await submit(world, "ledger", "tally", { gate: world.ownerId })
    await main.getByRole("button", { name: /^Step measure/ }).waitFor()
    await main.getByRole("heading", { name: /running tally/ }).waitFor()
    const overview = await context.newPage()
    await overview.goto(`${url}/console/#/owners/${world.ownerId}`)
    await overview.getByRole("textbox", { name: "Token" }).fill(await tokenFor())
    await overview.getByRole("button", { name: "Open" }).click()
    await overview.getByRole("link", { name: "ledger has an attempt that runs" }).waitFor()
    await overview.getByText("Running turns").waitFor()
    await control("open", world.ownerId)
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    await main.getByRole("heading", { name: /completed/ }).waitFor()
    await overview.getByRole("link", { name: "ledger owes nothing" }).waitFor()
    const step = main.getByRole("button", { name: /^Step work/ })
    await step.click()
    await main.getByLabel("Step work").getByText('"done"').waitFor()
    expect(await step.getAttribute("aria-expanded")).toBe("true")
  })

  it("is aborted on somebody's word, which stays on record", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const { submissionId } = await submit(world, "ledger", "tally", { gate: "never" })
    await goTo("threads/ledger")
    await signIn()
    await main.getByRole("button", { name: "Abort" }).click()
    await page.getByRole("dialog").getByText("This cannot be taken back").waitFor()
    await command(page, "Abort", "nobody needs it")
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    await main.getByRole("heading", { name: /aborted/ }).waitFor()
    const { settlement } = await world.heddle.status({
      ownerId: world.ownerId,
      threadId: "ledger",
      submissionId,
    })
    expect(settlement?.abort).toMatchObject({ author: "ada", reason: "nobody needs it" })
  })

  it("leads to the threads of its children, and back", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const lines = [{ sku: "warp", quantity: 2 }]
    await world.heddle.awaitSettled(await submit(world, "order-1", "order-saga", { lines }))
    await goTo("threads/order-1")
    await signIn()
    await main.getByRole("button", { name: /^Child reserve-0/ }).click()
    await main.getByRole("link", { name: "Its thread" }).click()
    await main.getByRole("heading", { name: "completed reserve-line" }).waitFor()
    await page.goBack()
    await main.getByRole("heading", { name: "completed order-saga" }).waitFor()
  })

  it("goes on to be seen after a reload in the middle of its stream", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    await submit(world, "ledger", "tally", { gate: world.ownerId })
    await goTo("threads/ledger")
    await page.getByLabel("Keep it in this tab").check()
    await signIn()
    await main.getByRole("button", { name: /^Step measure/ }).waitFor()
    await page.reload()
    await main.getByRole("button", { name: /^Step measure/ }).waitFor()
    await control("open", world.ownerId)
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    const names = await main
      .locator(".item")
      .evaluateAll((items) => items.map((item) => item.getAttribute("data-kind")))
    expect(names).toEqual(await kindsOf(world, "ledger"))
  })
})

describe("a thread that was paused", () => {
  it("stands so on the page of its faults, with the way to resume it", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, signIn } = world
    const threadId = "order-1"
    await heddle.submitAndWait({ ownerId, threadId, agent: "echo", input: null })
    await heddle.pauseThread({ ownerId, threadId, author: "bob", reason: "the stock is counted" })
    await goTo(`faults/${threadId}`)
    await signIn()
    await main.getByText("paused", { exact: true }).waitFor()
    await main.getByRole("button", { name: "Resume" }).waitFor()
  })
})

describe("what waits for somebody", () => {
  it("is approved, with what the run asks in view", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const receipt = await submit(world, "refund-7", "refund", { order: "7", cents: 9_900 })
    await goTo("obligations")
    await signIn()
    await main.getByText(/^1 obligation$/).waitFor()
    await main.getByRole("link", { name: "Decide" }).click()
    await main.getByRole("button", { name: "Approve" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Refund 99.00 for order 7?").waitFor()
    await dialog.getByRole("button", { name: "Approve", exact: true }).click()
    await dialog.getByText("Say why").waitFor()
    await command(page, "Approve", "it came back")
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    await main.getByRole("button", { name: "Approve", exact: true }).waitFor({ state: "detached" })
    expect(await page.evaluate("document.activeElement.id")).toBe("main")
    const settled = await world.heddle.awaitSettled(receipt)
    expect(settled.output).toMatchObject({ refunded: true })
    await main.getByRole("button", { name: /^Approval refund/ }).click()
    await main.getByLabel("Decision refund").getByText('"it came back"').waitFor()
  })

  it("is denied, and the run is told so", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const receipt = await submit(world, "refund-7", "refund", { order: "7", cents: 9_900 })
    await goTo("threads/refund-7")
    await signIn()
    await main.getByRole("button", { name: "Deny" }).click()
    await command(page, "Deny", "was delivered")
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    expect((await world.heddle.awaitSettled(receipt)).output).toEqual({
      refunded: false,
      because: "was delivered",
    })
  })

  it("was decided by somebody else, who is named to the one who comes second", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const receipt = await submit(world, "refund-7", "refund", { order: "7", cents: 9_900 })
    await goTo("threads/refund-7")
    await signIn()
    await main.getByRole("button", { name: "Deny" }).click()
    const { submissionId } = receipt
    const said = { author: "ben", reason: "was faster" }
    await until(
      "it is asked",
      async () => (await stateOf(world, "refund-7", submissionId)) === "suspended",
    )
    await heddle.resolveApproval({
      ownerId,
      threadId: "refund-7",
      submissionId,
      name: "refund",
      approved: true,
      ...said,
    })
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Reason").fill("was delivered")
    await dialog.getByRole("button", { name: "Deny", exact: true }).click()
    await dialog.getByText(/ben/).waitFor()
    await dialog.getByText("What you can do").waitFor()
    expect(await dialog.getByLabel("Reason").inputValue()).toBe("was delivered")
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "hidden" })
  })

  it("is a call of unknown outcome, of which somebody says what became of it", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const receipt = await submit(world, "payment-1", "charge", { cents: 4_900 })
    await until(
      "nobody knows",
      async () => (await stateOf(world, "payment-1", receipt.submissionId)) === "unknown",
    )
    await goTo("obligations")
    await signIn()
    await main.getByRole("button", { name: "Resolve" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("Look at the provider").waitFor()
    await dialog.getByLabel("Its result, as JSON").fill("{ paid")
    await dialog.getByLabel("Reason").fill("seen at the provider")
    await dialog.getByRole("button", { name: "Resolve", exact: true }).click()
    await dialog.getByText("The result is no JSON").waitFor()
    await dialog.getByLabel("Its result, as JSON").fill('{ "paid": true }')
    await dialog.getByRole("button", { name: "Resolve", exact: true }).click()
    await dialog.getByText("InvalidInput").waitFor()
    await dialog.getByLabel("Its result, as JSON").fill('{ "transaction": "t-1" }')
    await dialog.getByRole("button", { name: "Resolve", exact: true }).click()
    await dialog.waitFor({ state: "hidden" })
    await page.getByText("Your word is on record").waitFor()
    expect((await world.heddle.awaitSettled(receipt)).output).toEqual({ transaction: "t-1" })
    await main.getByText("Nothing is in anybody's way").waitFor()
  })

  it("is a thread that somebody paused, and somebody resumes", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    await submit(world, "order-1", "place-order", { sku: "warp", quantity: 1 })
    await goTo("threads/order-1")
    await signIn()
    await main.getByRole("button", { name: "Pause" }).click()
    await command(page, "Pause", "the stock is counted")
    await page.getByText("The thread is paused.").waitFor()
    const { submissionId } = await submit(world, "order-1", "place-order", {
      sku: "warp",
      quantity: 2,
    })
    await main.getByText(/the stock is counted/).waitFor()
    expect(await stateOf(world, "order-1", submissionId)).toBe("ready")
    await main.getByRole("button", { name: "Resume" }).click()
    await command(page, "Resume", "the stock is counted")
    await main
      .getByRole("heading", { name: /completed/ })
      .nth(1)
      .waitFor()
  })
})

describe("a thread that cannot be recovered", () => {
  it("shows why and when it is tried again, and is retried once its cause is gone", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const receipt = await submit(world, "sick", "tally", { gate: ownerId })
    await until("it works", async () => (await kindsOf(world, "sick")).includes("StepCompleted"))
    await control("damage", `${ownerId}/sick`)
    await goTo()
    await signIn()
    const fault = main.getByRole("region", { name: "Faults" }).getByRole("link", { name: /sick/ })
    await fault.waitFor()
    expect(await fault.textContent()).toContain("ThreadUnreadable")
    await fault.click()
    await main.getByText("rows or records of the thread do not decode").waitFor()
    await main.getByText(/^in \d+ s$/).waitFor()
    await main.getByRole("button", { name: "Retry now" }).click()
    // Its owner tries it by itself, too, and the page is live: the form is open by then.
    await control("heal", `${ownerId}/sick`)
    await command(page, "Retry now", "it was restored")
    await main.getByText("No fault is recorded now").waitFor()
    await control("open", ownerId)
    expect((await heddle.awaitSettled(receipt)).outcome).toBe("completed")
  })
})
