/** What goes wrong at the console: tokens that end, deployments that go away, and what strangers have written. */
import { describe, expect, it } from "vitest"
import { command, control, openLine, openWorld, tokenFor, until, url, type World } from "./world.ts"

const hostile = `</script><script>window.hurt = 1</script><img src=x onerror="window.hurt = 1"><svg onload="window.hurt = 1">`

describe("a token that ends", () => {
  it("stops the page where it is; with another one it goes on from there, each record once", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const threadId = "ledger"
    await heddle.submit({ ownerId, threadId, agent: "tally", input: { gate: ownerId } })
    await goTo(`threads/${threadId}`)
    let asked = 0
    page.on("request", (request) => {
      if (request.url().endsWith("/rpc")) asked += 1
    })
    await signIn(await tokenFor({ expiresInSeconds: 3 }))
    await main.getByRole("button", { name: /^Step measure/ }).waitFor()
    await page.getByRole("alertdialog").getByText("The token has expired").waitFor()
    await page.locator('[data-live="Expired"]').waitFor()
    expect(await main.getByRole("button", { name: /^Step measure/ }).count()).toBe(1)
    const before = asked
    expect(before).toBeLessThan(40)
    await control("open", ownerId)
    await signIn()
    await page.getByRole("alertdialog").waitFor({ state: "hidden" })
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    const kinds = await main
      .locator(".item")
      .evaluateAll((items) => items.map((item) => item.getAttribute("data-kind")))
    const { records } = await heddle.history({ ownerId, threadId })
    expect(kinds).toEqual(records.map(({ kind }) => kind))
  })

  it("leaves a form as it was, and takes it with the next one", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    await goTo("threads/order-1")
    await signIn("no.token.any-more")
    await page.getByRole("alertdialog").waitFor()
    await main.getByRole("button", { name: "Pause" }).click()
    const dialog = page.getByRole("dialog", { name: "Pause the thread" })
    await dialog.getByLabel("Your name").fill("ann")
    await dialog.getByLabel("Reason").fill("the stock is counted")
    await dialog.getByRole("button", { name: "Pause", exact: true }).click()
    await dialog.getByText("Unauthenticated").waitFor()
    await dialog.getByRole("textbox", { name: "Token" }).fill(await tokenFor())
    await dialog.getByRole("button", { name: "Go on" }).click()
    await dialog.getByRole("button", { name: "Pause", exact: true }).click()
    await page.getByText("The thread is paused.").waitFor()
  })
})

describe("a token of somebody else", () => {
  it("has what is done stand under their own name, and keeps the name that was typed for its own", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    await goTo("threads/order-1")
    await signIn(await tokenFor({ principal: "ada" }))
    await main.getByRole("button", { name: "Pause" }).click()
    const name = page.getByRole("dialog").getByLabel("Your name")
    await expect.poll(() => name.inputValue()).toBe("ada")
    await name.fill("Ada L.")
    await command(page, "Pause")
    for (const [principal, shown] of [
      ["bob", "bob"],
      ["ada", "Ada L."],
    ] as const) {
      await page.reload()
      await signIn(await tokenFor({ principal }))
      await main.getByRole("button", { name: "Resume" }).click()
      await expect.poll(() => name.inputValue()).toBe(shown)
    }
  })
})

describe("a token without the right to look", () => {
  it("is not told that all is well", async () => {
    const { goTo, heddle, main, ownerId, signIn } = await openWorld()
    await heddle.submit({
      ownerId,
      threadId: "refund-7",
      agent: "refund",
      input: { order: "7", cents: 9_900 },
    })
    await goTo()
    await signIn(await tokenFor({ operations: ["maintenanceStatus", "obligations"] }))
    await main.getByText("Open submissions").waitFor()
    await main.locator('[data-live="Refused"]').waitFor()
    expect(await main.getByText(/No lane owes anything|can be recovered/).count()).toBe(0)
    expect(await main.getByText("Not known").count()).toBe(2)
  })
})

