/** Where the reader is on the page: by the keyboard and by ear, what changes above or around them leads nobody astray. */
import { describe, expect, it } from "vitest"
import { command, openLine, openWorld, placeIn, tokenFor, type World } from "./world.ts"

const askFor = ({ heddle, ownerId }: World, threadId: string, name = "refund") =>
  heddle.submit({ ownerId, threadId, agent: "ask", input: { name } })

describe("the reader's place", () => {
  it("is in the page after a form whose button has gone meanwhile", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const { submissionId } = await askFor(world, "ask-1")
    await goTo("threads/ask-1")
    await signIn()
    const deny = main.getByRole("button", { name: "Deny" })
    await deny.click()
    const decision = { ownerId, threadId: "ask-1", submissionId, name: "refund", approved: true }
    await heddle.resolveApproval({ ...decision, author: "ben", reason: "was faster" })
    await deny.waitFor({ state: "detached" })
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "hidden" })
    await expect.poll(() => placeIn(page)).toBe("main")
  })

  it("is in the page once one is in, at the token that is asked for, where one was before, and at the door", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    await goTo()
    await page.getByRole("textbox", { name: "Token" }).focus()
    await page.keyboard.insertText("no.token.at-all")
    await page.keyboard.press("Enter")
    const renewal = page.getByRole("alertdialog")
    await renewal.waitFor()
    await expect.poll(() => placeIn(page)).toBe("input")
    await page.keyboard.insertText(await tokenFor({ expiresInSeconds: 3 }))
    await page.keyboard.press("Enter")
    await renewal.waitFor({ state: "hidden" })
    await expect.poll(() => placeIn(page)).toBe("main")
    const one = main.getByRole("button", { name: "5 min" })
    await one.focus()
    await renewal.waitFor()
    await expect.poll(() => placeIn(page)).toBe("input")
    await signIn()
    await renewal.waitFor({ state: "hidden" })
    const isThere = () => one.evaluate((node) => node === node.ownerDocument.activeElement)
    await expect.poll(isThere).toBe(true)
    await page.getByRole("button", { name: "Leave" }).click()
    await page.getByRole("button", { name: "Open" }).waitFor()
    await expect.poll(() => placeIn(page)).toBe("main")
  })

  it("is not drawn away while somebody types", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    await goTo("threads")
    await signIn(await tokenFor({ expiresInSeconds: 3 }))
    const search = main.getByLabel("Title or id contains")
    await search.focus()
    await page.getByRole("alertdialog").waitFor()
    await page.keyboard.insertText("abc")
    expect(await search.inputValue()).toBe("abc")
  })

  it("is kept in a list of obligations as those above are decided: rows stay, and so does the page", async () => {
    const world = await openWorld({ viewport: { width: 1280, height: 500 } })
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const threads = Array.from({ length: 24 }, (_, index) => `order-${10 + index}`)
    for (const threadId of threads) {
      await heddle.submitAndWait({ ownerId, threadId, agent: "echo", input: null })
      await heddle.pauseThread({ ownerId, threadId, author: "bob", reason: "they are counted" })
      await heddle.submit({ ownerId, threadId, agent: "echo", input: null })
    }
    await goTo("obligations")
    await signIn()
    await main.getByText(/^24 obligations$/).waitFor()
    await page.evaluate("scrollTo(0, 500)")
    const row = (threadId: string) => main.locator(".virtual-row", { hasText: threadId })
    await row("order-20").evaluate((node) => node.setAttribute("data-test", "the same"))
    let emptied = false
    await page.exposeFunction("emptied", () => (emptied = true))
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector(".virtual-row") === null) emptied()
    }).observe(document.body, { childList: true, subtree: true })`)
    await row("order-18").getByRole("button", { name: "Resume" }).click()
    await command(page, "Resume")
    await main.getByText(/^23 obligations$/).waitFor()
    expect(await row("order-20").getAttribute("data-test")).toBe("the same")
    expect(emptied).toBe(false)
    expect(await page.evaluate("scrollY")).toBe(500)
  })
})

describe("a change of how fresh the page is", () => {
  it("is heard once: what counts down beside it, and the way to have it at once, are apart", async () => {
    const line = await openLine()
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld({ at: line.url })
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    await goTo("faults")
    await signIn()
    const badge = main.locator("[data-live]")
    await page.locator('[data-live="Live"]').waitFor()
    expect(await badge.getByRole("button").count()).toBe(0)
    line.cut()
    await page.locator('[data-live="Waiting"]').waitFor()
    await expect.poll(() => badge.getByRole("status").textContent()).toBe("Lost")
    await badge.getByText(/again in \d+ s/).waitFor()
    line.mend()
    await badge.getByRole("button", { name: "now" }).click()
    await page.locator('[data-live="Live"]').waitFor()
  })
})
