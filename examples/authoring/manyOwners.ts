/** A tenant with several owners, as the guide to costs shows it. */
import { OwnerId, type ThreadId } from "../../client/index.ts"

/** The owner of a thread, of so many that its tenant has. The same thread has the same one for ever. */
export const ownerOf = (tenant: string, thread: ThreadId, owners: number): OwnerId => {
  let hash = 0
  for (const letter of thread) hash = (Math.imul(hash, 31) + (letter.codePointAt(0) ?? 0)) >>> 0
  return OwnerId.make(`${tenant}.${hash % owners}`)
}
