/** The lines that an operator is shown while something is done. */
import { vi } from "vitest"

export const logged = async (act: () => Promise<void>): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  const spies = (["log", "error", "warn"] as const).map((method) =>
    vi
      .spyOn(console, method)
      .mockImplementation(
        (...parts) =>
          void lines.push(
            parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "),
          ),
      ),
  )
  try {
    await act()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return lines
}
