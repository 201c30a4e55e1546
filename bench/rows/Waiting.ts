/** Threads whose handlers wait: a slot bounds how many start at once, not how long they run. */
import { atMostOfFloor, type Row, type World } from "../Row.ts"
import { freshOwner } from "../Served.ts"
import { submitAll } from "./Drain.ts"

const waiting =
  (shape: { readonly threads: number; readonly waitMillis: number }, ideal: number) =>
  async ({ product }: World) => {
    const { threads, waitMillis } = shape
    const ownerId = freshOwner()
    await product.ask("/bench/hold")
    await submitAll(product, ownerId, { threads, each: 1 }, "wait", { waitMillis })
    return { value: await product.timed("/bench/release", { settled: threads }), floor: ideal }
  }

/** Of the documented default, by which the ideal is computed. */
const slots = 16

export const waitingRows: ReadonlyArray<Row> = [
  {
    name: "wait-50ms",
    title: "100 threads × 50 ms in the handler, against as many at once as there are slots",
    unit: "ms",
    budget: atMostOfFloor(1.5, "ideal"),
    runs: 5,
    measure: waiting({ threads: 100, waitMillis: 50 }, (100 * 50) / slots),
  },
  {
    name: "wait-5s",
    title: "200 threads × 5 s in the handler, against 5 s",
    unit: "ms",
    budget: atMostOfFloor(1.5, "ideal"),
    runs: 3,
    measure: waiting({ threads: 200, waitMillis: 5_000 }, 5_000),
  },
]
