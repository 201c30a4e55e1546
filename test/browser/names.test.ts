/** Names as long as they may be, and of characters that turn what stands beside them around. */
import { describe, expect, it } from "vitest"
import { control, openWorld, tokenFor, until, url } from "./world.ts"

const longest = "x".repeat(128)

/** By how much the page is wider than the screen. */
const beyond = "Math.max(0, document.documentElement.scrollWidth - innerWidth)"

describe("a name as long as it may be", () => {
  it("of an owner leaves the page as wide as a narrow screen", async () => {
    const { main, page, signIn } = await openWorld({ viewport: { width: 360, height: 800 } })
    await page.goto(`${url}/console/#/owners/${longest}`)
    await signIn()
    await main.getByText("Open submissions").waitFor()
    expect(await page.evaluate(beyond)).toBe(0)
  })

  it("of a thread leaves room for what matters beside it", async () => {
    const { goTo, heddle, main, ownerId, signIn } = await openWorld()
    await heddle.submit({ ownerId, threadId: longest, agent: "tally", input: { gate: ownerId } })
    await until("it works", async () => {
      const { records } = await heddle.history({ ownerId, threadId: longest })
      return records.some(({ kind }) => kind === "StepCompleted")
    })
    await goTo()
    await signIn()
    /** Whether the end of the first row is seen. */
    const isWhole = async (list: ReturnType<typeof main.locator>) => {
      const numbers = list.locator(".row-link .numbers").first()
      await numbers.waitFor()
      const [inner, outer] = [await numbers.boundingBox(), await list.boundingBox()]
      if (inner === null || outer === null) return false
      return inner.x + inner.width <= outer.x + outer.width
    }
    expect(await isWhole(main.getByRole("region", { name: "Running turns" }))).toBe(true)
    await control("damage", `${ownerId}/${longest}`)
    expect(await isWhole(main.getByRole("region", { name: "Faults" }))).toBe(true)
    await goTo("faults")
    expect(await isWhole(main.getByRole("list", { name: "Faults" }))).toBe(true)
  })
})

describe("a name that turns what stands beside it around", () => {
  it("is shown with its marks, of a person, a wait and a record, wherever it stands", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const turning = "pay \u202e 00.1 \u2067"
    const threadId = "order-1"
    await heddle.submit({ ownerId, threadId, agent: "ask", input: { name: turning } })
    await goTo(`threads/${threadId}`)
    await signIn(await tokenFor({ principal: turning }))
    await main.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("dialog").getByText("\\u202e").first().waitFor()
    await page.keyboard.press("Escape")
    const seen = async () =>
      `${await page.locator("body").innerText()} ${await main.locator("[aria-label]").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")).join(" "))}`
    await main.getByRole("button", { name: /^Approval/ }).click()
    await main
      .getByText("It asks")
      .or(main.getByLabel(/^Approval/))
      .first()
      .waitFor()
    const texts = [await seen()]
    await goTo("obligations")
    await main.getByRole("link", { name: "Decide" }).waitFor()
    texts.push(await seen())
    for (const text of texts) {
      expect(text).toContain("\\u202e")
      expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
    }
    expect(await main.locator("bdi").count()).toBeGreaterThan(0)
  })
})
