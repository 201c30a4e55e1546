/**
 * A crash in the blocks of what runs tell each other: an owner carries it over real threads, and what comes of it is
 * what comes of it without a crash, in every thread that takes part.
 */
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import { AgentId, IdempotencyKey, StepName, ThreadId } from "../../../contracts/Identifiers.ts"
import type { JournalRecord } from "../../../contracts/JournalRecord.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { makeLoom } from "../loom/Loom.ts"
import { ownerId } from "../owner/OwnerWorld.ts"

const go = Effect.runPromise
const io = { input: Schema.Json, output: Schema.Json }

const Leaf = Agent.make("leaf", io)
const Asks = Agent.make("asks", io)
const agents = [
  Leaf.handler((input, run) => run.step("one", Schema.Json, Effect.succeed(input))),
  Asks.handler((_, run) => Effect.as(run.approval("ok", { summary: "?" }), "asked")),
  Agent.make("sends", io).handler((_, run) =>
    Effect.as(run.send("tell", { threadId: ThreadId.make("b"), agent: Leaf, input: 1 }), "sent"),
  ),
  Agent.make("parent", io).handler((_, run) => Effect.orDie(run.child("one", Leaf, 1))),
  Agent.make("leaves", io).handler((_, run) =>
    Effect.as(Effect.orDie(run.child("one", Leaf, 1, { detached: true })), "left"),
  ),
  Agent.make("holds", io).handler((_, run) => Effect.orDie(run.child("one", Asks, 1))),
  Agent.make("talks", io).handler(
    Effect.fn("Talks")(function* (_, run) {
      yield* run.approval("ok", { summary: "?" })
      return (yield* run.takeInputs("more")).map(({ input }) => input)
    }),
  ),
]

/** The alarm of a watch may stand when nothing needs it any more: it is soon over. */
const limits = { watchMillis: 100 }

type Loom = ReturnType<typeof makeLoom>

const submit = (loom: Loom, agent: string, input: string, delivery: "queue" | "join" = "queue") =>
  go(
    loom.client.submit({
      ownerId,
      threadId: ThreadId.make("a"),
      agent: AgentId.make(agent),
      input,
      idempotencyKey: IdempotencyKey.make(input),
      delivery,
    }),
  )

const about = { ownerId, threadId: ThreadId.make("a"), author: "ann", reason: "a test" }

/** Each tells its story up to where nothing is left to do. */
const tell = {
  sends: async (loom: Loom) => void (await submit(loom, "sends", "1")),
  parent: async (loom: Loom) => void (await submit(loom, "parent", "1")),
  /** A child that nobody waits for. */
  leaves: async (loom: Loom) => void (await submit(loom, "leaves", "1")),
  /** A parent is aborted whose child is open. */
  holds: async (loom: Loom) => {
    const { submissionId } = await submit(loom, "holds", "1")
    await loom.quiet()
    await go(loom.client.abort({ ...about, submissionId }))
  },
  talks: async (loom: Loom) => {
    const { submissionId } = await submit(loom, "talks", "1")
    await submit(loom, "talks", "2", "join")
    await loom.quiet()
    const name = StepName.make("ok")
    await go(loom.client.resolveApproval({ ...about, submissionId, name, approved: true }))
  },
}
type Tale = keyof typeof tell

const tales: Record<string, ReadonlyArray<Tale>> = {
  send: ["sends"],
  child: ["leaves"],
  wait: ["parent"],
  join: ["talks"],
  settleChild: ["parent", "holds"],
  abortChild: ["holds"],
  acknowledge: ["sends", "parent", "holds"],
}

/** What differs between equal runs. */
const dropped = new Set(["acceptedAt", "attempts"])

const childOf = (records: ReadonlyArray<JournalRecord>): string | undefined =>
  records
    .filter(({ kind }) => kind === "ChildRequested")
    .map(({ payload }) => (payload as { readonly threadId: string }).threadId)[0]

/** What happened in the threads that took part; ids as the place of their first mention. */
const journals = async (loom: Loom, tale: Tale): Promise<ReadonlyArray<string>> => {
  const own = (await loom.history("a")).records
  const other = tale === "sends" ? "b" : childOf(own)
  const others = other === undefined ? [] : (await loom.history(other)).records
  const ids: Array<string> = []
  const placeOf = (id: string): string => {
    if (!ids.includes(id)) ids.push(id)
    return `id ${ids.indexOf(id)}`
  }
  return [...own, ...others]
    .filter(({ kind }) => kind !== "AttemptInterrupted")
    .map(({ kind, name, payload, submissionId }) =>
      JSON.stringify({ submissionId, kind, name, payload }, (key, value: unknown) =>
        dropped.has(key)
          ? undefined
          : typeof value === "string" && (key.endsWith("Id") || value === other)
            ? placeOf(value)
            : value,
      ),
    )
}

const calm = new Map<Tale, Promise<ReadonlyArray<string>>>()

const undisturbed = (tale: Tale) => {
  const known = calm.get(tale)
  if (known !== undefined) return known
  const made = (async () => {
    const loom = makeLoom({ agents, limits })
    await tell[tale](loom)
    await loom.quiet()
    return journals(loom, tale)
  })()
  calm.set(tale, made)
  return made
}

const crashIn = async (tale: Tale, point: string) => {
  const loom = makeLoom({ agents, limits, threadDiesAt: point })
  await tell[tale](loom)
  await loom.quiet()
  expect(loom.hasDied()).toBe(true)
  const found = await journals(loom, tale)
  expect(found).toEqual(await undisturbed(tale))
  expect(found.filter((record) => record.includes('"Settled"'))).toHaveLength(2)
  expect(await go(loom.client.obligations({ ownerId }))).toMatchObject({ obligations: [] })
}

/** The stories that pass a block are told side by side. */
export const crashInCarried = async (point: string): Promise<void> => {
  const block = point.split(":")[0] ?? ""
  const told = tales[block] ?? []
  expect(told).not.toEqual([])
  await Promise.all(told.map((tale) => crashIn(tale, point)))
}
