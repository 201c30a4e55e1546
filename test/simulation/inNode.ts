/** Runs a script of the repository in a process of its own. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url).href)

/** What it printed, and its exit code. */
export const inNode = (
  script: string,
  ...given: ReadonlyArray<string>
): Promise<{ readonly code: number; readonly output: string }> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [script, ...given],
      { cwd: root, maxBuffer: 64 * 1024 * 1024 },
      (error, output, errors) => {
        const code = error === null ? 0 : error.code
        if (typeof code === "number" && errors === "") resolve({ code, output })
        else reject(new Error(`${script}: ${errors}`))
      },
    )
  })
