/** Finds the browser that the console is tried in: Debian's, or the one that `HEDDLE_CHROMIUM` names. */
import { access } from "node:fs/promises"
import { type BrowserServer, chromium } from "playwright-core"

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Where it is. Throws with what to install. */
export const browserPath = async (): Promise<string> => {
  const named = process.env["HEDDLE_CHROMIUM"]
  for (const path of named === undefined ? places : [named]) if (await isThere(path)) return path
  throw new Error(
    "No Chromium is here: install it (Debian: apt-get install chromium), or name one with HEDDLE_CHROMIUM",
  )
}

/** Starts it without a window. */
export const startBrowser = async (): Promise<BrowserServer> =>
  chromium.launchServer({
    executablePath: await browserPath(),
    // Its sandbox needs privileges that a container does not give; it looks at nothing but our own page.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
    host: "127.0.0.1",
  })
