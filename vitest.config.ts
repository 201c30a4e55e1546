/**
 * Four test projects: `unit` runs in Node, `workerd` inside the real runtime with real Durable
 * Objects, `process` in Node against real workerd processes that are killed and started again,
 * `simulation` in Node: the deterministic simulation, which takes every core while it runs. `npx vitest run --project unit test/unit/Backoff.test.ts` runs one file of one project.
 */
import { cloudflareTest } from "@cloudflare/vitest-plugin"
import { defineConfig } from "vitest/config"

process.env["WRANGLER_SEND_METRICS"] ??= "false"

export default defineConfig({
  test: {
    // Objects that die tell so at length; only a test that fails needs to show it.
    silent: "passed-only",
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "examples/**/*.test.ts"],
          // A project of its own: test/process/starter.test.ts runs it as such.
          exclude: ["examples/starter/**", "**/node_modules/**"],
          environment: "node",
          // Both projects share the machine; a test waits for conditions, so this is a last bound.
          testTimeout: 20_000,
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/workerd/wrangler.toml" } })],
        test: {
          name: "workerd",
          include: ["test/workerd/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: "process",
          // Load is measured in them: they run when the others have ended, one after the other.
          sequence: { groupOrder: 1 },
          fileParallelism: false,
          include: ["test/process/**/*.test.ts"],
          environment: "node",
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "simulation",
          sequence: { groupOrder: 2 },
          fileParallelism: false,
          include: ["test/simulation/**/*.test.ts"],
          environment: "node",
          // A last bound; on two cores all of it takes a minute.
          testTimeout: 240_000,
        },
      },
    ],
  },
})
