/** Everything that a test's objects log, while it runs: where the default logger writes. */
import { afterEach, beforeEach, vi } from "vitest"

const methods = ["log", "info", "warn", "error", "debug"] as const

const textOf = (part: unknown): string => (typeof part === "string" ? part : JSON.stringify(part))

/** The lines of the test that runs; nothing of them reaches the console. */
export const consoleLines = (): Array<string> => {
  const lines: Array<string> = []
  beforeEach(() => {
    lines.length = 0
    for (const method of methods)
      vi.spyOn(console, method).mockImplementation((...said: ReadonlyArray<unknown>) => {
        lines.push(said.map(textOf).join(" "))
      })
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  return lines
}
