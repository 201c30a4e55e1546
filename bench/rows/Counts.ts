/**
 * Counts: rows, blocks, alarm writes and calls, as the platform and a counting storage tell them. They do not drift, so
 * one run is enough.
 */
import { Effect } from "effect"
import { AgentId, type OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { setTimeout as pause } from "node:timers/promises"
import type { Counts } from "../Meter.ts"
import { atMost, type Budget, type Row } from "../Row.ts"
import { freshOwner, type Product } from "../Served.ts"
import { commitsOf, type OwnerCounts, quiet, settling, shownMillis, take } from "../Settled.ts"

const thread = ThreadId.make("t0")
const noop = { agent: AgentId.make("noop"), input: null, threadId: thread }

const submitted = (product: Product, ownerId: OwnerId): Promise<unknown> =>
  Effect.runPromise(product.client.submit({ ...noop, ownerId }))

/** An owner with one thread that has settled a submission, so that objects and tables are there. */
const warm = async (product: Product, known = 0): Promise<OwnerId> => {
  const ownerId = freshOwner("counted")
  await settling(product, 1, () => submitted(product, ownerId))
  if (known > 0) await product.ask("/bench/lanes", { owner: ownerId, count: known })
  await pause(shownMillis)
  await quiet(product, ownerId)
  await take(product, ownerId)
  return ownerId
}

/** The commits of both objects together. */
const commitsIn = async (product: Product, ownerId: OwnerId, work: () => Promise<unknown>) => {
  const commits = await commitsOf(product, { ownerId, thread }, work)
  return commits.owner + commits.thread
}

/** What a submission costs, over all objects of its owner. */
export interface Cost {
  readonly read: number
  readonly written: number
  readonly blocks: number
  readonly alarmWrites: number
  /** Calls of threads besides those that admit. */
  readonly calls: number
  /** Commits that became durable, by the logs of both databases. */
  readonly commits: number
}

const admissions: ReadonlySet<string> = new Set(["admit", "admitMany"])

const costOf = ({ owner, thread: threads }: OwnerCounts, times: number, commits: number): Cost => ({
  read: (owner.read + threads.read) / times,
  written: (owner.written + threads.written) / times,
  blocks: (owner.blocks + threads.blocks) / times,
  alarmWrites: (owner.alarmWrites + threads.alarmWrites) / times,
  calls:
    Object.entries(threads.calls)
      .filter(([operation]) => !admissions.has(operation))
      .reduce((sum, [, count]) => sum + count, 0) / times,
  commits: commits / times,
})

interface Counting {
  readonly times: number
  readonly known?: number
  /** Whether what is shown of threads counts, too: a batch of its own for many submissions. */
  readonly shows?: boolean
}

const counted = async (
  product: Product,
  { known = 0, shows = true, times }: Counting,
  work: (ownerId: OwnerId) => Promise<unknown>,
): Promise<Cost> => {
  const ownerId = await warm(product, known)
  const counting = async () => {
    await work(ownerId)
    if (shows) await pause(shownMillis)
    await quiet(product, ownerId)
  }
  // A log that has just taken a hundred thousand rows begins anew; their commits are those of any other.
  const commits = known > 0 ? Number.NaN : await commitsIn(product, ownerId, counting)
  if (known > 0) await counting()
  return costOf(await take(product, ownerId), times, commits)
}

/** One at a time, each after the one before has come to rest. */
const lone = (product: Product, known = 0): Promise<Cost> => {
  const times = 20
  return counted(product, { known, times }, async (ownerId) => {
    for (let at = 0; at < times; at++) {
      await settling(product, 1, () => submitted(product, ownerId))
      await quiet(product, ownerId)
    }
  })
}

/** All wait in one thread before the first begins; submitted by one client after the other. */
const full = (product: Product): Promise<Cost> => {
  const times = 100
  return counted(product, { times }, async (ownerId) => {
    await product.ask("/bench/hold")
    for (let at = 0; at < times; at++) await submitted(product, ownerId)
    await product.ask("/bench/release", { settled: times })
  })
}

/** The commits of processing alone: all were submitted, and that is durable, before the first begins. */
const fullCommits = async (product: Product): Promise<number> => {
  const times = 100
  const ownerId = await warm(product)
  await product.ask("/bench/hold")
  for (let at = 0; at < times; at++) await submitted(product, ownerId)
  await pause(shownMillis)
  const commits = await commitsIn(product, ownerId, async () => {
    await product.ask("/bench/release", { settled: times })
    await pause(shownMillis)
    await quiet(product, ownerId)
  })
  return commits / times
}

/** What of that is the submit itself: passes are held, and everything else comes later. */
const submitAlone = (product: Product): Promise<Cost> => {
  const times = 20
  return counted(product, { times, shows: false }, async (ownerId) => {
    const notBefore = Date.now() + 86_400_000
    for (let at = 0; at < times; at++) {
      await Effect.runPromise(product.client.submit({ ...noop, ownerId, notBefore }))
      await quiet(product, ownerId)
    }
  })
}

/** The blocks that have written before a submit's answer leaves. */
const beforeReply = async (product: Product): Promise<number> => {
  const ownerId = await warm(product)
  await product.ask("/bench/hold")
  await submitted(product, ownerId)
  await product.ask("/bench/release", { settled: 1 })
  await quiet(product, ownerId)
  const { order } = (await take(product, ownerId)).owner
  return order.slice(0, order.indexOf("owner submit")).filter((one) => one.endsWith("block")).length
}

/** Measured once a run of the command, whichever rows ask for it. */
const once = <A>(measure: (product: Product) => Promise<A>) => {
  let known: Promise<A> | undefined
  return (product: Product): Promise<A> => (known ??= measure(product))
}

const loneCost = once((product) => lone(product))
const fullCost = once(full)
const submitCost = once(submitAlone)

/** Reads of owners that know so many threads, in one place: the last is held against the first. */
const loneReads = new Map<number, Promise<Cost>>()
const readsAt = (product: Product, known: number): Promise<Cost> => {
  const found = loneReads.get(known) ?? lone(product, known)
  loneReads.set(known, found)
  return found
}

/** A pass that finds nothing due: rows read and written. */
const caughtUp = async (product: Product, lanes: number): Promise<Counts> => {
  const ownerId = await warm(product)
  await product.ask("/bench/lanes", { owner: ownerId, count: lanes, work: "dispatch" })
  await take(product, ownerId)
  await Effect.runPromise(product.client.rpc.runMaintenance({ ownerId }))
  await quiet(product, ownerId)
  return (await take(product, ownerId)).owner
}

const statusReads = async (product: Product): Promise<number> => {
  const ownerId = await warm(product)
  await Effect.runPromise(product.client.rpc.recoveryStatus({ ownerId, threadId: thread }))
  const { owner, thread: threads } = await take(product, ownerId)
  if (Object.keys(threads.calls).length > 0) throw new Error("recoveryStatus called a thread")
  return owner.read
}

const count = (
  name: string,
  title: string,
  budget: Budget | undefined,
  measure: (product: Product) => Promise<number>,
): Row => ({
  name,
  title,
  unit: "",
  budget,
  runs: 1,
  measure: async ({ product }) => ({ value: await measure(product) }),
})

export const countRows: ReadonlyArray<Row> = [
  count(
    "commits-submit",
    "durable commits of a submit, over all objects",
    atMost(3),
    async (product) => (await submitCost(product)).commits,
  ),
  count(
    "commits-lone",
    "durable commits of processing one, alone",
    atMost(4),
    async (product) => (await loneCost(product)).commits - (await submitCost(product)).commits,
  ),
  count(
    "commits-full",
    "durable commits of processing one, in a full queue",
    atMost(1.5),
    fullCommits,
  ),
  count("flushes-reply", "blocks that write before a submit's answer", atMost(2), beforeReply),
  count(
    "written-lone",
    "rows written of a submission, alone",
    atMost(18),
    async (product) => (await loneCost(product)).written,
  ),
  count(
    "written-full",
    "rows written of a submission, in a full queue",
    atMost(12),
    async (product) => (await fullCost(product)).written,
  ),
  count(
    "alarms-lone",
    "alarm writes of a submission, alone",
    atMost(4),
    async (product) => (await loneCost(product)).alarmWrites,
  ),
  count(
    "alarms-full",
    "alarm writes of a submission, in a full queue",
    atMost(0.3),
    async (product) => (await fullCost(product)).alarmWrites,
  ),
  count(
    "calls-lone",
    "calls of the thread besides its admission, alone",
    atMost(1),
    async (product) => (await loneCost(product)).calls,
  ),
  count(
    "calls-full",
    "calls of the thread besides its admission, in a full queue",
    atMost(0.2),
    async (product) => (await fullCost(product)).calls,
  ),
  count("status-read", "rows read by recoveryStatus, which calls nobody", atMost(2), statusReads),
  ...[10, 1_000, 100_000].map((known) =>
    count(
      `read-${known}`,
      `rows read of a submission, of ${known.toLocaleString("en-US")} threads known`,
      atMost(25),
      async (product) => (await readsAt(product, known)).read,
    ),
  ),
  ...[10, 10_000].flatMap((lanes) => [
    count(
      `pass-read-${lanes}`,
      `rows read by a pass that finds nothing due, of ${lanes.toLocaleString("en-US")} lanes`,
      atMost(6),
      async (product) => (await caughtUp(product, lanes)).read,
    ),
    count(
      `pass-written-${lanes}`,
      `rows it writes, of ${lanes.toLocaleString("en-US")} lanes`,
      atMost(3),
      async (product) => (await caughtUp(product, lanes)).written,
    ),
  ]),
]
