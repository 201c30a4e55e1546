import { Effect, Schema } from "effect"
import { describe, expect, it, vi } from "vitest"
import { makeGeneration } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"

const Echo = Agent.make("echo", { input: Schema.Unknown, output: Schema.Unknown }).handler(
  (input) => Effect.succeed(input),
)

const mark = (counter: number) => makeGeneration({ incarnation: 7, counter })

interface Item {
  readonly input: unknown
  readonly key?: string
  readonly agent?: string
  readonly title?: string
}

let keys = 0

const admitMany = (world: World, items: ReadonlyArray<Item>, extra: object = {}) =>
  go(
    world.asOwner.admitMany({
      ...world.address,
      submissions: items.map(({ agent = "echo", input, key, title }) => ({
        threadId: world.address.threadId,
        agent,
        input,
        idempotencyKey: key ?? `item-${++keys}`,
        ...(title === undefined ? {} : { title }),
      })),
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
      ...extra,
    } as never),
  )

/** What each came to: its sequence, or the tag of its refusal. */
const told = async (reply: ReturnType<typeof admitMany>) => {
  const { result } = await reply
  if (result._tag === "Failure") return result.error._tag
  return result.value.map((outcome) =>
    outcome._tag === "Accepted" ? outcome.receipt.sequence : outcome.error._tag,
  )
}

const sum = (world: World) =>
  world.storage.sql.all<{ rows: number }>("SELECT count(*) AS rows FROM submissions")[0]?.rows

describe("several submissions of one call", () => {
  it("are admitted in their order, in one block", async () => {
    const world = makeWorld({ agents: [Echo] })
    await accepted(world.admit("echo", 0))
    const transaction = vi.spyOn(world.storage, "transaction")
    expect(await told(admitMany(world, [{ input: 1 }, { input: 2 }, { input: 3 }]))).toEqual([
      2, 3, 4,
    ])
    expect(transaction).toHaveBeenCalledTimes(1)
    await drain(world)
    const { records } = await go(world.history())
    const inputs = records
      .filter(({ kind }) => kind === "InputApplied")
      .map(({ payload }) => (payload as { readonly input: number }).input)
    expect(inputs).toEqual([0, 1, 2, 3])
  })

  it("are refused one by one, and take no number then", async () => {
    const world = makeWorld({ agents: [Echo], limits: { inputBytes: 20 } })
    const items = [
      { input: "a" },
      { input: "a\0" },
      { input: "b", agent: "nobody" },
      { input: "x".repeat(100) },
      { input: "c", title: "\ud800" },
      { input: "d", key: "twice" },
      { input: "e", key: "twice" },
      { input: "f" },
    ]
    expect(await told(admitMany(world, items))).toEqual([
      1,
      "InvalidInput",
      "AgentNotRegistered",
      "AdmissionLimitExceeded",
      "InvalidInput",
      2,
      "IdempotencyConflict",
      3,
    ])
    expect(sum(world)).toBe(3)
  })

  it("leave an untouched thread untouched when none can ever be stored", async () => {
    const world = makeWorld({ agents: [Echo] })
    expect(await told(admitMany(world, [{ input: "a\0" }]))).toEqual(["InvalidInput"])
    expect(world.storage.dump()).toBe("[]")
  })

  it("get their first receipts when they come again, beyond every limit", async () => {
    const world = makeWorld({ agents: [Echo] })
    const items = [
      { input: 1, key: "one" },
      { input: 2, key: "two" },
    ]
    const first = await admitMany(world, items)
    world.crash({ limits: { queuedPerThread: 0, inputBytes: 0 } })
    const again = await admitMany(world, [...items, { input: 3, key: "three" }])
    if (first.result._tag === "Failure" || again.result._tag === "Failure")
      throw new Error("refused")
    expect(again.result.value.slice(0, 2)).toEqual(
      first.result.value.map((outcome) =>
        outcome._tag === "Accepted"
          ? { ...outcome, receipt: { ...outcome.receipt, duplicate: true } }
          : outcome,
      ),
    )
    expect(again.result.value[2]).toMatchObject({
      error: { _tag: "AdmissionLimitExceeded", limit: "inputBytes" },
    })
    expect(sum(world)).toBe(2)
  })

  it("fill the queue to its limit and no further", async () => {
    const world = makeWorld({ agents: [Echo], limits: { queuedPerThread: 2 } })
    const limit = "AdmissionLimitExceeded"
    expect(await told(admitMany(world, [{ input: 1 }, { input: 2 }, { input: 3 }]))).toEqual([
      1,
      2,
      limit,
    ])
  })

  it("take the room that a full owner has left, and replays take none of it", async () => {
    const world = makeWorld({ agents: [Echo] })
    await admitMany(world, [{ input: 1, key: "known" }])
    const replayOnly = { limit: "nonterminalPerOwner", actual: 9, maximum: 10 }
    const items = [
      { input: 1, key: "known" },
      { input: 2 },
      { input: 3 },
      { input: 1, key: "known" },
    ]
    expect(await told(admitMany(world, items, { room: 1, replayOnly }))).toEqual([
      1,
      2,
      "AdmissionLimitExceeded",
      1,
    ])
  })

  it("are refused as a whole by a fence that is not older, also when they are replayed", async () => {
    const world = makeWorld({ agents: [Echo] })
    await go(world.inspect(mark(5)))
    expect(await told(admitMany(world, [{ input: 1 }], { generation: mark(5) }))).toBe(
      "Unavailable",
    )
    const items = [
      { input: 1, key: "a" },
      { input: 2, key: "b", agent: "late" },
    ]
    const generation = mark(6)
    expect(await told(admitMany(world, items, { generation }))).toEqual([1, "AgentNotRegistered"])
    const Late = Agent.make("late", { input: Schema.Unknown, output: Schema.Unknown }).handler(
      Effect.succeed,
    )
    world.crash({ agents: [Echo, Late] })
    expect(await told(admitMany(world, items, { generation }))).toBe("Unavailable")
    expect(await told(admitMany(world, items, { generation: mark(7) }))).toEqual([1, 2])
  })

  it("are all accepted or none when the block fails", async () => {
    const world = makeWorld({ agents: [Echo] })
    await accepted(world.admit("echo", 0))
    world.storage.sql.run(
      `CREATE TRIGGER full BEFORE INSERT ON submissions WHEN NEW.sequence = 3
       BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`,
    )
    const call = admitMany(world, [{ input: 1, key: "x" }, { input: 2 }])
    await expect(call).rejects.toMatchObject({ _tag: "StorageUnavailable" })
    expect(sum(world)).toBe(1)
    world.storage.sql.run("DROP TRIGGER full")
    expect(await told(admitMany(world, [{ input: 1, key: "x" }]))).toEqual([2])
  })
})
