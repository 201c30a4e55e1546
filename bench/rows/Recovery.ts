/**
 * What it takes to take up work again after a thread's object died: rows read, of a thread with ten open submissions and a
 * past.
 *
 * - R1 Counted is from the death until the answer of `recover`: the start of the object, the owner's visit, the recovery. A
 *   lost attempt rests before it goes on, so that nothing else is in it.
 * - R2 The thread's own records are counted in its tables: its open submissions, and what the journal has of them.
 */
import { Effect, type Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { AgentId, ThreadId } from "../../contracts/Identifiers.ts"
import type { Counts } from "../Meter.ts"
import { atMostOfFloor, type Chart, type Row, type Sample } from "../Row.ts"
import { freshOwner, type Product } from "../Served.ts"

const thread = ThreadId.make("t0")

const sizes = [100, 1_000, 10_000, 100_000] as const

const openSubmissions = 10

interface Recovered {
  readonly read: number
  readonly own: number
}

const recovered = async (product: Product, records: number): Promise<Recovered> => {
  const ownerId = freshOwner("counted")
  const at = { owner: ownerId, thread }
  const submit = (agent: string, input: typeof Schema.Json.Type) =>
    Effect.runPromise(
      product.client.submit({ ownerId, threadId: thread, agent: AgentId.make(agent), input }),
    )
  await product.ask("/bench/count")
  await submit("noop", null)
  await product.ask("/bench/release", { settled: 1 })
  await product.ask("/bench/records", { ...at, count: records })
  for (let next = 0; next < openSubmissions; next++) await submit("wait", { waitMillis: 1_000 })
  // The first is under way when its object dies.
  await pause(300)
  const own = Number(await product.ask("/bench/open", at)) // R2
  await product.ask("/bench/die", at)
  await product.ask("/bench/counts", { owner: ownerId })
  await Effect.runPromise(product.client.rpc.wake({ ownerId, threadId: thread }))
  // A lost attempt rests for a while before it is looked at.
  for (let look = 0; look < 4_000; look++) {
    const counts = JSON.parse(await product.ask("/bench/peek", { owner: ownerId })) as {
      readonly thread: Counts
    }
    const read = counts.thread.readAtEnd["recover"]
    if (read !== undefined) return { read, own } // R1
    await pause(10)
  }
  throw new Error("the thread was not recovered")
}

const known = new Map<number, Promise<Recovered>>()

const recoveredOnce = (product: Product, records: number): Promise<Recovered> => {
  const found = known.get(records) ?? recovered(product, records)
  known.set(records, found)
  return found
}

const recoverRow = (records: number): Row => ({
  name: `recover-${records}`,
  title: `rows read to recover a thread with ${openSubmissions} open submissions, of ${records.toLocaleString("en-US")} records`,
  unit: "",
  budget: atMostOfFloor(10, "its own records"),
  runs: 1,
  measure: async ({ product }): Promise<Sample> => {
    const { own, read } = await recoveredOnce(product, records)
    return { value: read, floor: own }
  },
})

const [least, most] = [sizes[0], sizes[sizes.length - 1] ?? sizes[0]]

export const recoveryRows: ReadonlyArray<Row> = [
  ...sizes.map(recoverRow),
  {
    name: "recover-growth",
    title: `the same of ${most.toLocaleString("en-US")} records, against ${least}`,
    unit: "",
    budget: atMostOfFloor(1, `${least} records`),
    runs: 1,
    measure: async ({ product }) => ({
      value: (await recoveredOnce(product, most)).read,
      floor: (await recoveredOnce(product, least)).read,
    }),
  },
]

export const recoveryChart: Chart = {
  name: "recovery",
  title: `Rows read to recover a thread with ${openSubmissions} open submissions, by the length of its past`,
  x: "records",
  y: "rows read",
  points: sizes.map((at) => ({ row: `recover-${at}`, at })),
}
