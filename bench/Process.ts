/** What a Worker's process takes of the machine, as Linux and its JavaScript engine tell. */
import { readFile } from "node:fs/promises"
import { setTimeout as pause } from "node:timers/promises"
import type { Served } from "./Served.ts"

const kibibyte = 1_024

/** The engine tells the bytes of its heap only when it was started with this. */
export const heapFlags: ReadonlyArray<string> = ["--track-gc-object-stats"]

/** Has it collect what it does not need; the bytes that live then, of an engine that tells them. */
export const liveBytes = async (served: Served): Promise<number> => {
  let bytes = 0
  for (let at = 0; at < 3; at++) {
    bytes = Number(await served.ask("/bench/gc"))
    await pause(200)
  }
  return bytes
}

/** What a process occupies, in bytes, once what it does not need is collected. */
export const residentBytes = async (served: Served): Promise<number> => {
  await liveBytes(served)
  const status = await readFile(`/proc/${served.pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * kibibyte
}

/** Of the clock in which Linux counts the time of processes. */
const ticksPerSecond = 100

/** The time that it has computed so far, in all its threads. */
export const computedMillis = async (served: Served): Promise<number> => {
  const stat = await readFile(`/proc/${served.pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond
}
