/**
 * Counts what submissions use of what is billed, over all objects, each kind in a process of its own: those that take half
 * a minute run beside one another.
 *
 * - U1 Counted is from rest to rest: a submission's alarms, the pass that finds nothing left and what is shown of its
 *   thread are in it. Objects are warm; a cold start has a few rows read more.
 * - U2 Alone: each submission has come to rest before the next. In a full queue: all wait in one thread before the first
 *   begins. New: each is the first of its thread, which makes its tables.
 * - U3 Commits are those in the logs of both databases. An object that waits for half a minute is put to rest, and its log
 *   begins anew; new threads have each a log of their own. Then the blocks that wrote are taken, which are no fewer.
 */
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { AgentId, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { Counts } from "../Meter.ts"
import { computedMillis } from "../Process.ts"
import { submitAll } from "../rows/Drain.ts"
import { type Builds, freshOwner, type Product, withProduct } from "../Served.ts"
import { commitsOf, quiet, settling, shownMillis, take } from "../Settled.ts"
import { isLong, type Kind, kinds, steps } from "./Kinds.ts"
import type { Growth, ObjectUsage, Stored, Usage } from "./Usage.ts"

const thread = ThreadId.make("t0")

const submitOne = (
  product: Product,
  ownerId: OwnerId,
  kind: Kind,
  threadId = thread,
): Promise<unknown> => {
  const { client } = product
  const request = { ownerId, threadId, agent: AgentId.make(kind.agent), input: kind.input }
  return kind.waits
    ? Effect.runPromise(client.submitAndWait(request))
    : Effect.runPromise(client.submit(request))
}

const work = async (product: Product, ownerId: OwnerId, kind: Kind): Promise<void> => {
  const { shape, times } = kind
  if (shape === "full") {
    await product.ask("/bench/hold")
    for (let at = 0; at < times; at++) await submitOne(product, ownerId, kind)
    await product.ask("/bench/release", { settled: times })
  } else
    for (let at = 0; at < times; at++) {
      const threadId = shape === "new" ? ThreadId.make(`new-${at}`) : thread
      await settling(product, 1, () => submitOne(product, ownerId, kind, threadId))
      await quiet(product, ownerId) // U2
    }
  await pause(shownMillis) // U1
  await quiet(product, ownerId)
}

/** An owner with one thread that has settled a submission, at rest. */
const warm = async (product: Product): Promise<OwnerId> => {
  const ownerId = freshOwner("counted")
  await settling(product, 1, () =>
    Effect.runPromise(
      product.client.submit({
        ownerId,
        threadId: thread,
        agent: AgentId.make("noop"),
        input: null,
      }),
    ),
  )
  await pause(shownMillis)
  await quiet(product, ownerId)
  await take(product, ownerId)
  return ownerId
}

const usageOf = (counts: Counts, commits: number, times: number): ObjectUsage => ({
  requests: Object.values(counts.calls).reduce((sum, calls) => sum + calls, 0) / times,
  read: counts.read / times,
  written: counts.written / times,
  alarmWrites: counts.alarmWrites / times,
  activeMillis: Math.round((counts.activeMillis / times) * 10) / 10,
  commits: commits / times,
})

const countKind = (builds: Builds, kind: Kind): Promise<Usage> =>
  withProduct(builds, async (product) => {
    const ownerId = await warm(product)
    await product.ask("/bench/requests")
    const all = () => work(product, ownerId, kind)
    const countsBlocks = isLong(kind) || kind.shape === "new"
    const commits = countsBlocks ? undefined : await commitsOf(product, { ownerId, thread }, all)
    if (commits === undefined) await all() // U3
    const requests = Number(await product.ask("/bench/requests"))
    const counts = await take(product, ownerId)
    const { name, times, title } = kind
    return {
      name,
      title,
      submissions: times,
      workerRequests: requests / times,
      owner: usageOf(counts.owner, commits?.owner ?? counts.owner.blocks, times),
      thread: usageOf(counts.thread, commits?.thread ?? counts.thread.blocks, times),
    }
  })

/** Of each kind; those that take long at once, the others before them one after the other. */
export const countUsages = async (
  builds: Builds,
  tell: (text: string) => void,
): Promise<ReadonlyArray<Usage>> => {
  const found = new Map<string, Usage>()
  const count = async (kind: Kind) => {
    found.set(kind.name, await countKind(builds, kind))
    tell(`${kind.name} `)
  }
  for (const kind of kinds) if (!isLong(kind)) await count(kind)
  await Promise.all(kinds.filter(isLong).map(count))
  return kinds.flatMap(({ name }) => found.get(name) ?? [])
}

/** Rows of one that does nothing, by what was there before. */
export const countGrowth = (builds: Builds): Promise<ReadonlyArray<Growth>> =>
  withProduct(builds, async (product) => {
    const [kind] = kinds
    if (kind === undefined) throw new Error("nothing is counted")
    const of = async (threads: number, records: number): Promise<Growth> => {
      const owner = await warm(product)
      if (threads > 1) await product.ask("/bench/lanes", { owner, count: threads - 1 })
      if (records > 0) await product.ask("/bench/records", { owner, thread, count: records })
      // It is to know what was put beside it, and both are to be warm again.
      await product.ask("/bench/die", { owner, thread })
      await settling(product, 1, () => submitOne(product, owner, kind))
      await pause(shownMillis)
      await quiet(product, owner)
      await take(product, owner)
      await work(product, owner, kind)
      const { owner: ofOwner, thread: ofThread } = await take(product, owner)
      return {
        threads,
        records,
        read: (ofOwner.read + ofThread.read) / kind.times,
        written: (ofOwner.written + ofThread.written) / kind.times,
      }
    }
    return [await of(1, 0), await of(100_000, 0), await of(1, 100_000), await of(100_000, 100_000)]
  })

const sizeOf = async (product: Product, owner: OwnerId) =>
  JSON.parse(await product.ask("/bench/size", { owner, thread })) as {
    readonly owner: number
    readonly thread: number
  }

/** What is stored for a thread, and for each more submission and each more thread. */
export const measureStored = (builds: Builds): Promise<Stored> =>
  withProduct(builds, async (product) => {
    const first = await sizeOf(product, await warm(product))
    const eachOf = async (agent: string, input: unknown): Promise<number> => {
      const owner = await warm(product)
      const before = await sizeOf(product, owner)
      const times = 400
      for (let batch = 0; batch < times / 200; batch++)
        await settling(product, 200, () =>
          submitAll(product, owner, { threads: 1, each: 200 }, agent, input),
        )
      return Math.round(((await sizeOf(product, owner)).thread - before.thread) / times)
    }
    const lane = async (): Promise<number> => {
      const owner = await warm(product)
      const before = await sizeOf(product, owner)
      const threads = 400
      await settling(product, threads, () => submitAll(product, owner, { threads, each: 1 }))
      await pause(shownMillis)
      return Math.round(((await sizeOf(product, owner)).owner - before.owner) / threads)
    }
    return {
      thread: first.thread,
      owner: first.owner,
      noop: await eachOf("noop", null),
      steps: await eachOf("steps", steps),
      lane: await lane(),
    }
  })

/** What one request through the Worker computes, with the owner's part of the smallest call there is. */
export const measureRequest = (builds: Builds): Promise<number> =>
  withProduct(builds, async (product) => {
    const ownerId = freshOwner()
    const times = 1_000
    const all = async () => {
      for (let at = 0; at < times; at++)
        await Effect.runPromise(product.client.rpc.recoveryStatus({ ownerId, threadId: thread }))
    }
    // What is compiled once is no request's.
    await all()
    const before = await computedMillis(product)
    await all()
    return Math.round((((await computedMillis(product)) - before) / times) * 100) / 100
  })
