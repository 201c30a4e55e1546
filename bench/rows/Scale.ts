/** How it holds up: many lanes, many watchers, large payloads, many actors in memory. */
import { Effect, Stream } from "effect"
import { gzipSync } from "node:zlib"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { AgentId, ThreadId } from "../../contracts/Identifiers.ts"
import { buildWorker, repositoryRoot } from "../../scripts/workerBuild.ts"
import { residentBytes } from "../Process.ts"
import { atMost, atMostOfFloor, type Chart, median, type Row, type World } from "../Row.ts"
import { freshOwner, type Product, type Served, serveFloor, serveProduct } from "../Served.ts"
import { submitAll, submitAllBare } from "./Drain.ts"

const kibibyte = 1_024
const thread = ThreadId.make("t0")

/**
 * After ten idle seconds the platform puts an object away, and submitting to thousands takes longer than that: those of
 * few lanes have to be away, too, or 100 threads at work would be compared with 10,000 that start.
 */
const putAwayMillis = 15_000

/** Milliseconds of each of so many lanes, all due at once and their objects put away. */
const perLane = async (product: Product, lanes: number): Promise<number> => {
  const ownerId = freshOwner()
  await product.ask("/bench/hold")
  await submitAll(product, ownerId, { threads: lanes, each: 1 })
  await pause(putAwayMillis)
  return (await product.timed("/bench/release", { settled: lanes })) / lanes
}

const smallMillis = new Map<Product, Promise<number>>()

const lanesRow = (lanes: number): Row => ({
  name: `lanes-${lanes}`,
  title: `a submission, draining ${lanes.toLocaleString("en-US")} due lanes, objects put away, against 100`,
  unit: "ms",
  budget: atMostOfFloor(1.2, "100 lanes"),
  runs: 1,
  measure: async ({ product }) => {
    const small =
      smallMillis.get(product) ??
      (async () => {
        const all = []
        for (let run = 0; run < 5; run++) all.push(await perLane(product, 100))
        return median(all)
      })()
    smallMillis.set(product, small)
    const floor = await small
    return { value: await perLane(product, lanes), floor }
  },
})

/** From a submit until the last of so many watchers has its record. */
const watchers = async ({ product }: World, count: number): Promise<number> => {
  const ownerId = freshOwner()
  const { client } = product
  const submit = client.submit({
    ownerId,
    threadId: thread,
    agent: AgentId.make("noop"),
    input: null,
  })
  await Effect.runPromise(Effect.flatMap(submit, client.awaitSettled))
  const seen = { open: 0, told: 0 }
  const controller = new AbortController()
  const watch = Stream.runForEach(client.observe({ ownerId, threadId: thread }), (frame) =>
    Effect.sync(() => {
      if (frame._tag === "Record" && frame.record.kind === "Settled") {
        if (frame.record.sequence <= 2) seen.open += 1
        else seen.told += 1
      }
    }),
  )
  for (let at = 0; at < count; at++)
    void Effect.runPromise(watch, { signal: controller.signal }).catch(() => undefined)
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await pause(1)
  }
  await until(() => seen.open === count)
  const start = performance.now()
  await Effect.runPromise(submit)
  await until(() => seen.told === count)
  const taken = performance.now() - start
  controller.abort()
  return taken
}

/** Milliseconds of each submission whose input and output are as large as they may be. */
const largePayloads = async (product: Product, bytes: number): Promise<number> => {
  const ownerId = freshOwner()
  const times = 20
  const text = "x".repeat(bytes - 2)
  const submit = product.client.submitAndWait({
    ownerId,
    threadId: thread,
    agent: AgentId.make("echo"),
    input: text,
  })
  await Effect.runPromise(submit)
  const start = performance.now()
  for (let at = 0; at < times; at++) await Effect.runPromise(submit)
  return (performance.now() - start) / times
}

const actors = 1_000

/** KiB of each idle thread in memory, in a process of its own. */
const perActor = async <S extends Served>(
  served: S,
  submit: (served: S, owner: ReturnType<typeof freshOwner>, threads: number) => Promise<void>,
): Promise<number> => {
  try {
    const run = async (threads: number) => {
      await served.ask("/bench/hold")
      await submit(served, freshOwner(), threads)
      await served.ask("/bench/release", { settled: threads })
    }
    // What the first ones compile and cache stays, and is not theirs.
    await run(200)
    const before = await residentBytes(served)
    await run(actors)
    return ((await residentBytes(served)) - before) / actors / kibibyte
  } finally {
    await served.stop()
  }
}

const memory = async ({ builds }: World) => ({
  floor: await perActor(await serveFloor(builds), (served, owner, threads) =>
    submitAllBare(served, `best.${owner}`, { threads, each: 1 }),
  ),
  value: await perActor(await serveProduct(builds), (served, ownerId, threads) =>
    submitAll(served, ownerId, { threads, each: 1 }),
  ),
})

/** KiB of the Worker, minified and compressed, with no agent in it. */
const bundle = async (): Promise<number> => {
  const { module } = await buildWorker(
    join(repositoryRoot, "bench", "bundle", "wrangler.toml"),
    undefined,
    true,
  )
  return gzipSync(module, { level: 9 }).length / kibibyte
}

const single = (
  row: Pick<Row, "name" | "title" | "unit" | "budget">,
  measure: (world: World) => Promise<number>,
): Row => ({ ...row, runs: 1, measure: async (world) => ({ value: await measure(world) }) })

export const scaleRows: ReadonlyArray<Row> = [
  ...[1_000, 10_000].map(lanesRow),
  ...[10, 100, 1_000].map((count) =>
    single(
      {
        name: `watchers-${count}`,
        title: `a submit until the last of ${count.toLocaleString("en-US")} watchers saw its settlement`,
        unit: "ms",
        budget: undefined,
      },
      (world) => watchers(world, count),
    ),
  ),
  ...[1, 16, 256].map((size) =>
    single(
      {
        name: `payload-${size}`,
        title: `a submission of ${size} KiB in and out, one after the other, settled`,
        unit: "ms",
        budget: undefined,
      },
      ({ product }) => largePayloads(product, size * kibibyte),
    ),
  ),
  {
    name: "memory",
    title: "memory of an idle thread actor, of 1,000",
    unit: "KiB",
    budget: atMostOfFloor(3),
    runs: 1,
    measure: memory,
  },
  single(
    {
      name: "bundle",
      title: "the Worker, minified and compressed, without agents",
      unit: "KiB",
      budget: atMost(120),
    },
    bundle,
  ),
]

export const scaleCharts: ReadonlyArray<Chart> = [
  {
    name: "lanes",
    title: "Time per settled submission, by how many lanes are due",
    x: "due lanes",
    y: "ms per submission",
    points: [1_000, 10_000].map((at) => ({ row: `lanes-${at}`, at })),
  },
  {
    name: "reads",
    title: "Rows read per submission, by how many threads the owner knows",
    x: "threads known",
    y: "rows read",
    points: [10, 1_000, 100_000].map((at) => ({ row: `read-${at}`, at })),
  },
  {
    name: "watchers",
    title: "From a submit until the last watcher saw its settlement",
    x: "watchers",
    y: "ms",
    points: [10, 100, 1_000].map((at) => ({ row: `watchers-${at}`, at })),
  },
  {
    name: "payloads",
    title: "A submission in and out, by the size of its payload",
    x: "KiB",
    y: "ms",
    points: [1, 16, 256].map((at) => ({ row: `payload-${at}`, at })),
  },
]
