/**
 * The durable commits of an object, counted from outside: each is one commit frame in the write-ahead log of its database,
 * as SQLite's file format has it (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 *
 * - W1 A log that was begun anew in between cannot be counted, and is told.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"

const headerBytes = 32
const frameHeaderBytes = 24

export interface Log {
  /** Changes when the log begins anew. */
  readonly salt: string
  readonly commits: number
}

/** Counts the commit frames of a log; of frames that an earlier beginning left behind none. Pure. */
export const commitsIn = (file: Buffer): Log => {
  if (file.length < headerBytes) return { salt: "", commits: 0 }
  const pageBytes = file.readUInt32BE(8)
  const salt = file.toString("hex", 16, 24)
  let commits = 0
  for (
    let at = headerBytes;
    at + frameHeaderBytes + pageBytes <= file.length;
    at += frameHeaderBytes + pageBytes
  ) {
    if (file.toString("hex", at + 8, at + 16) !== salt) break
    // The size of the database after the commit; 0 in a frame that ends none.
    if (file.readUInt32BE(at + 4) !== 0) commits += 1
  }
  return { salt, commits }
}

/** The log of an object's database below the folder of its Worker. */
export const readLog = async (
  persistDir: string,
  object: { readonly className: string; readonly id: string },
): Promise<Log> =>
  commitsIn(await readFile(join(persistDir, object.className, `${object.id}.sqlite-wal`)))

/** The commits between two looks at a log. */
export const commitsBetween = (before: Log, after: Log): number => {
  if (before.salt !== after.salt) throw new Error("the log was begun anew: measure less at a time") // W1
  return after.commits - before.commits
}
