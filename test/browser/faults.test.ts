/** A thread at fault, looked at while something becomes of it: by others, by itself, and by a clock that is wrong. */
import { describe, expect, it } from "vitest"
import { command, control, openWorld, tokenFor, until, type World } from "./world.ts"

const threadId = "sick"

/** A thread that is under way, and can be damaged. */
const begin = async ({ heddle, ownerId }: World) => {
  await heddle.submit({ ownerId, threadId, agent: "tally", input: { gate: ownerId } })
  await until("it works", async () => {
    const { records } = await heddle.history({ ownerId, threadId })
    return records.some(({ kind }) => kind === "StepCompleted")
  })
}

const faultOf = ({ heddle, ownerId }: World) => heddle.recoveryStatus({ ownerId, threadId })

const damage = async (world: World) => {
  await control("damage", `${world.ownerId}/${threadId}`)
  await until("it has a fault", async () => (await faultOf(world)) !== null)
}

describe("the page of a fault", () => {
  it("learns by itself that there is one, that somebody paused its thread, and that it has ended", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, signIn } = world
    await begin(world)
    await goTo(`faults/${threadId}`)
    await signIn()
    await main.getByText("No fault is recorded now").waitFor()
    await main.locator('[data-live="Live"]').waitFor()
    await damage(world)
    await main.getByText("What failed").waitFor()
    await control("heal", `${ownerId}/${threadId}`)
    await heddle.pauseThread({ ownerId, threadId, author: "bob", reason: "it was ill" })
    await main.getByRole("button", { name: "Resume" }).waitFor()
    await control("open", ownerId)
    await main.getByText("No fault is recorded now").waitFor()
  })

  it("is asked again without a stream, and after a time at which it could not be asked", async () => {
    const world = await openWorld()
    const { goTo, main, ownerId, page, signIn } = world
    await begin(world)
    await damage(world)
    await page.clock.install()
    await goTo(`faults/${threadId}`)
    await signIn(await tokenFor({ operations: ["recoveryStatus", "listThreads", "explain"] }))
    await main.getByText("What failed").waitFor()
    let isAway = true
    await page.route("**/rpc", (route) =>
      isAway && (route.request().postData() ?? "").includes('"recoveryStatus"')
        ? route.abort()
        : route.continue(),
    )
    const error = main.getByRole("alert").getByText("Unavailable")
    await until("it could not be asked", async () => {
      await page.clock.fastForward(30_000)
      return (await error.count()) > 0
    })
    isAway = false
    await control("heal", `${ownerId}/${threadId}`)
    await control("open", ownerId)
    await until("it is asked again", async () => {
      await page.clock.fastForward(30_000)
      return (await main.getByText("No fault is recorded now").count()) > 0
    })
    expect(await error.count()).toBe(0)
  })

  it("tells times by the deployment's clock, where the reader's is wrong", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    await begin(world)
    await damage(world)
    await page.addInitScript("{ const now = Date.now.bind(Date); Date.now = () => now() + 6e5 }")
    await page.route("**/rpc", async (route) => {
      if (!(route.request().postData() ?? "").includes('"recoveryStatus"')) return route.continue()
      const response = await route.fetch()
      const date = new Date().toUTCString()
      return route.fulfill({ response, headers: { ...response.headers(), date } })
    })
    await goTo(`faults/${threadId}`)
    await signIn()
    await main.getByText("What failed").waitFor()
    const since = main.locator("dd", { hasText: /, for / }).locator("time")
    await until("it began just now", async () =>
      /^\d+(\.\d)? s$/.test((await since.textContent()) ?? ""),
    )
    expect(await main.getByText(/min/).count()).toBe(0)
  })
})

describe("a thread that is at fault and was paused", () => {
  it.each(["faults", "threads"])("is resumed on its page among the %s", async (section) => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    await begin(world)
    await heddle.pauseThread({ ownerId, threadId, author: "bob", reason: "it was ill" })
    await damage(world)
    await goTo(`${section}/${threadId}`)
    await signIn()
    await main.locator(".page-head").getByText("paused", { exact: true }).waitFor()
    const resume = main.getByRole("button", { name: "Resume" })
    await resume.waitFor()
    await control("heal", `${ownerId}/${threadId}`)
    await resume.click()
    await command(page, "Resume", "it is well")
    await main.getByRole("button", { name: "Pause" }).waitFor()
  })
})
