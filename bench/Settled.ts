/** What is counted around work: from the rest before it to the rest after it, over all objects of its owner. */
import { setTimeout as pause } from "node:timers/promises"
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { commitsBetween, readLog } from "./DurableCommits.ts"
import type { Counts } from "./Meter.ts"
import type { Product } from "./Served.ts"

export interface OwnerCounts {
  readonly owner: Counts
  /** Of all its threads. */
  readonly thread: Counts
}

/** What was counted since it was taken last. */
export const take = async (product: Product, owner: OwnerId): Promise<OwnerCounts> =>
  JSON.parse(await product.ask("/bench/counts", { owner })) as OwnerCounts

/** Until nothing happens any more in the objects of an owner: what is counted is all that a submission brings about. */
export const quiet = async (product: Product, owner: OwnerId): Promise<void> => {
  let before = ""
  for (let still = 0, at = 0; still < 4; at++) {
    if (at > 1_000) throw new Error(`${owner} does not come to rest`)
    const now = await product.ask("/bench/peek", { owner })
    still = now === before ? still + 1 : 0
    before = now
    await pause(25)
  }
}

/** What is shown of threads waits so long for an alarm to ride on, and belongs to what is counted. */
export const shownMillis = 6_000

/** Does something, and waits until so many submissions have settled since it began. */
export const settling = async (product: Product, times: number, work: () => Promise<unknown>) => {
  await product.ask("/bench/count")
  await work()
  await product.ask("/bench/release", { settled: times })
}

/** The commits that became durable in an owner and one thread of it while something is done. */
export const commitsOf = async (
  product: Product,
  { ownerId: owner, thread }: { readonly ownerId: OwnerId; readonly thread: ThreadId },
  work: () => Promise<unknown>,
): Promise<{ readonly owner: number; readonly thread: number }> => {
  const ids = JSON.parse(await product.ask("/bench/names", { owner, thread })) as {
    readonly owner: string
    readonly thread: string
  }
  const look = () =>
    Promise.all([
      readLog(product.persistDir, { className: "Owner", id: ids.owner }),
      readLog(product.persistDir, { className: "Thread", id: ids.thread }),
    ])
  const before = await look()
  await work()
  const after = await look()
  return {
    owner: commitsBetween(before[0], after[0]),
    thread: commitsBetween(before[1], after[1]),
  }
}
