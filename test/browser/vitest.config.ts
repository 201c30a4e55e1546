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
    // Two pages at a time: more of them would only wait for each other.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