describe("a form that was left while it was sent", () => {
  it("has its answer told all the same, be it a refusal, and leaves another form alone", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const threadId = "order-1"
    await heddle.submit({ ownerId, threadId, agent: "tally", input: { gate: "never" } })
    await goTo(`threads/${threadId}`)
    await signIn()
    let goOn = (): void => undefined
    const held = new Promise<void>((resolve) => (goOn = resolve))
    await page.route("**/rpc", async (route) => {
      if ((route.request().postData() ?? "").includes('"pauseThread"')) await held
      await route.continue()
    })
    await main.getByRole("button", { name: "Pause" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Reason").fill("the stock is counted")
    await dialog.getByRole("button", { name: "Pause", exact: true }).click()
    await page.keyboard.press("Escape")
    await main.getByRole("button", { name: "Abort" }).click()
    await dialog.getByLabel("Reason").fill("nobody needs it")
    goOn()
    await page.getByText("The thread is paused.").waitFor({ state: "attached" })
    expect(await dialog.getByLabel("Reason").inputValue()).toBe("nobody needs it")
    await page.unroute("**/rpc")
    await page.keyboard.press("Escape")
    await page.route("**/rpc", async (route) => {
      if (!(route.request().postData() ?? "").includes('"resumeThread"')) return route.continue()
      await page.keyboard.press("Escape")
      await dialog.waitFor({ state: "hidden" })
      return route.continue({ headers: { ...route.request().headers(), authorization: "" } })
    })
    await main.getByRole("button", { name: "Resume" }).click()
    await dialog.getByLabel("Reason").fill("they are counted")
    await dialog.getByRole("button", { name: "Resume", exact: true }).click()
    const failure = page.getByRole("alert").getByText("Resume, order-1: it was not done.")
    await failure.waitFor()
    // Whoever has begun with something else is told there, and for as long as it takes.
    await page.unroute("**/rpc")
    await main.getByRole("button", { name: "Abort" }).click()
    await dialog.getByText("Resume, order-1: it was not done.").waitFor()
    await dialog.getByRole("button", { name: "Noted" }).click()
    await failure.waitFor({ state: "detached" })
  })
})

describe("a stream that ends by itself", () => {
  it("is rested from, and not opened again and again", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    let opened = 0
    await page.route("**/rpc", async (route) => {
      const [line = ""] = (route.request().postData() ?? "").split("\n")
      if (!line.includes('"observe"')) return route.continue()
      opened += 1
      const { id } = JSON.parse(line) as { readonly id: string }
      const exit = { _tag: "Exit", requestId: id, exit: { _tag: "Success", value: null } }
      return route.fulfill({
        contentType: "application/x-ndjson",
        body: `${JSON.stringify(exit)}\n`,
      })
    })
    await goTo("threads/order-1")
    await signIn()
    await main.locator('[data-live="Resting"]').waitFor()
    expect(opened).toBe(1)
  })
})

/** Refuses a call of this operation in the deployment's place, the one that is counted so. */
const refusing = async (page: World["page"], operation: string, which: number): Promise<void> => {
  let asked = 0
  await page.route("**/rpc", (route) => {
    const [line = "{}"] = (route.request().postData() ?? "").split("\n")
    const { id, tag } = JSON.parse(line) as { readonly id: string; readonly tag: string }
    if (tag === operation) asked += 1
    if (tag !== operation || asked !== which) return route.continue()
    const error = { _tag: "Unavailable", retryable: true, overloaded: true, reason: "too much" }
    const exit = { _tag: "Failure", cause: [{ _tag: "Fail", error }] }
    const answer = JSON.stringify({ _tag: "Exit", requestId: id, exit })
    return route.fulfill({ contentType: "application/x-ndjson", body: `${answer}\n` })
  })
}

describe("what failed once", () => {
  it("is a list that is read when it is tried again, and forgets what it failed with", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const input = { order: "7", cents: 9_900 }
    await heddle.submit({ ownerId, threadId: "refund-7", agent: "refund", input })
    await refusing(page, "obligations", 2)
    await goTo("obligations")
    await signIn()
    await main.getByText(/^1 obligation$/).waitFor()
    await main.getByText("too much").waitFor()
    await main.getByRole("button", { name: "Try again" }).click()
    await main.getByText("too much").waitFor({ state: "detached" })
    await main.getByText(/^1 obligation$/).waitFor()
  })

  it("is an old submission, which is found when its thread's older records are tried again", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const threadId = "long"
    const one = { threadId, agent: "echo", input: null }
    const { submissionId } = await heddle.submit({ ownerId, ...one })
    await heddle.submitMany({ ownerId, submissions: Array.from({ length: 100 }, () => one) })
    await until(
      "all have settled",
      async () => (await heddle.maintenanceStatus({ ownerId })).nonterminal === 0,
    )
    await refusing(page, "history", 2)
    await goTo(`threads/${threadId}?submission=${submissionId}`)
    await signIn()
    await main.getByText("too much").waitFor()
    await main.getByRole("button", { name: "Try again" }).click()
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    expect(await main.getByText("too much").count()).toBe(0)
  })

  it("is a thread that could not be read, which goes on where it was once it is repaired", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const place = { ownerId, threadId: "sick" }
    await heddle.submit({ ...place, agent: "tally", input: { gate: ownerId } })
    await until("it works", async () =>
      (await heddle.history(place)).records.some(({ kind }) => kind === "StepCompleted"),
    )
    await control("damage", `${ownerId}/sick`)
    await goTo("threads/sick")
    await signIn()
    await page.locator('[data-live="Waiting"][title*="do not decode"]').waitFor()
    await main.getByText("ThreadUnreadable").first().waitFor()
    await control("heal", `${ownerId}/sick`)
    await control("open", ownerId)
    await page.locator('[data-live="Live"]').waitFor()
    await main.getByRole("button", { name: /^Settled/ }).waitFor()
    await main.getByText("ThreadUnreadable").first().waitFor({ state: "detached" })
  })
})

