/** What submissions that do nothing compute, and what of that is their owner's. */
import { Effect } from "effect"
import { AgentId, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { computedMillis } from "../Process.ts"
import { filesOf, freePort, profiled, sharesOf } from "../Profile.ts"
import { median } from "../Row.ts"
import { submitAll } from "../rows/Drain.ts"
import { type Builds, freshOwner, type Product, withProduct } from "../Served.ts"
import { settling } from "../Settled.ts"
import type { Pace } from "./Usage.ts"

/** Single submits by so many clients at once, each the next when its last has its receipt. */
const clients = 32

const bySingle = async (product: Product, ownerId: OwnerId, submissions: number): Promise<void> => {
  let next = 0
  const client = async (): Promise<void> => {
    while (next < submissions) {
      const threadId = ThreadId.make(`t${next % 50}`)
      next += 1
      await Effect.runPromise(
        product.client.submit({ ownerId, threadId, agent: AgentId.make("noop"), input: null }),
      )
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
}

const shapes: ReadonlyArray<{
  readonly title: string
  readonly submissions: number
  readonly submit: (product: Product, ownerId: OwnerId) => Promise<void>
}> = [
  {
    title: `submitted one by one by ${clients} clients, over 50 threads`,
    submissions: 1_000,
    submit: (product, ownerId) => bySingle(product, ownerId, 1_000),
  },
  {
    title: "submitted by 200 a call, 50 threads × 20",
    submissions: 1_000,
    submit: (product, ownerId) => submitAll(product, ownerId, { threads: 50, each: 20 }),
  },
  {
    title: "submitted by 200 a call, 400 new threads × 1",
    submissions: 400,
    submit: (product, ownerId) => submitAll(product, ownerId, { threads: 400, each: 1 }),
  },
]

type Shape = (typeof shapes)[number]

/** What each computes, from the first submit until the last settlement. */
const onePace = async (product: Product, { submissions, submit }: Shape): Promise<number> => {
  const before = await computedMillis(product)
  await settling(product, submissions, () => submit(product, freshOwner()))
  return ((await computedMillis(product)) - before) / submissions
}

/** The share of each in what is computed: sampled apart, since sampling computes, too. */
const shareOf = async (builds: Builds, shape: Shape) => {
  const inspectorPort = await freePort()
  const sample = async (product: Product) => {
    await onePace(product, shape)
    return profiled(inspectorPort, () => onePace(product, shape))
  }
  const profile = await withProduct(builds, sample, { inspectorPort })
  const folders = ["owner-object", "thread-actors", "client"] as const
  const shares = sharesOf(profile, filesOf(builds.product.module), folders)
  const rounded = (folder: string): number => Math.round((shares[folder] ?? 0) * 1_000) / 1_000
  const [owner, thread, worker] = folders
  return { ownerShare: rounded(owner), threadShare: rounded(thread), workerShare: rounded(worker) }
}

/** The median of three. */
export const measurePaces = async (builds: Builds): Promise<ReadonlyArray<Pace>> => {
  const paces: Array<Pace> = []
  for (const shape of shapes) {
    const found = await withProduct(builds, async (product) => {
      // What is compiled once is no submission's.
      await onePace(product, shape)
      return [
        await onePace(product, shape),
        await onePace(product, shape),
        await onePace(product, shape),
      ]
    })
    paces.push({
      title: shape.title,
      computedMillis: Math.round(median(found) * 100) / 100,
      ...(await shareOf(builds, shape)),
    })
  }
  return paces
}
