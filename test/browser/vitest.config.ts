/**
 * The tests in a real browser, `npm run test:browser`: by themselves, since they need a Chromium, which `npm test` does not.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./setup.ts"],
    environment: "node",
    // One page at a time: a browser and a workerd fill two cores.
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
