/** The lists of threads: found, narrowed, paged, and as long as they come. */
import { describe, expect, it } from "vitest"
import { control, openWorld, until, type World } from "./world.ts"

const submitMany = async (
  { heddle, ownerId }: World,
  names: ReadonlyArray<string>,
): Promise<void> => {
  for (let from = 0; from < names.length; from += 200) {
    const { outcomes } = await heddle.submitMany({
      ownerId,
      submissions: names.slice(from, from + 200).map((threadId) => ({
        threadId,
        agent: "echo",
        title: `Parcel ${threadId}`,
        input: null,
      })),
    })
    expect(outcomes.filter(({ _tag }) => _tag === "Refused")).toEqual([])
  }
}

const settled = ({ heddle, ownerId }: World) =>
  until(
    "all have settled",
    async () => (await heddle.maintenanceStatus({ ownerId })).nonterminal === 0,
  )

/** Types, and goes to a thread on a page that is too busy to hear of either until what was typed is due. */
const typingAndLeaving = `(() => {
  const input = document.querySelectorAll("main input[type=search]")[1]
  input.value = "p"
  input.dispatchEvent(new Event("input", { bubbles: true }))
  const until = performance.now() + 300
  while (performance.now() < until);
  document.querySelector('main a[href*="parcel-1"]').click()
})()`

describe("the list of threads", () => {
  it("reads page after page as one scrolls, each thread once", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    const names = Array.from(
      { length: 140 },
      (_, index) => `parcel-${String(index).padStart(4, "0")}`,
    )
    await submitMany(world, names)
    await settled(world)
    await goTo("threads?order=thread")
    await signIn()
    const list = main.getByRole("list", { name: "Threads" })
    await list.getByRole("link", { name: "parcel-0000" }).waitFor()
    await main.getByText("128 threads so far").waitFor()
    expect(await list.getByRole("listitem").count()).toBeLessThan(80)
    await until("the end is reached", async () => {
      await page.keyboard.press("End")
      return (await list.getByRole("link", { name: "parcel-0139" }).count()) === 1
    })
    await main.getByText(/^140 threads$/).waitFor()
    expect(await list.getByRole("listitem").count()).toBeLessThan(80)
    const last = list.getByRole("listitem").last()
    expect([
      await last.getAttribute("aria-posinset"),
      await last.getAttribute("aria-setsize"),
    ]).toEqual(["140", "140"])
  })

  it("is gone back to as it was left, and then as it is now", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const names = Array.from({ length: 140 }, (_, index) => `p-${String(index).padStart(4, "0")}`)
    await submitMany(world, names)
    await settled(world)
    await goTo("threads?order=thread")
    await signIn()
    const list = main.getByRole("list", { name: "Threads" })
    await until("the end is reached", async () => {
      await page.keyboard.press("End")
      return (await list.getByRole("link", { name: "p-0139" }).count()) === 1
    })
    const scrolled = () => page.evaluate<number>("scrollY")
    const last = list.getByRole("link", { name: "p-0139" })
    const isSeen = async () => {
      const box = await last.boundingBox()
      const { height } = page.viewportSize() ?? { height: 0 }
      return box !== null && box.y >= 0 && box.y + box.height <= height
    }
    await last.click()
    await main.getByRole("heading", { name: "p-0139" }).waitFor()
    expect(await scrolled()).toBe(0)
    const paused = { ownerId, threadId: "p-0138", author: "somebody", reason: "while away" }
    await heddle.pauseThread(paused)
    await page.goBack()
    await until("what was left is seen again", isSeen)
    expect(await scrolled()).toBeGreaterThan(0)
    await list.getByRole("listitem").filter({ hasText: "p-0138" }).getByText("paused").waitFor()
    await main.getByText(/^140 threads$/).waitFor()
    // Who leaves takes it along: the next one reads for themselves.
    await page.goForward()
    await main.getByRole("heading", { name: "p-0139" }).waitFor()
    await page.getByRole("button", { name: "Leave" }).click()
    await page.goBack()
    await signIn()
    await list.getByRole("link", { name: "p-0000" }).waitFor()
    expect(await scrolled()).toBe(0)
  })

  it("does not lead back to itself who has left it while typing", async () => {
    const world = await openWorld()
    const { goTo, main, page, signIn } = world
    await submitMany(world, ["parcel-1"])
    await settled(world)
    await goTo("threads")
    await signIn()
    const link = main.getByRole("link", { name: /parcel-1/ })
    await link.waitFor()
    await page.evaluate(typingAndLeaving)
    await main.getByRole("heading", { name: "Timeline" }).waitFor()
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(page.url()).toContain("/threads/parcel-1")
  })

  it("is narrowed by state and by text, in an address that leads to the same, and changes as threads do", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    await submitMany(world, ["north", "south"])
    await heddle.submit({
      ownerId,
      threadId: "slow-north",
      agent: "tally",
      title: "Slow",
      input: { gate: ownerId },
    })
    await settledBut(world, 1)
    await goTo("threads")
    await signIn()
    const list = main.getByRole("list", { name: "Threads" })
    await list.getByRole("link", { name: "slow-north" }).waitFor()
    await main.getByLabel("Title or id contains").fill("NORTH")
    await main.getByText(/^2 threads$/).waitFor()
    expect(await list.getByRole("link").count()).toBe(2)
    await main.getByLabel("Stands").selectOption("running")
    await main.getByText(/^1 thread$/).waitFor()
    await list.getByRole("link", { name: "running slow-north" }).waitFor()
    expect(page.url()).toContain("text=NORTH")
    expect(page.url()).toContain("state=running")
    await page.locator('[data-live="Live"]').waitFor()
    await control("open", ownerId)
    await list.getByRole("link", { name: "idle slow-north" }).waitFor()
  })

  it("finds words in titles and outcomes, and leads to the submission", async () => {
    const world = await openWorld()
    const { goTo, heddle, main, ownerId, page, signIn } = world
    const { submissionId } = await heddle.submitAndWait({
      ownerId,
      threadId: "letter-1",
      agent: "echo",
      title: "A letter",
      input: { text: "the heron [stands] in the reeds" },
    })
    await heddle.submitAndWait({
      ownerId,
      threadId: "letter-2",
      agent: "echo",
      title: "Herons",
      input: null,
    })
    await until(
      "the outcome is in the index",
      async () => (await heddle.search({ ownerId, query: "reeds" })).hits.length > 0,
    )
    await goTo("threads")
    await signIn()
    await page.keyboard.press("/")
    await page.keyboard.type("heron")
    const hits = main.getByRole("list", { name: "Hits" })
    await hits.getByRole("link", { name: /letter-2/ }).waitFor()
    await hits.locator("mark", { hasText: "heron" }).first().waitFor()
    await hits.getByRole("link", { name: /letter-1/ }).click()
    await main.getByText(`One submission alone: ${submissionId}`).waitFor()
    await page.goBack()
    await hits.getByRole("link", { name: /letter-2/ }).waitFor()
    expect(await main.getByLabel("Search titles and outcomes").inputValue()).toBe("heron")
    await main.getByLabel("Search titles and outcomes").fill("nowhere at all")
    await main.getByText("No title has these words").waitFor()
  })

  it("goes on where it has stopped looking: behind page after page on which nothing is like that", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    const pages = await answering(page, (after = "0") =>
      after === "30"
        ? { threads: [threadNumber(7)] }
        : { threads: [], next: `${Number(after) + 1}` },
    )
    await goTo("threads?state=faulted")
    await signIn()
    await main.getByText("0 threads so far").waitFor()
    await main.getByRole("button", { name: "Read more" }).click()
    await main.getByRole("link", { name: "thread-00007" }).waitFor()
    await main.getByText(/^1 thread$/).waitFor()
    expect(pages()).toBe(31)
  })

  it("stays quick with ten thousand threads: what is seen is on the page, and no more", async () => {
    const { goTo, main, page, signIn } = await openWorld()
    const pages = await tenThousand(page)
    await goTo("threads?order=thread")
    await signIn()
    const list = main.getByRole("list", { name: "Threads" })
    await list.getByRole("link", { name: "thread-00000" }).waitFor()
    await until("all pages are read", async () => {
      await page.keyboard.press("End")
      return (await main.getByText("10\u2009000 threads").count()) > 0
    })
    expect(pages()).toBe(10)
    // The end may still move away while rows are measured.
    const reaches = (key: string, name: string) => async () => {
      await page.keyboard.press(key)
      return (await list.getByRole("link", { name }).count()) === 1
    }
    await until("the end is shown", reaches("End", "thread-09999"))
    expect(await list.getByRole("listitem").count()).toBeLessThan(80)
    expect(await page.evaluate<number>(scrollingThrough)).toBeLessThan(80)
    await until("the beginning is shown", reaches("Home", "thread-00000"))
  })
})

