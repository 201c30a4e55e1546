import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { JournalRecord } from "../../../contracts/JournalRecord.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { chainDigest, type StoredRecord } from "../../../thread-actors/Journal.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"

const Steps = Agent.make("steps", { input: Schema.Number, output: Schema.String }).handler(
  (count, run) =>
    Effect.as(
      Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => run.step(`step ${index}`, Schema.Number, Effect.succeed(index)),
      ),
      "done",
    ),
)

const Bulk = Agent.make("bulk", { input: Schema.Number, output: Schema.String }).handler(
  (count, run) =>
    Effect.as(
      Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => run.step(`step ${index}`, Schema.String, Effect.succeed("x".repeat(250 * 1024))),
      ),
      "done",
    ),
)

const pages = async (world: World, direction: "after" | "before", limit: number) => {
  const records: Array<JournalRecord> = []
  let cursor: number | undefined = direction === "after" ? 0 : Number.MAX_SAFE_INTEGER
  while (cursor !== undefined) {
    const page: { records: ReadonlyArray<JournalRecord>; next?: number } = await go(
      world.history({ [direction]: cursor, limit }),
    )
    records.push(...page.records)
    cursor = page.next
  }
  return records.map(({ sequence }) => sequence)
}

describe("reads of an untouched thread", () => {
  it("write nothing and make no tables", async () => {
    const world = makeWorld({ agents: [Steps] })
    const before = world.storage.dump()
    const { report } = await go(world.inspect())
    expect(report).toMatchObject({ born: "", revision: 0, nonterminal: 0, tailSequence: 0 })
    expect(await go(world.history())).toEqual({ records: [] })
    expect(await go(world.asReader.readState(world.address))).toEqual({ version: 0 })
    const id = "018f0000-0000-7000-8000-000000000001" as never
    expect(await go(Effect.flip(world.status(id)))).toMatchObject({ _tag: "SubmissionNotFound" })
    expect(
      await go(Effect.flip(world.asReader.awaitSettlement({ ...world.address, submissionId: id }))),
    ).toMatchObject({ _tag: "SubmissionNotFound" })
    expect((await go(world.process())).result).toEqual({ _tag: "Success", value: [] })
    expect((await go(world.recover())).result).toEqual({ _tag: "Success", value: [] })
    expect(world.storage.dump()).toBe(before)
    expect(before).toBe("[]")
    expect(world.storage.counts().written).toBe(0)
  })

  it("start the object once: the second one reads less", async () => {
    const world = makeWorld({ agents: [Steps] })
    await accepted(world.admit("steps", 1))
    world.crash()
    const { counts } = world.storage
    const readBy = async () => {
      const before = counts().read
      await go(world.inspect())
      return counts().read - before
    }
    const first = await readBy()
    expect(await readBy()).toBeLessThan(first)
  })

  it("write nothing later either", async () => {
    const world = makeWorld({ agents: [Steps] })
    const { submissionId } = await accepted(world.admit("steps", 3))
    await drain(world)
    const before = world.storage.dump()
    await go(world.inspect())
    await go(world.status(submissionId))
    await go(world.history())
    await go(world.asReader.readState(world.address))
    await go(world.asReader.awaitSettlement({ ...world.address, submissionId }))
    expect(world.storage.dump()).toBe(before)
  })
})

