/**
 * Six test projects: `unit` runs in Node, and `alone` likewise, each file in a process of its own; `workerd` inside the
 * real runtime with real Durable Objects; `process` in Node against real workerd processes and other programs, `load`
 * likewise, with nothing beside it; and `simulation` in Node: the deterministic simulation, which takes every core while it
 * runs. `npx vitest run --project unit test/unit/Backoff.test.ts` runs one file of one project.
 */
import { join } from "node:path"
import { cloudflareTest } from "@cloudflare/vitest-plugin"
import { defineConfig } from "vitest/config"
import { alone } from "./test/alone.ts"

const underLoad = ["test/process/load.test.ts", "test/process/restart.test.ts"]

process.env["WRANGLER_SEND_METRICS"] ??= "false"
// Tests start some five hundred Node processes, of a few programs: each is compiled once.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled")

export default defineConfig({
  test: {
    // Objects that die tell so at length; only a test that fails needs to show it.
    silent: "passed-only",
    // By default one core would be left idle: half of the machine that this runs on.
    maxWorkers: "100%",
    // `HEDDLE_FULL=1`: what a few tests show at a tenth of its size is shown at its full one.
    provide: { isFull: process.env["HEDDLE_FULL"] === "1" },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "examples/**/*.test.ts"],
          // A project of its own: test/process/starter.test.ts runs it as such.
          exclude: ["examples/starter/**", "**/node_modules/**", ...alone],
          environment: "node",
          // Loading the product anew for each file takes as long as its tests.
          isolate: false,
          // Both projects share the machine; a test waits for conditions, so this is a last bound.
          testTimeout: 20_000,
        },
      },
      {
        test: { name: "alone", include: [...alone], environment: "node", testTimeout: 20_000 },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/workerd/wrangler.toml" } })],
        test: {
          name: "workerd",
          // Files share a workerd, and mint names of their own in it: starting one for each takes half a minute.
          isolate: false,
          include: ["test/workerd/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: "process",
          sequence: { groupOrder: 1 },
          include: ["test/process/**/*.test.ts"],
          exclude: underLoad,
          environment: "node",
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "load",
          // Load is measured in them: they run when the others have ended, one after the other.
          sequence: { groupOrder: 2 },
          fileParallelism: false,
          include: underLoad,
          environment: "node",
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "simulation",
          sequence: { groupOrder: 3 },
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
