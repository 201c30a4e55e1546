/** For everybody: by the keyboard alone, on a narrow screen, in the dark; and nobody pays for a page that is not looked at. */
import { describe, expect, it } from "vitest"
import { control, openWorld, tokenFor, until, url } from "./world.ts"

const hide = (hidden: boolean) => `
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${hidden ? "hidden" : "visible"}" })
  document.dispatchEvent(new Event("visibilitychange"))`

describe("by the keyboard alone", () => {
  it("one gets in, goes to a thread, opens a form, leaves it, and is where one was", async () => {
    const { goTo, heddle, main, ownerId, page } = await openWorld()
    await heddle.submit({
      ownerId,
      threadId: "refund-7",
      agent: "refund",
      input: { order: "7", cents: 9_900 },
    })
    await goTo()
    await page.getByRole("textbox", { name: "Token" }).focus()
    await page.keyboard.insertText(await tokenFor())
    await page.keyboard.press("Enter")
    await main.getByRole("heading", { name: ownerId }).waitFor()
    await page.keyboard.press("g")
    await page.keyboard.press("t")
    await main.getByRole("link", { name: /refund-7/ }).focus()
    await page.keyboard.press("Enter")
    const approve = main.getByRole("button", { name: "Approve" })
    await approve.focus()
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog", { name: "Approve what the run asks" })
    await dialog.waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "hidden" })
    expect(await approve.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(
      true,
    )
    await page.goBack()
    await main.getByRole("heading", { name: "Threads" }).waitFor()
    await page.keyboard.press("g")
    await page.keyboard.press("b")
    await main.getByRole("heading", { name: "Obligations" }).waitFor()
    expect(await page.title()).toBe(`Obligations of ${ownerId} · Heddle`)
  })

  it("the first stop leads past what stands on every page", async () => {
    const { goTo, page, main, signIn } = await openWorld()
    await goTo()
    await signIn()
    await main.getByText("Open submissions").waitFor()
    const skip = page.getByRole("link", { name: "To the content" })
    await skip.focus()
    await page.keyboard.press("Enter")
    expect(await main.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(
      true,
    )
  })
})

describe("on a narrow screen", () => {
  it("nothing is wider than the screen, on any page", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld({
      viewport: { width: 360, height: 740 },
    })
    const threadId = `a-thread-with-a-name-that-is-as-long-as-names-are-${"x".repeat(60)}`
    await heddle.submit({
      ownerId,
      threadId,
      agent: "refund",
      title: "T".repeat(200),
      input: { order: "7".repeat(300), cents: 9_900 },
    })
    await goTo()
    await signIn()
    const pages: ReadonlyArray<readonly [string, string]> = [
      ["", "Open submissions"],
      ["threads", threadId],
      [`threads/${threadId}`, "Approval"],
      ["obligations", threadId],
      ["faults", "No thread of this owner has a fault"],
    ]
    for (const [path, shown] of pages) {
      await goTo(path)
      await main.getByText(shown).first().waitFor()
      const beyond = await page.evaluate<number>(
        "Math.max(0, document.documentElement.scrollWidth - innerWidth)",
      )
      expect({ path, beyond }).toEqual({ path, beyond: 0 })
    }
  })
})

describe("colours", () => {
  it("are those of the system, until somebody chooses", async () => {
    const { goTo, page, signIn } = await openWorld()
    await page.emulateMedia({ colorScheme: "dark" })
    await goTo()
    await signIn()
    const paper = () =>
      page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor")
    const dark = await paper()
    const button = page.getByRole("button", { name: /^Colours/ })
    await button.click()
    await page.getByRole("button", { name: "Colours: light" }).waitFor()
    expect(await paper()).not.toBe(dark)
    await button.click()
    await page.getByRole("button", { name: "Colours: dark" }).waitFor()
    expect(await paper()).toBe(dark)
    await page.emulateMedia({ colorScheme: "light" })
    expect(await paper()).toBe(dark)
  })
})

