/**
 * Five minutes of steady load from outside: the last of it against an early part of it, in one run and in a process of its
 * own. What grows with the work that was done, and not with the work that is under way, shows here.
 *
 * - S1 The load is open: each submission begins at its time, however long those before it take, and what is told is the
 *   time from then until its client has its settlement. So one that has to wait for its turn counts with its wait.
 * - S2 A part ends when all that was submitted has settled and nothing happens any more: its rows are those of its
 *   submissions, all of them, and its heap is what lives once garbage is collected, with every object still in memory.
 * - S3 Before the first part that counts, each thread has had many turns: what is compiled and cached is there.
 */
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { AgentId, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { computedMillis, heapFlags, liveBytes, residentBytes } from "../Process.ts"
import { atMost, atMostOfFloor, median, type Row, type World } from "../Row.ts"
import { freshOwner, type Product, withProduct } from "../Served.ts"
import { quiet, take } from "../Settled.ts"

/** What this machine carries many times over. */
const perSecond = 20
const threads = 100

/** Of the five minutes: to become warm, the early part, the time between, the late part. */
const secondsOf = { warm: 60, early: 60, between: 120, late: 60 } as const

const input = { count: 2, waitMillis: 0 }

interface Part {
  readonly rows: number
  readonly latencyMillis: number
  readonly heapBytes: number
  readonly residentBytes: number
  readonly computedMillis: number
  readonly submissions: number
}

/** One more submission; the milliseconds from when it was to begin until its settlement is known outside. */
const one = async (product: Product, ownerId: OwnerId, at: number, due: number) => {
  const settlement = await Effect.runPromise(
    product.client.submitAndWait({
      ownerId,
      threadId: ThreadId.make(`t${at % threads}`),
      agent: AgentId.make("steps"),
      input,
    }),
  )
  if (settlement.outcome !== "completed") throw new Error(`a submission was ${settlement.outcome}`)
  return performance.now() - due
}

const part = async (product: Product, ownerId: OwnerId, seconds: number): Promise<Part> => {
  await take(product, ownerId)
  const computed = await computedMillis(product)
  const submissions = seconds * perSecond
  const start = performance.now()
  const all: Array<Promise<number>> = []
  for (let at = 0; at < submissions; at++) {
    const due = start + (at * 1_000) / perSecond
    await pause(Math.max(0, due - performance.now()))
    all.push(one(product, ownerId, at, due)) // S1
  }
  const latencies = await Promise.all(all)
  await quiet(product, ownerId) // S2
  const computedAll = (await computedMillis(product)) - computed
  const { owner, thread } = await take(product, ownerId)
  return {
    rows: (owner.read + owner.written + thread.read + thread.written) / submissions,
    latencyMillis: median(latencies),
    heapBytes: await liveBytes(product),
    residentBytes: await residentBytes(product),
    computedMillis: computedAll / submissions,
    submissions,
  }
}

const sustained = ({ builds }: World) =>
  withProduct(
    builds,
    async (product) => {
      const ownerId = freshOwner("counted")
      await part(product, ownerId, secondsOf.warm) // S3
      const early = await part(product, ownerId, secondsOf.early)
      const between = await part(product, ownerId, secondsOf.between)
      const late = await part(product, ownerId, secondsOf.late)
      return { early, late, since: between.submissions + late.submissions }
    },
    { flags: heapFlags },
  )

let known: ReturnType<typeof sustained> | undefined

const sustainedOnce = (world: World): ReturnType<typeof sustained> => (known ??= sustained(world))

const mebibyte = 2 ** 20

type Figure = Exclude<keyof Part, "submissions">

const grows = (
  row: Pick<Row, "name" | "title" | "unit"> & { readonly atMost: number },
  figure: Figure,
  per = 1,
): Row => ({
  name: `sustained-${row.name}`,
  title: `${row.title}, in the last minute of five, against the second`,
  unit: row.unit,
  budget: atMostOfFloor(row.atMost, "early"),
  runs: 1,
  measure: async (world) => {
    const { early, late } = await sustainedOnce(world)
    return { value: late[figure] / per, floor: early[figure] / per }
  },
})

export const sustainedRows: ReadonlyArray<Row> = [
  // Rows do not vary but by how many submissions of a thread meet in one turn.
  grows({ name: "rows", title: "rows of a submission", unit: "", atMost: 1.1 }, "rows"),
  grows(
    { name: "latency", title: "a submission until its settlement (p50)", unit: "ms", atMost: 1.3 },
    "latencyMillis",
  ),
  grows(
    { name: "heap", title: "what lives in the heap", unit: "MiB", atMost: 1.2 },
    "heapBytes",
    mebibyte,
  ),
  // A ratio to a heap of a hundred objects would not see a few hundred bytes that each submission leaves.
  {
    name: "sustained-left",
    title: "bytes of the heap that each submission leaves behind",
    unit: "B",
    budget: atMost(256),
    runs: 1,
    measure: async (world) => {
      const { early, late, since } = await sustainedOnce(world)
      return { value: (late.heapBytes - early.heapBytes) / since }
    },
  },
  grows(
    { name: "memory", title: "what the process occupies", unit: "MiB", atMost: 1.2 },
    "residentBytes",
    mebibyte,
  ),
  grows(
    { name: "computed", title: "computing for a submission", unit: "ms", atMost: 1.3 },
    "computedMillis",
  ),
]
