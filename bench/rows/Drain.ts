/**
 * Draining: submissions that do nothing wait while passes are held, and are settled once those may go on. What is timed is
 * what an owner and its threads do, not how fast somebody submits.
 */
import { Effect } from "effect"
import { AgentId, IdempotencyKey, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { atLeastOfFloor, type Row, type World } from "../Row.ts"
import { freshOwner, type Product, type Served } from "../Served.ts"

interface Shape {
  readonly letter: string
  readonly threads: number
  readonly each: number
}

const shapes: ReadonlyArray<Shape & { readonly eight: number }> = [
  { letter: "a", threads: 1, each: 200, eight: 1 },
  { letter: "b", threads: 200, each: 1, eight: 0.6 },
  { letter: "c", threads: 50, each: 20, eight: 1 },
]

const perCall = 200

/** Batches of items, thread by thread in turn: their order in each thread is kept. */
const batchesOf = ({ each, threads }: Shape): ReadonlyArray<ReadonlyArray<string>> => {
  const all = Array.from({ length: each * threads }, (_, at) => `t${at % threads}`)
  return Array.from({ length: Math.ceil(all.length / perCall) }, (_, at) =>
    all.slice(at * perCall, (at + 1) * perCall),
  )
}

export const submitAll = async (
  { client }: Product,
  ownerId: OwnerId,
  shape: Omit<Shape, "letter">,
  agent = "noop",
  input: unknown = null,
): Promise<void> => {
  for (const batch of batchesOf({ ...shape, letter: "" })) {
    const submissions = batch.map((thread) => ({
      threadId: ThreadId.make(thread),
      agent: AgentId.make(agent),
      input: input as never,
      idempotencyKey: IdempotencyKey.make(crypto.randomUUID()),
    }))
    const { outcomes } = await Effect.runPromise(client.submitMany({ ownerId, submissions }))
    const refused = outcomes.find(({ _tag }) => _tag !== "Accepted")
    if (refused !== undefined) throw new Error(`not accepted: ${JSON.stringify(refused)}`)
  }
}

export const submitAllBare = async (
  { url }: Served,
  owner: string,
  shape: Omit<Shape, "letter">,
  input: unknown = null,
): Promise<void> => {
  for (const batch of batchesOf({ ...shape, letter: "" })) {
    const items = batch.map((thread) => ({ thread, key: crypto.randomUUID(), input }))
    const response = await fetch(`${url}/submit?owner=${owner}`, {
      method: "POST",
      body: JSON.stringify(items),
    })
    if (!response.ok) throw new Error(`the floor refused: ${response.status}`)
    await response.text()
  }
}

/** Settled submissions a second. */
const perSecond = ({ each, threads }: Shape, millis: number): number =>
  (each * threads * 1_000) / millis

const drained = async (served: Served, shape: Shape, submit: () => Promise<void>) => {
  await served.ask("/bench/hold")
  await submit()
  return perSecond(
    shape,
    await served.timed("/bench/release", { settled: shape.each * shape.threads }),
  )
}

const measure =
  (shape: Shape, kind: "eight" | "best") =>
  async ({ floor, product }: World) => {
    const bare = `${kind}.${freshOwner()}`
    const floorRate = await drained(floor, shape, () => submitAllBare(floor, bare, shape))
    const ownerId = freshOwner()
    const value = await drained(product, shape, () => submitAll(product, ownerId, shape))
    return { value, floor: floorRate }
  }

const title = ({ each, threads }: Shape): string =>
  `${threads} ${threads === 1 ? "thread" : "threads"} × ${each}`

export const drainRows: ReadonlyArray<Row> = [
  ...shapes.map((shape) => ({
    name: `drain-${shape.letter}`,
    title: `settled, ${title(shape)}, against eight at once`,
    unit: "/s",
    budget: atLeastOfFloor(shape.eight),
    runs: 5,
    measure: measure(shape, "eight"),
  })),
  ...shapes
    .filter(({ letter }) => letter !== "b")
    .map((shape) => ({
      name: `drain-${shape.letter}-best`,
      title: `settled, ${title(shape)}, against the best floor`,
      unit: "/s",
      budget: atLeastOfFloor(0.5),
      runs: 5,
      measure: measure(shape, "best"),
    })),
]
