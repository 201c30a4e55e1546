/**
 * Finds one thread in the list of an owner's. Pure.
 *
 * - N1 It is on the first page, however many threads there are: a page that finds little ends all the same.
 */
import type { ListThreadsPayload } from "../../client/sdk/index.ts"

const limit = 32

/** What to ask for it: the list by id begins right before it. // N1 */
export const listedAs = (ownerId: string, threadId: string): ListThreadsPayload => {
  const before = threadId.slice(0, -1)
  return { ownerId, text: threadId, limit, ...(before === "" ? {} : { after: before }) }
}
