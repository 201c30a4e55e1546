/** One build, one workerd and one browser for all files of the suite. */
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { temporaryFolder } from "../../scripts/temporaryFolder.ts"
import { buildWorker, repositoryRoot } from "../../scripts/workerBuild.ts"
import { startWorkerd } from "../../scripts/workerd.ts"
import { startBrowser } from "./browser.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly deployment: { readonly url: string; readonly browser: string }
  }
}

export const secret = "a secret of the thirty-two bytes"

const config = join(repositoryRoot, "test", "browser", "wrangler.toml")

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const [build, browser, disk] = await Promise.all([
    buildWorker(config),
    startBrowser(),
    temporaryFolder("heddle-browser-test-"),
  ])
  const workerd = await startWorkerd({ build, persistDir: disk.folder, secret })
  provide("deployment", { url: workerd.url, browser: browser.wsEndpoint() })
  return async () => {
    await browser.close()
    await workerd.stop()
    await disk.remove()
  }
}
