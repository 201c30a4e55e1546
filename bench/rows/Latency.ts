/** One call, from its beginning to its answer. */
import { Effect } from "effect"
import { AgentId, ThreadId } from "../../contracts/Identifiers.ts"
import { atMostOfFloor, median, type Row, type World } from "../Row.ts"
import { freshOwner } from "../Served.ts"

const calls = 2_000
const thread = ThreadId.make("a")

/** The milliseconds of each of so many calls, one after the other. */
const timesOf = async (times: number, call: () => Promise<unknown>): Promise<Array<number>> => {
  const all: Array<number> = []
  for (let at = 0; at < times; at++) {
    const start = performance.now()
    await call()
    all.push(performance.now() - start)
  }
  return all
}

const medianOf = async (times: number, call: () => Promise<unknown>): Promise<number> =>
  median(await timesOf(times, call))

const micros = (millis: number): number => millis * 1_000

/** One after the other inside the Worker: what is timed is the calls, all together. */
const between = async ({ product }: World) => {
  const owner = freshOwner()
  const perCall = async (path: string) => {
    await product.timed(path, { owner, count: 200 })
    return micros((await product.timed(path, { owner, count: calls })) / calls)
  }
  const floor = await perCall("/bench/bare")
  return { value: await perCall("/bench/typed"), floor }
}

const throughEdge = async ({ floor, product }: World) => {
  const ownerId = freshOwner()
  const status = () =>
    Effect.runPromise(product.client.rpc.recoveryStatus({ ownerId, threadId: thread }))
  const bare = () => floor.ask("/bare", { owner: ownerId })
  await medianOf(100, status)
  await medianOf(100, bare)
  return { value: micros(await medianOf(500, status)), floor: micros(await medianOf(500, bare)) }
}

/** Waits until what was submitted has settled, so that the next submit finds a quiet owner. */
const quiet = async (served: World["floor"], call: () => Promise<unknown>): Promise<number> => {
  await served.ask("/bench/count")
  const start = performance.now()
  await call()
  const took = performance.now() - start
  await served.ask("/bench/release", { settled: 1 })
  return took
}

const medianQuiet = async (
  served: World["floor"],
  times: number,
  call: () => Promise<unknown>,
): Promise<number> => {
  const all: Array<number> = []
  for (let at = 0; at < times; at++) all.push(await quiet(served, call))
  return median(all)
}

/**
 * A submit of one client on loopback, without the hop to a Worker that does nothing: to a quiet owner, or right behind the
 * one before, whose run then shares the core of this machine on which all objects are.
 */
const submit =
  (isQuiet: boolean) =>
  async ({ floor, product }: World) => {
    const ownerId = freshOwner()
    const call = () =>
      Effect.runPromise(
        product.client.submit({
          ownerId,
          threadId: thread,
          agent: AgentId.make("noop"),
          input: null,
        }),
      )
    const bare = () =>
      fetch(`${floor.url}/submit?owner=best.${ownerId}`, {
        method: "POST",
        body: JSON.stringify([{ thread, key: crypto.randomUUID(), input: null }]),
      }).then((response) => response.text())
    const hop = (served: World["floor"]) => () => served.ask("/bench/noop")
    await medianOf(100, call)
    await medianOf(100, bare)
    const hopOf = {
      product: await medianOf(300, hop(product)),
      floor: await medianOf(300, hop(floor)),
    }
    const times = (served: World["floor"], one: () => Promise<unknown>) =>
      isQuiet ? medianQuiet(served, 300, one) : medianOf(300, one)
    return {
      value: micros((await times(product, call)) - hopOf.product),
      floor: micros((await times(floor, bare)) - hopOf.floor),
    }
  }

export const latencyRows: ReadonlyArray<Row> = [
  {
    name: "rpc",
    title: "a unary call between objects, against the same native call",
    unit: "µs",
    budget: atMostOfFloor(3, "native"),
    runs: 5,
    measure: between,
  },
  {
    name: "rpc-edge",
    title: "the same through the edge, against a Worker that makes the native call",
    unit: "µs",
    budget: atMostOfFloor(4, "native"),
    runs: 5,
    measure: throughEdge,
  },
  {
    name: "submit",
    title: "a submit's answer from a quiet owner, without the hop to a Worker that does nothing",
    unit: "µs",
    budget: atMostOfFloor(1.5),
    runs: 5,
    measure: submit(true),
  },
  {
    name: "submit-busy",
    title: "the same, each right behind the one before, on whose run it waits for the core",
    unit: "µs",
    budget: undefined,
    runs: 5,
    measure: submit(false),
  },
]