describe("the page of an owner", () => {
  it("shows lanes as they are served, what is in the way, and the passes", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submit({
      ownerId,
      threadId: "refund-7",
      agent: "refund",
      input: { order: "7", cents: 9_900 },
    })
    await goTo()
    await signIn()
    await page.locator('[data-live="Live"]').waitFor()
    const lanes = main.getByRole("list", { name: "Lanes" })
    await lanes.getByRole("link", { name: "refund-7 waits for something outside" }).waitFor()
    for (const threadId of ["a", "b", "c"])
      await heddle.submitAndWait({ ownerId, threadId, agent: "echo", input: null })
    for (const threadId of ["a", "b", "c"])
      await lanes.getByRole("link", { name: `${threadId} owes nothing` }).waitFor()
    await main
      .getByRole("region", { name: "In the way" })
      .getByRole("link", { name: /^approval/ })
      .waitFor()
    const passes = main.getByRole("region", { name: "Last passes" }).getByRole("row")
    await until("passes are told", async () => (await passes.count()) > 1)
    await main.getByRole("region", { name: "In the way" }).getByRole("link").first().click()
    await main.getByText(/^1 obligation$/).waitFor()
  })

  it("tells an owner to which nothing was ever given from one that owes nothing", async () => {
    const { goTo, heddle, main, ownerId, signIn } = await openWorld()
    const never = main.getByText("Nothing was ever given to this owner")
    await goTo()
    await signIn()
    await never.waitFor()
    await heddle.submitAndWait({ ownerId, threadId: "a", agent: "echo", input: null })
    await never.waitFor({ state: "detached" })
  })

  it("has one stream, none while nobody looks, and no call while nothing changes", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submitAndWait({ ownerId, threadId: "a", agent: "echo", input: null })
    await page.clock.install()
    const open = new Set<unknown>()
    let calls = 0
    page.on("request", (request) => {
      if (!request.url().endsWith("/rpc")) return
      calls += 1
      if ((request.postData() ?? "").includes('"watch"')) open.add(request)
    })
    for (const end of ["requestfinished", "requestfailed"] as const)
      page.on(end as "requestfailed", (request) => void open.delete(request))
    /** Whether nothing was asked in that time of the page, and what was on its way is here. */
    const isQuiet = async (millis: number) => {
      const before = calls
      await page.clock.fastForward(millis)
      await new Promise((resolve) => setTimeout(resolve, 300))
      return calls === before
    }
    await goTo()
    await signIn()
    await page.locator('[data-live="Live"]').waitFor()
    await main.getByRole("region", { name: "Last passes" }).getByRole("row").first().waitFor()
    await until("the page is at rest", () => isQuiet(15_000))
    const hasOne = () => Promise.resolve(open.size === 1)
    await until("there is one stream", hasOne)
    // A stream that has just begun: what ends it is that nobody looks, and not its silence.
    await goTo("faults")
    await main.getByText("No thread of this owner has a fault").waitFor()
    await goTo()
    await main.getByText("Open submissions").waitFor()
    await until("there is one stream", hasOne)
    await page.locator('[data-live="Live"]').waitFor()
    await page.evaluate(hide(true))
    await until("what was on its way is here", () => isQuiet(0))
    // The stream still tells of changes then: what they mean is asked by nobody.
    await heddle.submitAndWait({ ownerId, threadId: "b", agent: "echo", input: null })
    expect(await isQuiet(10_000)).toBe(true)
    await page.clock.fastForward(21_000)
    await until("the stream has ended", () => Promise.resolve(open.size === 0))
    expect(await isQuiet(120_000)).toBe(true)
    await page.evaluate(hide(false))
    await until("there is a stream again", hasOne)
    await page.clock.fastForward(100)
    await page.locator('[data-live="Live"]').waitFor()
  })
})

describe("the assets", () => {
  it("are all the page loads, from where it came", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    const hosts = new Set<string>()
    page.on("request", (request) => hosts.add(new URL(request.url()).origin))
    await goTo()
    await signIn()
    await main.getByText("Open submissions").waitFor()
    expect([...hosts]).toEqual([url])
    await control("open", "nothing")
  })
})
