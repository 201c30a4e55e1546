/**
 * Folders that are gone when their use is over: when it succeeds, fails or is given up, and when the
 * script exits in the middle of it.
 */
import { rmSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Those in use. */
const folders = new Set<string>()

const removeAll = (): void => {
  for (const folder of folders) {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // A process that is just being killed still writes there; the system clears the rest.
    }
  }
}

/** Makes a folder in the system's place for temporary files, and a function that removes it. */
export const temporaryFolder = async (
  prefix: string,
): Promise<{ readonly folder: string; readonly remove: () => Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  if (folders.size === 0) process.on("exit", removeAll)
  folders.add(folder)
  const remove = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    folders.delete(folder)
    if (folders.size === 0) process.off("exit", removeAll)
  }
  return { folder, remove }
}

/** Lends a folder; it resolves when the folder is gone. */
export const withTemporaryFolder = async <A>(
  prefix: string,
  use: (folder: string) => Promise<A>,
): Promise<A> => {
  const { folder, remove } = await temporaryFolder(prefix)
  try {
    return await use(folder)
  } finally {
    await remove()
  }
}
