/**
 * A reader at the console, and the deployment behind it: an owner of its own for each test, a page without a past, and the SDK
 * for what the test does behind the reader's back.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from "playwright-core"
import { afterAll, beforeAll, expect, inject, onTestFinished } from "vitest"
import { createHeddle, type Heddle } from "../../client/sdk/index.ts"
import { decodeGrants, mintToken } from "../../scripts/mintToken.ts"
import { secret } from "./setup.ts"

export const { browser: endpoint, url } = inject("deployment")

let browser: Browser

beforeAll(async () => {
  browser = await chromium.connect(endpoint)
})

afterAll(() => browser.close())

interface TokenOptions {
  readonly principal?: string
  readonly owners?: ReadonlyArray<string>
  readonly operations?: ReadonlyArray<string>
  readonly expiresInSeconds?: number
}

export const tokenFor = ({
  expiresInSeconds = 3_600,
  operations,
  owners = ["*"],
  principal = "ada",
}: TokenOptions = {}): Promise<string> =>
  mintToken({
    grants: decodeGrants({
      principal,
      owners,
      ...(operations === undefined ? {} : { operations }),
    }),
    secret,
    expiresInSeconds,
  })

/** Does something to the deployment that no caller can. */
export const control = async (what: "open" | "damage" | "heal", name: string): Promise<void> => {
  const answer = await fetch(`${url}/test/${what}?name=${encodeURIComponent(name)}`)
  if (answer.status !== 204) throw new Error(`${what} ${name}: ${await answer.text()}`)
}

let owners = 0

export interface World {
  readonly ownerId: string
  readonly heddle: Heddle
  readonly context: BrowserContext
  readonly page: Page
  /** Goes to a page of the owner, as a link does: `threads/order-7`. */
  readonly goTo: (path?: string) => Promise<void>
  readonly signIn: (token?: string) => Promise<void>
  /** The page's own region, without what stands around it. */
  readonly main: Locator
  /** Forgets what the page printed as errors, and what its policy refused: a test that has none of it fails otherwise. */
  readonly forgive: () => void
}

/** What has the focus: the name of its element, in small letters. */
export const placeIn = (page: Page): Promise<string> =>
  page.evaluate<string>("document.activeElement.localName")

/** Waits for a condition of the deployment. */
export const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

const complaintsOf = (page: Page): Array<string> => {
  const complaints: Array<string> = []
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("console", (message) => {
    // A refused request is told in the page, and by the browser, too.
    const isStatus = message.text().startsWith("Failed to load resource")
    if (message.type() === "error" && !isStatus) complaints.push(message.text())
  })
  return complaints
}

/** A way to the deployment that can be cut. */
export const openLine = async () => {
  const { port } = new URL(url)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1")
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on("error", () => other.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
    if (isCut) near.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    end()
    server.close()
  })
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true
      end()
    },
    mend: () => {
      isCut = false
    },
  }
}

/** Opens the console for a test; `at` is another way to the deployment than the straight one. */
export const openWorld = async ({
  at = url,
  viewport = { width: 1280, height: 900 },
} = {}): Promise<World> => {
  owners += 1
  const ownerId = `shop-${process.pid}-${owners}`
  const context = await browser.newContext({ viewport, reducedMotion: "reduce" })
  context.setDefaultTimeout(15_000)
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  onTestFinished(async () => {
    await context.close()
    expect(complaints).toEqual([])
  })
  const heddle = createHeddle({ url, token: () => tokenFor() })
  return {
    ownerId,
    heddle,
    context,
    page,
    main: page.locator("main"),
    forgive: () => void complaints.splice(0),
    goTo: async (path = "") => {
      await page.goto(`${at}/console/#/owners/${ownerId}${path === "" ? "" : `/${path}`}`)
    },
    signIn: async (token) => {
      const given = token ?? (await tokenFor())
      await page.getByRole("textbox", { name: "Token" }).fill(given)
      await page.getByRole("button", { name: /^(Open|Go on)$/ }).click()
    },
  }
}

/** Fills the form of a command, and sends it. */
export const command = async (
  page: Page,
  verb: string,
  reason = "seen by a test",
): Promise<void> => {
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Reason").fill(reason)
  await dialog.getByRole("button", { name: verb, exact: true }).click()
  await dialog.waitFor({ state: "hidden" })
}
