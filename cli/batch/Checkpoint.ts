/**
 * What is known of a batch, in a file: so that one that was broken off, however, goes on without
 * submitting a line twice.
 *
 * - C1 The keys of all lines follow from one seed, which is on disk before the first line is sent. What was
 *   sent and not noted is sent again with its key, and gets the receipt of the first time.
 * - C2 The first line appears as a whole or not at all, and one time only: two commands that begin at once
 *   have one seed.
 * - C3 A note that was cut off by a crash says nothing; all others count.
 *   Where one cannot be written (the disk is full), nothing more is noted, so that no other is glued to its beginning.
 * - C4 A checkpoint is of one batch, for one owner, as one principal at one deployment: with another of
 *   these, the same keys would mean other submissions.
 */
import { randomUUID } from "node:crypto"
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs"
import { IdempotencyKey } from "../../contracts/Identifiers.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stopped, usage } from "../Stopped.ts"

/** What a checkpoint is of. */
export interface CheckpointOf {
  readonly digest: string
  readonly lines: number
  readonly ownerId: string
  /** The origin of the deployment. */
  readonly url: string
  /** Its whole address: behind one origin there may be several deployments. */
  readonly address: string
  readonly principal: string | undefined
}

interface Header extends Omit<CheckpointOf, "address"> {
  /** Absent in a checkpoint that an older heddle has made. */
  readonly address?: string
  readonly heddle: "checkpoint"
  readonly version: 1
  readonly seed: string
}

export interface Checkpoint {
  /** The key of a line that brings none. */
  readonly keyOf: (line: number) => IdempotencyKey
  /** Receipts of lines that were accepted before, by line. */
  readonly accepted: ReadonlyMap<number, Receipt>
  /** Throws a `Stopped` where it cannot be written. */
  readonly note: (line: number, receipt: Receipt) => void
  readonly close: () => void
}

const keyOf =
  (seed: string) =>
  (line: number): IdempotencyKey =>
    IdempotencyKey.make(`${seed}:${line}`) // C1

/** For a batch that is not to be gone on with. */
export const noCheckpoint = (): Checkpoint => ({
  keyOf: keyOf(randomUUID()),
  accepted: new Map(),
  note: () => undefined,
  close: () => undefined,
})

const isEmpty = (path: string): boolean => {
  try {
    return statSync(path).size === 0
  } catch {
    return false
  }
}

/** Makes the file with its first line, unless it is there. */
const create = (path: string, header: Header): void => {
  const fresh = `${path}.${randomUUID()}`
  const file = openSync(fresh, "wx", 0o600)
  try {
    try {
      writeSync(file, `${JSON.stringify(header)}\n`)
      fsyncSync(file) // C1
    } finally {
      closeSync(file)
    }
  } catch (error) {
    unlinkSync(fresh)
    throw error
  }
  // One that mktemp has made is as good as none.
  if (isEmpty(path)) return renameSync(fresh, path)
  try {
    linkSync(fresh, path) // C2
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    unlinkSync(fresh)
  }
}

const parseLine = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // C3
  }
}

const isHeader = (value: unknown): value is Header => {
  const { heddle, seed, version } = (value ?? {}) as Partial<Header>
  return heddle === "checkpoint" && version === 1 && typeof seed === "string" && seed !== ""
}

const compare = (path: string, header: Header, wanted: CheckpointOf): void => {
  const other =
    "For another batch use another --checkpoint; with a new one, lines that were accepted are submitted again."
  if (header.digest !== wanted.digest || header.lines !== wanted.lines) {
    throw usage(
      `The batch is not the one that ${path} is of: its lines, or the thread, agent or owner named with it, have changed`,
      `Put it back as it was. ${other}`,
    ) // C4
  }
  const address = header.address ?? header.url
  const isElsewhere = address !== (header.address === undefined ? wanted.url : wanted.address)
  if (header.ownerId !== wanted.ownerId || isElsewhere) {
    throw usage(`${path} is of a batch for ${header.ownerId} at ${address}`, other) // C4
  }
  if (header.principal !== wanted.principal) {
    throw usage(
      `${path} is of a batch that ${header.principal ?? "another"} submits; keys are each principal's own`,
      `Use a token of that principal. ${other}`,
    ) // C4
  }
}

interface Note {
  readonly line: number
  readonly receipt: Receipt
}

const isNote = (value: unknown): value is Note => {
  const { line, receipt } = (value ?? {}) as Partial<Note>
  return typeof line === "number" && typeof receipt?.submissionId === "string"
}

/** Notes one line after the other, until one cannot be written. */
const noting = (path: string, file: number): Checkpoint["note"] => {
  let broken: unknown
  return (line, receipt) => {
    try {
      if (broken === undefined) {
        appendFileSync(file, `${JSON.stringify({ line, receipt })}\n`)
        return
      }
    } catch (error) {
      broken = error // C3
    }
    const { code = "?" } = broken as NodeJS.ErrnoException
    throw new Stopped({
      exitCode: ExitCode.refused,
      what: `${path} cannot be written (${code}); what was accepted is accepted, and not noted`,
      next: "Make room for it.",
    })
  }
}

const using = <A>(path: string, run: () => A): A => {
  try {
    return run()
  } catch (error) {
    throw usage(`${path} cannot be used (${(error as NodeJS.ErrnoException).code ?? "?"})`)
  }
}

/** Opens the checkpoint of a batch, and makes it on first use. Throws a `Stopped`. */
export const openCheckpoint = (path: string, of: CheckpointOf): Checkpoint => {
  const text = using(path, () => {
    create(path, { heddle: "checkpoint", version: 1, seed: randomUUID(), ...of })
    return readFileSync(path, "utf8")
  })
  const texts = text.split("\n")
  const header = parseLine(texts[0] ?? "")
  if (!isHeader(header)) {
    throw usage(
      `${path} is no checkpoint`,
      "Name a file that is not there yet, or one that a batch has made.",
    )
  }
  compare(path, header, of)
  const notes = texts.slice(1).map(parseLine).filter(isNote)
  const file = using(path, () => {
    const opened = openSync(path, "a")
    // What follows a note that was cut off begins on a line of its own.
    if (!text.endsWith("\n")) appendFileSync(opened, "\n") // C3
    return opened
  })
  return {
    keyOf: keyOf(header.seed),
    accepted: new Map(notes.map(({ line, receipt }) => [line, receipt])),
    note: noting(path, file),
    close: () => closeSync(file),
  }
}