describe("a deployment that goes away", () => {
  it("is told to the reader, and found again by itself", async () => {
    const line = await openLine()
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld({ at: line.url })
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    await goTo("threads/order-1")
    await signIn()
    await page.locator('[data-live="Live"]').waitFor()
    line.cut()
    await page.locator('[data-live="Lost"], [data-live="Waiting"]').waitFor()
    await heddle.submitAndWait({ ownerId, threadId: "order-1", agent: "echo", input: null })
    line.mend()
    await main
      .getByRole("heading", { name: /completed/ })
      .nth(1)
      .waitFor()
    await page.locator('[data-live="Live"]').waitFor()
  })
})

describe("what strangers have written", () => {
  it("is text, wherever it stands", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const input = { [hostile]: hostile, lines: `one\n${hostile}` }
    await heddle.submitAndWait({
      ownerId,
      threadId: "letter",
      agent: "echo",
      title: hostile.slice(0, 120),
      input,
    })
    await heddle.submit({
      ownerId,
      threadId: "refund",
      agent: "refund",
      title: hostile.slice(0, 120),
      input: { order: hostile, cents: 9_900 },
    })
    await heddle.pauseThread({
      ownerId,
      threadId: "letter",
      author: hostile.slice(0, 200),
      reason: hostile,
    })
    await goTo("threads")
    await signIn()
    const list = main.getByRole("list", { name: "Threads" })
    await list.getByText(hostile.slice(0, 40)).first().waitFor()
    await main.getByLabel("Search titles and outcomes").fill("window hurt")
    await main
      .getByRole("list", { name: "Hits" })
      .getByText(/onerror|script/)
      .first()
      .waitFor()
    await goTo("threads/letter")
    await main.getByRole("button", { name: /^Step hear/ }).click()
    const shown = await main.getByLabel("Step hear").textContent()
    expect(shown).toContain(JSON.stringify(hostile))
    expect(shown).toContain(hostile)
    await goTo("threads/refund")
    await main.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("dialog").getByText(`Refund 99.00 for order ${hostile}?`).waitFor()
    await page.keyboard.press("Escape")
    for (const path of ["", "obligations"]) {
      await goTo(path)
      await main
        .getByRole("link", { name: /^refund/ })
        .first()
        .waitFor()
    }
    expect(await page.evaluate("window.hurt")).toBeUndefined()
    expect(await page.locator("main img, main script, main svg[onload]").count()).toBe(0)
  })

  it("turns no words of ours around", async () => {
    const { goTo, heddle, main, ownerId, page, signIn } = await openWorld()
    const order = "7\u202e\u2067 00.1"
    await heddle.submit({
      ownerId,
      threadId: "refund-7",
      agent: "refund",
      title: order,
      input: { order, cents: 9_900 },
    })
    await goTo("threads/refund-7")
    await signIn()
    await main.getByRole("button", { name: /^Input/ }).click()
    await main.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("dialog").getByText("\\u202e").first().waitFor()
    await main.getByText("It asks").waitFor()
    expect(await page.locator("body").innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  })

  it("is text in an address, too", async () => {
    const { page, signIn } = await openWorld()
    await page.goto(
      `${url}/console/#/owners/${encodeURIComponent(hostile)}/threads/${encodeURIComponent(hostile)}`,
    )
    await signIn()
    await page.getByText("InvalidInput").first().waitFor()
    await page.goto(`${url}/console/#/nowhere/%E0%A4%A`)
    await page.getByText("There is nothing here").waitFor()
    expect(await page.evaluate("window.hurt")).toBeUndefined()
  })

  it("could not run if it were not: the page takes no text as code", async () => {
    const world = await openWorld()
    const { page } = world
    await page.goto(`${url}/console/`)
    await page.getByRole("textbox", { name: "Token" }).waitFor()
    const refused = await page
      .evaluate(`new Promise((resolve) => {
      document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true })
      const script = document.createElement("script")
      script.src = "https://example.com/a.js"
      document.head.append(script)
      setTimeout(() => resolve("nothing"), 5000)
    })`)
      .catch((error: unknown) => String(error))
    expect(refused).toMatch(/script-src|TrustedScriptURL/)
    expect(
      await page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>'; return 'taken' } catch (error) { return error.name } })()",
      ),
    ).toBe("TypeError")
    world.forgive()
  })
})
