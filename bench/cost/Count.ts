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
import { Effect, type Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { AgentId, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { Counts } from "../Meter.ts"
import { computedMillis } from "../Process.ts"
import { filesOf, freePort, profiled, sharesOf } from "../Profile.ts"
import { median } from "../Row.ts"
import { submitAll } from "../rows/Drain.ts"
import { type Builds, freshOwner, type Product, serveProduct } from "../Served.ts"
import { commitsOf, quiet, settling, shownMillis, take } from "../Settled.ts"
import type { Growth, ObjectUsage, Pace, Stored, Usage } from "./Usage.ts"

const thread = ThreadId.make("t0")

interface Kind {
  readonly name: string
  readonly title: string
  readonly agent: string
  readonly input: typeof Schema.Json.Type
  readonly shape: "alone" | "full" | "new"
  readonly times: number
  /** Whether its caller waits for the settlement. */
  readonly waits: boolean
}

const halfMinute = 30_000
const steps = { count: 5, waitMillis: 0 }
const call = { count: 1, waitMillis: halfMinute }
const sleep = { waitMillis: halfMinute }

const alone = { shape: "alone", waits: false } as const
const full = { shape: "full", waits: false } as const
const waited = { shape: "alone", waits: true } as const

const kinds: ReadonlyArray<Kind> = [
  { name: "noop", title: "does nothing", agent: "noop", input: null, times: 20, ...alone },
  {
    name: "noop-full",
    title: "the same, in a full queue",
    agent: "noop",
    input: null,
    times: 100,
    ...full,
  },
  {
    name: "noop-new",
    title: "does nothing, the first of a new thread",
    agent: "noop",
    input: null,
    times: 20,
    shape: "new",
    waits: false,
  },
  {
    name: "noop-waited",
    title: "does nothing, its caller waits",
    agent: "noop",
    input: null,
    times: 20,
    ...waited,
  },
  { name: "steps", title: "5 steps", agent: "steps", input: steps, times: 20, ...alone },
  {
    name: "steps-full",
    title: "the same, in a full queue",
    agent: "steps",
    input: steps,
    times: 40,
    ...full,
  },
  {
    name: "call",
    title: "a step that waits 30 s for an answer from outside",
    agent: "steps",
    input: call,
    times: 1,
    ...alone,
  },
  {
    name: "call-full",
    title: "the same, in a full queue",
    agent: "steps",
    input: call,
    times: 4,
    ...full,
  },
  {
    name: "call-waited",
    title: "a step of 30 s, its caller waits",
    agent: "steps",
    input: call,
    times: 1,
    ...waited,
  },
  { name: "sleep", title: "`run.sleep` of 30 s", agent: "sleep", input: sleep, times: 1, ...alone },
  {
    name: "sleep-full",
    title: "the same, in a full queue",
    agent: "sleep",
    input: sleep,
    times: 4,
    ...full,
  },
  {
    name: "sleep-waited",
    title: "`run.sleep` of 30 s, its caller waits",
    agent: "sleep",
    input: sleep,
    times: 1,
    ...waited,
  },
]

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

const inProcess = async <A>(builds: Builds, measure: (product: Product) => Promise<A>) => {
  const product = await serveProduct(builds)
  try {
    return await measure(product)
  } finally {
    await product.stop()
  }
}

const isLong = ({ agent, input }: Kind): boolean =>
  agent === "sleep" || (agent === "steps" && input === call)

const countKind = (builds: Builds, kind: Kind): Promise<Usage> =>
  inProcess(builds, async (product) => {
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
  inProcess(builds, async (product) => {
    const [kind] = kinds
    if (kind === undefined) throw new Error("nothing is counted")
    const of = async (threads: number, records: number): Promise<Growth> => {
      const owner = await warm(product)
      if (threads > 1) await product.ask("/bench/lanes", { owner, count: threads - 1 })
      if (records > 0) {
        await product.ask("/bench/records", { owner, thread, count: records })
        // It is to know what was put beside it, and to be warm again.
        await product.ask("/bench/die", { owner, thread })
        await settling(product, 1, () => submitOne(product, owner, kind))
        await pause(shownMillis)
        await quiet(product, owner)
      }
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
  inProcess(builds, async (product) => {
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
  inProcess(builds, async (product) => {
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

/** From the first submit until the last settlement. */
const onePace = async (product: Product, { submissions, submit }: Shape) => {
  const [start, computed] = [performance.now(), await computedMillis(product)]
  await settling(product, submissions, () => submit(product, freshOwner()))
  return {
    perSecond: Math.round((submissions * 1_000) / (performance.now() - start)),
    computedMillis: ((await computedMillis(product)) - computed) / submissions,
  }
}

/** The share of each in what is computed: sampled apart, since sampling computes, too. */
const shareOf = async (builds: Builds, shape: Shape) => {
  const inspectorPort = await freePort()
  const product = await serveProduct(builds, { inspectorPort })
  try {
    await onePace(product, shape)
    const profile = await profiled(inspectorPort, () => onePace(product, shape))
    const folders = ["owner-object", "thread-actors", "client"] as const
    const shares = sharesOf(profile, filesOf(builds.product.module), folders)
    const rounded = (folder: string): number => Math.round((shares[folder] ?? 0) * 1_000) / 1_000
    const [owner, ofThread, worker] = folders
    return {
      ownerShare: rounded(owner),
      threadShare: rounded(ofThread),
      workerShare: rounded(worker),
    }
  } finally {
    await product.stop()
  }
}

/** The median of three. */
export const measurePaces = async (builds: Builds): Promise<ReadonlyArray<Pace>> => {
  const paces: Array<Pace> = []
  for (const shape of shapes) {
    const found = await inProcess(builds, async (product) => {
      // What is compiled once is no submission's.
      await onePace(product, shape)
      return [
        await onePace(product, shape),
        await onePace(product, shape),
        await onePace(product, shape),
      ]
    })
    const computed = median(found.map((pace) => pace.computedMillis))
    paces.push({
      title: shape.title,
      perSecond: median(found.map(({ perSecond }) => perSecond)),
      computedMillis: Math.round(computed * 100) / 100,
      ...(await shareOf(builds, shape)),
    })
  }
  return paces
}