const settledBut = ({ heddle, ownerId }: World, open: number) =>
  until(
    "the others have settled",
    async () => (await heddle.maintenanceStatus({ ownerId })).nonterminal === open,
  )

const threadNumber = (nth: number) => ({
  threadId: `thread-${String(nth).padStart(5, "0")}`,
  title: `The title of ${nth}`,
  state: "idle",
  activeAt: 1_796_000_000_000,
  nonterminal: 0,
  parked: 0,
  paused: false,
  tailSequence: 5,
})

interface PageOfThreads {
  readonly threads: ReadonlyArray<ReturnType<typeof threadNumber>>
  readonly next?: string
}

/** Answers `listThreads` in the deployment's place, a page behind a cursor. Gives how many were asked for. */
const answering = async (
  page: World["page"],
  pageAfter: (after: string | undefined) => PageOfThreads,
): Promise<() => number> => {
  let asked = 0
  await page.route("**/rpc", async (route) => {
    const [line = "{}"] = (route.request().postData() ?? "").split("\n")
    const request = JSON.parse(line) as { id: string; tag: string; payload: { after?: string } }
    if (request.tag !== "listThreads") return route.continue()
    asked += 1
    const exit = {
      _tag: "Exit",
      requestId: request.id,
      exit: { _tag: "Success", value: pageAfter(request.payload.after) },
    }
    return route.fulfill({ contentType: "application/x-ndjson", body: `${JSON.stringify(exit)}\n` })
  })
  return () => asked
}

/** Pages of a thousand of ten thousand. */
const tenThousand = (page: World["page"]) =>
  answering(page, (after) => {
    const from = after === undefined ? 0 : Number(after) + 1
    const to = Math.min(10_000, from + 1_000)
    const threads = Array.from({ length: to - from }, (_, index) => threadNumber(from + index))
    return { threads, ...(to < 10_000 ? { next: String(to - 1) } : {}) }
  })

/** Scrolls from the end to the beginning; gives how many rows there were at most on the way. */
const scrollingThrough = `new Promise((resolve) => {
  let most = 0
  let step = 0
  const turn = () => {
    most = Math.max(most, document.querySelectorAll("main li").length)
    step += 1
    window.scrollTo(0, document.documentElement.scrollHeight * (1 - step / 60))
    if (step < 60) requestAnimationFrame(turn)
    else resolve(most)
  }
  requestAnimationFrame(turn)
})`
