/** What somebody is asked before they decide, and about what; and that nothing of one reader is left to another. */
import { describe, expect, it } from "vitest"
import { control, openWorld, tokenFor, until, type World } from "./world.ts"

const threadId = "order-1"

const askFor = ({ heddle, ownerId }: World, name = "refund") =>
  heddle.submit({ ownerId, threadId, agent: "ask", input: { name } })

describe("a form", () => {
  it("names the owner whose thread it is about, and goes with its page", async () => {
    const world = await openWorld()
    const { goTo, main, ownerId, page, signIn } = world
    await askFor(world)
    await goTo("threads")
    await signIn()
    await main.getByRole("link", { name: /order-1/ }).click()
    await main.getByRole("button", { name: "Abort" }).click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.locator(".about").textContent()).toContain(`${ownerId} · ${threadId}`)
    await page.goBack()
    await dialog.waitFor({ state: "hidden" })
    await main.getByRole("heading", { name: "Threads" }).waitFor()
  })

  it("tells why the thread was paused, to who resumes it", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    await askFor(world)
    const said = { author: "bob", reason: "the stock is counted" }
    await heddle.pauseThread({ ownerId, threadId, ...said })
    for (const section of ["threads", "faults"]) {
      await goTo(`${section}/${threadId}`)
      if (section === "threads") await signIn()
      await main.getByText(said.reason).first().waitFor()
      await main.getByRole("button", { name: "Resume" }).click()
      await page.getByRole("dialog").getByText(said.reason).waitFor()
      await page.keyboard.press("Escape")
    }
  })

  it("is opened for a decision only where what the run asks can be read", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const { submissionId } = await askFor(world)
    await goTo(`faults/${threadId}`)
    await signIn()
    const way = main.getByRole("link", { name: "What it asks" })
    await way.waitFor()
    expect(await main.getByRole("button", { name: "Approve" }).count()).toBe(0)
    await way.click()
    await main.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("dialog").getByText("May it?").waitFor()
    expect(page.url()).toContain(`submission=${submissionId}`)
  })
})

describe("a text that is typed", () => {
  it("is not taken back by what the page did of it meanwhile", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    await goTo("threads")
    await signIn()
    const field = main.getByLabel("Title or id contains")
    await field.fill("abc")
    // In the very moment in which the address has followed, and the page has not yet.
    const typed = await field.evaluate(
      (input, [from, to]) =>
        new Promise((resolve) => {
          const { history } = input.ownerDocument.defaultView as unknown as {
            readonly history: { replaceState: (...given: ReadonlyArray<unknown>) => void }
          }
          const replace = history.replaceState.bind(history)
          const own = input as unknown as { value: string; dispatchEvent: (it: Event) => void }
          history.replaceState = (...given) => {
            replace(...given)
            if (own.value !== from) return
            own.value = to
            own.dispatchEvent(new Event("input", { bubbles: true }))
            setTimeout(() => resolve(own.value), 100)
          }
        }),
      ["abc", "abcd"] as const,
    )
    expect(typed).toBe("abcd")
    await expect.poll(() => page.url()).toContain("text=abcd")
  })
})

describe("the page of a thread", () => {
  it("writes out what is recorded once, and not with every second", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const input = { letter: "x".repeat(2_000) }
    await heddle.submitAndWait({ ownerId, threadId, agent: "echo", input })
    await askFor({ heddle, ownerId } as World)
    await page.clock.install()
    await goTo(`threads/${threadId}`)
    await signIn()
    const since = main.locator(".item", { hasText: "Approval" }).locator(".numbers").first()
    await since.waitFor()
    await page.locator('[data-live="Live"]').waitFor()
    await page.evaluate(`{
      const write = JSON.stringify
      globalThis.written = 0
      JSON.stringify = (...given) => {
        const text = write(...given)
        if (typeof text === "string" && text.includes("xxxx")) written += 1
        return text
      }
    }`)
    const before = await since.textContent()
    await page.clock.fastForward(5_000)
    await until("time goes on", async () => (await since.textContent()) !== before)
    expect(await page.evaluate("written")).toBe(0)
  })
})

describe("the token of another reader", () => {
  it("is shown nothing that the one before was shown", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submitAndWait({ ownerId, threadId, agent: "echo", input: "a secret" })
    await goTo(`threads/${threadId}`)
    await signIn(await tokenFor({ owners: [ownerId], expiresInSeconds: 4 }))
    const secret = main.getByText(/a secret/).first()
    await secret.waitFor()
    await page.getByRole("alertdialog").waitFor()
    expect(await secret.isVisible()).toBe(true)
    await signIn(await tokenFor({ principal: "eve", owners: ["elsewhere"] }))
    await main.getByText("OperationDenied").first().waitFor()
    expect(await secret.count()).toBe(0)
    await control("open", "nothing")
  })
})
