/**
 * Makes the pictures of the README and of docs/console.md: `node test/browser/screenshots.ts [FOLDER]` (default docs/images).
 * A deployment of its own is given work of every kind, and the console looks at it.
 */
import { mkdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { chromium, type Page } from "playwright-core"
import { createHeddle, type Heddle } from "../../client/sdk/index.ts"
import { decodeGrants, mintToken } from "../../scripts/mintToken.ts"
import { withTemporaryFolder } from "../../scripts/temporaryFolder.ts"
import { buildWorker, repositoryRoot } from "../../scripts/workerBuild.ts"
import { startWorkerd } from "../../scripts/workerd.ts"
import { browserPath } from "./browser.ts"

const secret = "a secret of the thirty-two bytes"
const ownerId = "acme"

type Submission = Parameters<Heddle["submit"]>[0]

const submit = (heddle: Heddle, threadId: string, rest: Omit<Submission, "ownerId" | "threadId">) =>
  heddle.submit({ ownerId, threadId, ...rest })

const times = <A>(count: number, make: (nth: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index + 1))

/** Work that waits for somebody, or for its time. */
const seedWaits = async (heddle: Heddle): Promise<void> => {
  await Promise.all([
    ...times(6, (nth) =>
      submit(heddle, `refund-${1040 + nth}`, {
        agent: "refund",
        title: `Refund for order ${1040 + nth}`,
        input: { order: String(1040 + nth), cents: 2_400 + nth * 731 },
      }),
    ),
    ...times(2, (nth) =>
      submit(heddle, `payment-${310 + nth}`, {
        agent: "charge",
        title: `Payment of order ${310 + nth}`,
        input: { cents: 4_900 * nth },
      }),
    ),
    ...times(3, (nth) =>
      submit(heddle, `remind-${nth}`, {
        agent: "remind",
        title: "Water the plants",
        input: { text: "water the plants", everySeconds: 600 * nth, times: 3 },
      }),
    ),
    submit(heddle, "order-77", {
      agent: "order-saga",
      title: "Order 77, two lines",
      input: {
        lines: [
          { sku: "warp", quantity: 2 },
          { sku: "weft", quantity: 1_000 },
        ],
      },
    }),
  ])
  const said = { author: "ann", reason: "the provider is looking into it" }
  await heddle.pauseThread({ ownerId, threadId: "refund-1042", ...said })
}

/** A thread whose record cannot be read, and runs that take their time. */
const seedTrouble = async (heddle: Heddle, url: string): Promise<void> => {
  const runs = ["a", "b", "c", "d", "e"].map((letter) => `import-${letter}`)
  await Promise.all(
    runs.map((threadId) =>
      submit(heddle, threadId, {
        agent: "tally",
        title: `Import of ledger ${threadId.slice(-1)}`,
        input: { gate: threadId },
      }),
    ),
  )
  for (;;) {
    const { records } = await heddle.history({ ownerId, threadId: "import-e" })
    if (records.some(({ name }) => name === "measure")) break
    await new Promise((done) => setTimeout(done, 50))
  }
  await fetch(`${url}/test/damage?name=${encodeURIComponent(`${ownerId}/import-e`)}`)
  for (;;) {
    if ((await heddle.recoveryStatus({ ownerId, threadId: "import-e" })) !== null) break
    await new Promise((done) => setTimeout(done, 100))
  }
}

/** Customers who order one after the other for as long as it takes. */
const keepBusy = (heddle: Heddle, stop: AbortSignal): Promise<unknown> =>
  Promise.all(
    times(14, async (nth) => {
      for (let order = 1; !stop.aborted; order++) {
        await submit(heddle, `customer-${10 + nth}`, {
          agent: "place-order",
          title: `Customer ${10 + nth}`,
          input: { sku: order % 2 === 0 ? "warp" : "weft", quantity: order },
        })
        await new Promise((done) => setTimeout(done, 1_500 + ((nth * 397) % 2_300)))
      }
    }),
  )

const converse = async (heddle: Heddle): Promise<void> => {
  for (const text of ["hello", "where is my order?", "it was two lengths of warp, in blue"]) {
    await heddle.submitAndWait({
      ownerId,
      threadId: "visitor-7",
      agent: "conversation",
      title: "A visitor asks for an order",
      input: { text },
    })
  }
}

interface Camera {
  readonly page: Page
  readonly take: (
    name: string,
    path: string,
    ready: string,
    then?: (page: Page) => Promise<void>,
  ) => Promise<void>
}

const cameraOf = (page: Page, url: string, folder: string, suffix = ""): Camera => ({
  page,
  take: async (name, path, ready, then) => {
    await page.goto(`${url}/console/#/owners/${ownerId}${path}`)
    await page.locator(ready).first().waitFor()
    await page.locator('[data-live="Live"], .page:not(:has(.badge))').first().waitFor()
    await then?.(page)
    await page.waitForTimeout(600)
    await page.screenshot({ path: join(folder, `console-${name}${suffix}.png`) })
  },
})

const takeAll = async ({ take }: Camera): Promise<void> => {
  await take("threads", "/threads", ".thread-row")
  await take("obligations", "/obligations", ".obligation-row")
  await take("thread", "/threads/order-77", ".item", async (page) => {
    await page.getByRole("button", { name: /^Child reserve-1/ }).click()
    await page.mouse.move(0, 0)
  })
  await take("waiting", "/threads/refund-1041", ".open-card")
  await take("fault", "/faults/import-e", ".facts")
}

const main = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const build = await buildWorker(join(repositoryRoot, "test", "browser", "wrangler.toml"))
  const grants = decodeGrants({ principal: "ann", owners: ["*"] })
  const token = await mintToken({ grants, secret, expiresInSeconds: 3_600 })
  await withTemporaryFolder("heddle-screenshots-", async (persistDir) => {
    const workerd = await startWorkerd({ build, persistDir, secret })
    const browser = await chromium.launch({
      executablePath: await browserPath(),
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    })
    const stop = new AbortController()
    try {
      const { url } = workerd
      const heddle = createHeddle({ url, token })
      await Promise.all([seedWaits(heddle), seedTrouble(heddle, url), converse(heddle)])
      const open = async (
        viewport: { width: number; height: number },
        colorScheme: "dark" | "light",
      ) => {
        const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: 1.5 })
        const page = await context.newPage()
        await page.goto(`${url}/console/`)
        await page.getByLabel("Token").fill(token)
        await page.getByRole("button", { name: "Open" }).click()
        return page
      }
      const light = await open({ width: 1280, height: 860 }, "light")
      const dark = await open({ width: 1280, height: 860 }, "dark")
      const narrow = await open({ width: 390, height: 844 }, "light")
      for (const page of [light, dark, narrow])
        await page.goto(`${url}/console/#/owners/${ownerId}`)
      const busy = keepBusy(heddle, stop.signal)
      await new Promise((done) => setTimeout(done, 45_000))
      await light.screenshot({ path: join(folder, "console-owner.png") })
      await dark.screenshot({ path: join(folder, "console-owner-dark.png") })
      await narrow.screenshot({ path: join(folder, "console-owner-narrow.png") })
      await takeAll(cameraOf(light, url, folder))
      stop.abort()
      await busy
    } finally {
      stop.abort()
      await browser.close()
      await workerd.stop()
    }
  })
}

await main(resolve(process.argv[2] ?? join(repositoryRoot, "docs", "images")))
