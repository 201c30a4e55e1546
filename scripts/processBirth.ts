/**
 * Tells a process from a later one that was given the same number: by when it started.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

/** What is said of a process whose start this machine does not tell. */
export const unknownBirth = "0"

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It is there, and somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

interface Told {
  readonly state: string
  readonly birth: string
}

/** Linux. The second field is a name in parentheses, which may hold any of them. */
const toldByProc = (pid: number): Told | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const [state = "", ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ")
    return { state, birth: rest[18] ?? unknownBirth }
  } catch {
    return undefined
  }
}

/** Elsewhere. */
const toldByPs = (pid: number): Told | undefined => {
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" }
  const { stdout } = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
    encoding: "utf8",
    env,
  })
  const [state = "", ...started] = (stdout ?? "").trim().split(/\s+/)
  const millis = Date.parse(`${started.join(" ")} UTC`)
  return Number.isNaN(millis) ? undefined : { state, birth: String(millis / 1_000) }
}

/** When a living process started, in a unit of the machine's own; `undefined` when there is none. */
export const birthOf = (pid: number): string | undefined => {
  if (!exists(pid)) return undefined
  const told = toldByProc(pid) ?? toldByPs(pid)
  // A process that ended, and that nobody has asked about, holds nothing any more.
  return told?.state.startsWith("Z") === true ? undefined : (told?.birth ?? unknownBirth)
}
