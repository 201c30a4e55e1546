/**
 * The claim of one workerd to the folder of its databases: two processes that write the same files
 * would ruin them, and neither would notice.
 *
 * A claim is a file in the folder, named after a process: `heddle-PID-BIRTH.pid`. Each claimant writes
 * its own and then looks for others, so no two can both go on, and nobody can remove a living one's.
 *
 * - C1 A folder is lent only while no other living process has a claim in it.
 * - C2 The claim of a process that is gone counts for nothing, also when its number was given again.
 * - C3 There is no moment without a claim between the start of workerd and its end.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { birthOf, unknownBirth } from "./processBirth.ts"

export interface FolderClaim {
  /** Makes it the claim of another process, which was started meanwhile. */
  readonly passTo: (pid: number) => void
  readonly release: () => void
}

const codeOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException | undefined)?.code ?? String(error)

const inUse = (folder: string, pid: number): Error =>
  new Error(`${folder} is in use by process ${pid}: end that, or name another folder`)

const makeFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const code = codeOf(error)
    throw code === "EEXIST" || code === "ENOTDIR"
      ? new Error(`${folder} cannot hold the databases: a file is in its place`)
      : new Error(`${folder} cannot be made (${code})`)
  }
}

const write = (folder: string, pid: number): string => {
  const file = join(folder, `heddle-${pid}-${birthOf(pid) ?? unknownBirth}.pid`)
  try {
    writeFileSync(file, `${pid}\n`, { flag: "wx" })
    return file
  } catch (error) {
    const code = codeOf(error)
    throw code === "EEXIST"
      ? inUse(folder, pid)
      : new Error(`${folder} cannot be written (${code})`)
  }
}

const isSame = (birth: string, written: string): boolean =>
  birth === written || birth === unknownBirth || written === unknownBirth

/** The process whose claim it is, if that lives. Removes the claim of a dead one. */
const livingClaimant = (folder: string, name: string): number | undefined => {
  const [, pidText, written = unknownBirth] = /^heddle-(\d+)-(\d+)\.pid$/.exec(name) ?? []
  if (pidText === undefined) return undefined
  const pid = Number(pidText)
  const birth = birthOf(pid)
  if (birth !== undefined && isSame(birth, written)) return pid
  rmSync(join(folder, name), { force: true }) // C2
  return undefined
}

/**
 * Claims a folder for this process; makes it when it is missing. Throws a sentence for people when it
 * is in use or cannot be one.
 */
export const claimFolder = (folder: string): FolderClaim => {
  makeFolder(folder)
  let own = write(folder, process.pid)
  for (const name of readdirSync(folder)) {
    if (join(folder, name) === own) continue
    const other = livingClaimant(folder, name)
    if (other === undefined) continue
    rmSync(own, { force: true })
    throw inUse(folder, other) // C1
  }
  return {
    passTo: (pid) => {
      const before = own
      own = write(folder, pid)
      rmSync(before, { force: true }) // C3
    },
    release: () => rmSync(own, { force: true }),
  }
}