describe("history", () => {
  it("gives every record once in both directions, whatever the page", async () => {
    const world = makeWorld({ agents: [Steps] })
    await accepted(world.admit("steps", 5))
    await accepted(world.admit("steps", 4))
    await drain(world)
    const all = Array.from({ length: 13 }, (_, index) => index + 1)
    for (const limit of [1, 2, 5, 13, 100]) {
      expect(await pages(world, "after", limit)).toEqual(all)
      expect(await pages(world, "before", limit)).toEqual(all.toReversed())
    }
    expect(
      (await go(world.history({ before: 4 }))).records.map(({ sequence }) => sequence),
    ).toEqual([3, 2, 1])
    expect(await go(world.history({ after: 13 }))).toEqual({ records: [] })
  })

  it("refuses both directions at once", async () => {
    const world = makeWorld({ agents: [Steps] })
    expect(await go(Effect.flip(world.history({ after: 1, before: 3 })))).toMatchObject({
      _tag: "InvalidInput",
    })
  })

  it("bounds a page by its bytes, the applied input counted, and gives at least one record", async () => {
    const Big = Agent.make("big", { input: Schema.String, output: Schema.Number }).handler(
      (_input, run) => Effect.as(run.progress("note", "x".repeat(50)), 1),
    )
    const world = makeWorld({ agents: [Big], limits: { historyBytes: 200 } })
    await accepted(world.admit("big", "y".repeat(300)))
    await drain(world)
    const sizes: Array<number> = []
    let after: number | undefined = 0
    while (after !== undefined) {
      const page: { records: ReadonlyArray<unknown>; next?: number } = await go(
        world.history({ after }),
      )
      sizes.push(page.records.length)
      after = page.next
    }
    expect(sizes).toEqual([1, 2])
  })

  it("pages 10,000 records by what is in the page, and carries large records whole", async () => {
    const world = makeWorld({ agents: [Steps] })
    await accepted(world.admit("steps", 9_998))
    await drain(world)
    const before = world.storage.counts().read
    const page = await go(world.history({ after: 5_000, limit: 10 }))
    expect(page.records.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 10 }, (_, index) => 5_001 + index),
    )
    expect(world.storage.counts().read - before).toBeLessThan(40)
  })

  it("reads a few rows and no payload to start and to tell a status, at 300 records of 250 KiB", async () => {
    const world = makeWorld({ agents: [Bulk], limits: { runBytes: 2 ** 30 } })
    const { submissionId } = await accepted(world.admit("bulk", 300))
    await drain(world)
    world.crash()
    const read: Array<string> = []
    const { all } = world.own.sql
    const sql = world.own.sql as { all: typeof all }
    sql.all = (statement, ...bindings) => {
      const rows = all(statement, ...bindings)
      read.push(JSON.stringify(rows))
      return rows as never
    }
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
    sql.all = all
    expect(read.join("").length).toBeLessThan(4_096)
  }, 20_000)

  it("tells an unreadable record as ThreadUnreadable", async () => {
    const world = makeWorld({ agents: [Steps] })
    const { submissionId } = await accepted(world.admit("steps", 1))
    await drain(world)
    world.storage.sql.run("UPDATE journal SET payload = '{' WHERE kind = 'Settled'")
    const unreadable = { _tag: "ThreadUnreadable", what: "journal" }
    expect(await go(Effect.flip(world.history()))).toMatchObject(unreadable)
    expect(await go(Effect.flip(world.status(submissionId)))).toMatchObject(unreadable)
  })
})

describe("the digest chain", () => {
  const verify = (world: World): boolean => {
    const rows = world.storage.sql.all<
      StoredRecord & { digest: string } & { [column: string]: string | number | null }
    >("SELECT * FROM journal ORDER BY sequence")
    let previous = ""
    return rows.every((row) => {
      const holds = row.digest === chainDigest(previous, row)
      previous = row.digest
      return holds
    })
  }

  it("holds over every record, and breaks where one was changed or taken out", async () => {
    const world = makeWorld({ agents: [Steps] })
    await accepted(world.admit("steps", 3))
    await accepted(world.admit("steps", 1))
    await drain(world)
    expect(verify(world)).toBe(true)
    world.storage.sql.run("UPDATE journal SET recordedAt = recordedAt + 1 WHERE sequence = 3")
    expect(verify(world)).toBe(false)
    world.storage.sql.run("UPDATE journal SET recordedAt = recordedAt - 1 WHERE sequence = 3")
    expect(verify(world)).toBe(true)
    world.storage.sql.run("DELETE FROM journal WHERE sequence = 4")
    expect(verify(world)).toBe(false)
  })
})
