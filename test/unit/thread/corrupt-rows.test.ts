/**
 * Columns that hold what they are not for. Whatever one holds, the thread tells it as unreadable, its report can be
 * sent, input is still accepted where that needs nothing of it, and the thread can be forgotten.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { StorageFailure } from "../../../platform/ObjectStorage.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, refusal, until, type World } from "./harness.ts"
import { lose } from "./calls.ts"
import { operate, refused, taken } from "./operators.ts"
import { answers, makeCase } from "./reconcilers.ts"
import { doubted } from "./unknowns.ts"

const echo = Agent.make("agent", { input: Schema.String, output: Schema.String }).handler((input) =>
  Effect.succeed(input),
)

/** Two that wait for their turn. */
const queued = async () => {
  const world = makeWorld({ agents: [echo] })
  const first = await accepted(world.admit("agent", "a", { idempotencyKey: "first" }))
  await accepted(world.admit("agent", "b"))
  return { world, submissionId: first.submissionId }
}

/** One that has settled, and one that waits. */
const used = async () => {
  const world = makeWorld({ agents: [echo] })
  await accepted(world.admit("agent", "a", { title: "orders" }))
  await go(world.inspect(world.generation()))
  await drain(world)
  const { submissionId } = await accepted(world.admit("agent", "b"))
  return { world, submissionId }
}

/** A run whose object was lost with a call open. */
const called = async () => {
  const { world } = makeCase(() => Effect.succeed(answers.uncertain))
  const { submissionId } = await accepted(world.admit("agent", ""))
  await lose(world)
  return { world, submissionId }
}

const corrupt = (world: World, statement: string): void => {
  world.storage.sql.run(statement)
  world.crash()
}

const ledgerOf = async (world: World) =>
  (await operate(world).verify()).checks.find(({ check }) => check === "ledger")?._tag

const placesOf = async (world: World) => {
  const { checks } = await operate(world).verify()
  const ledger = checks.find(({ check }) => check === "ledger")
  return ledger?._tag === "Failed" ? ledger.places : 0
}

/** Its report can be sent, and has recovery find out. */
const expectTold = async (world: World, what: string) => {
  const { report } = await go(world.inspect())
  expect(report).toMatchObject({ recoverAt: 0 })
  expect(report).not.toHaveProperty("head")
  const unreadable = { _tag: "Failure", error: { _tag: "ThreadUnreadable", what } }
  const dump = world.storage.dump()
  expect((await go(world.recover())).result).toMatchObject(unreadable)
  expect((await go(world.process())).result).toMatchObject(unreadable)
  expect(world.storage.dump()).toBe(dump)
  expect(await ledgerOf(world)).toBe("Failed")
}

const expectForgettable = async (world: World) => {
  await taken(operate(world).forget({ abort: true }))
  expect(world.storage.sql.all("SELECT 1 FROM submissions")).toEqual([])
  expect(world.storage.sql.all("SELECT 1 FROM journal")).toEqual([])
}

const text = `'abc'`
const count = [text, "-1", "1.5", "x'00'"]
const millis = [...count, "9007199254741"]
const columns: Readonly<Record<string, ReadonlyArray<string>>> = {
  id: [text, "x'00'"],
  principal: ["''", `'a' || char(10)`, "x'00'"],
  agent: [`'x y'`, "''", "x'00'"],
  acceptedAt: millis,
  inputDigest: ["x'00'"],
  state: [`'?'`, `'settled'`],
  epoch: count,
  attempts: count,
  ended: count,
  vanished: count,
  vanishedVersion: ["x'00'"],
  retries: ["x'00'"],
  dueAt: millis,
  suspension: ["x'00'"],
  abort: ["x'00'"],
  outcome: [`'completed'`, `'?'`],
  settledSequence: count,
  inputBytes: count,
}

const valuesOf = (table: Readonly<Record<string, ReadonlyArray<string>>>) =>
  Object.entries(table).flatMap(([column, values]) =>
    values.map((value) => ({ column, value, change: `${column} = ${value}` })),
  )

describe("a submission whose column holds what it is not for", () => {
  it.each(valuesOf(columns).filter(({ value }) => value !== `'settled'`))(
    "is told as unreadable: $change",
    async ({ change }) => {
      const { world } = await queued()
      corrupt(world, `UPDATE submissions SET ${change} WHERE sequence = 1`)
      await expectTold(world, "submissions")
      await accepted(world.admit("agent", "c"))
      await expectForgettable(world)
    },
  )

  it.each(millis)("is told where it was deferred to no time: %s", async (value) => {
    const { world } = await queued()
    corrupt(world, `UPDATE submissions SET notBefore = ${value} WHERE sequence = 1`)
    expect((await go(world.recover())).result).toMatchObject({
      error: { _tag: "ThreadUnreadable", what: "submissions" },
    })
    expect(await ledgerOf(world)).toBe("Failed")
    await expectForgettable(world)
  })

  it("is told by verify also once it has settled", async () => {
    const { world } = await used()
    for (const change of ["id = 'abc'", "ended = 'abc'", "outcome = NULL"]) {
      world.storage.sql.run("SAVEPOINT before")
      world.storage.sql.run(`UPDATE submissions SET ${change} WHERE sequence = 1`)
      expect(await ledgerOf(world)).toBe("Failed")
      world.storage.sql.run("ROLLBACK TO before")
      world.storage.sql.run("RELEASE before")
      expect(await ledgerOf(world)).toBe("Passed")
    }
  })

  it("is a refusal to whoever sends its key again, and no defect", async () => {
    for (const change of ["id = 'abc'", "acceptedAt = 'abc'", "inputDigest = x'00'"]) {
      const { world } = await queued()
      corrupt(world, `UPDATE submissions SET ${change} WHERE sequence = 1`)
      expect(await refusal(world.admit("agent", "a", { idempotencyKey: "first" }))).toMatchObject({
        _tag: "Unavailable",
        retryable: false,
      })
    }
  })

  const intent = `{"author":"a","principal":7,"reason":"b"}`
  it.each([
    ["abort", "?"],
    ["abort", intent],
    ["suspension", "null"],
    ["suspension", `{"kind":"call","dueAt":"x"}`],
    ["suspension", `{"kind":"call","dueAt":-1}`],
    ["suspension", `{"kind":"?","dueAt":null}`],
  ])("is told where its text means nothing: %s %s", async (column, value) => {
    const { world } = await called()
    world.storage.sql.run("DELETE FROM calls")
    world.storage.sql.run("UPDATE submissions SET state = 'suspended'")
    const before = await placesOf(world)
    corrupt(world, `UPDATE submissions SET state = 'suspended', ${column} = '${value}'`)
    expect((await go(world.recover())).result).toMatchObject({
      error: { _tag: "ThreadUnreadable", what: "submissions" },
    })
    expect(await placesOf(world)).toBeGreaterThan(before)
    await expectForgettable(world)
  })

  it.each(["?", "[]", `{"":1}`, `{"":{"tries":"x","dueAt":1}}`, `{"":{"tries":1,"dueAt":-1}}`])(
    "is told where its retries mean nothing: %s",
    async (value) => {
      const { world } = await queued()
      corrupt(world, `UPDATE submissions SET retries = '${value}' WHERE sequence = 1`)
      expect((await go(world.process())).result).toMatchObject({
        error: { _tag: "ThreadUnreadable", what: "submissions" },
      })
      await expect(operate(world).explain()).rejects.toMatchObject({ _tag: "ThreadUnreadable" })
      expect(await ledgerOf(world)).toBe("Failed")
      await expectForgettable(world)
    },
  )
})

describe("an open call whose column holds what it is not for", () => {
  const calls = { tool: ["''", "x'00'"], part: count, preparedAt: millis, deadlineAt: millis }

  it.each(valuesOf({ ...calls, tries: count, name: ["''", "x'00'"], unknownAt: millis }))(
    "makes its thread unreadable: $change",
    async ({ change }) => {
      const { world } = await called()
      corrupt(world, `UPDATE calls SET ${change}`)
      const { report } = await go(world.inspect())
      expect(report).toMatchObject({ recoverAt: 0, waits: [] })
      expect((await go(world.recover())).result).toMatchObject({
        error: { _tag: "ThreadUnreadable", what: "calls" },
      })
      expect(await ledgerOf(world)).toBe("Failed")
      await accepted(world.admit("agent", "c"))
      await expectForgettable(world)
    },
  )

  it("that waits for a word makes it so, too", async () => {
    const { question, world } = await doubted()
    corrupt(world, "UPDATE calls SET unknownAt = 'abc'")
    expect((await go(world.inspect())).report).toMatchObject({ recoverAt: 0, waits: [] })
    expect(
      await refused(operate(world).resolve(question, { _tag: "NeverHappened" })),
    ).toMatchObject({ _tag: "ThreadUnreadable", what: "calls" })
    await expectForgettable(world)
  })
})

describe("a list beside the ledger that names nothing", () => {
  it.each([
    ["deferred", "UPDATE deferred SET notBefore = 'abc'"],
    ["deferred", "INSERT INTO deferred (notBefore, sequence) VALUES ('abc', 7)"],
    ["parked", "INSERT INTO parked (resolved, sequence) VALUES (1, 'abc')"],
  ])("makes the thread unreadable: %s", async (what, statement) => {
    const { world } = await queued()
    await accepted(world.admit("agent", "c", { notBefore: world.time.now + 1_000 }))
    corrupt(world, statement)
    const { report } = await go(world.inspect())
    expect(report).toMatchObject({ recoverAt: 0 })
    expect((await go(world.process())).result).toMatchObject({
      error: { _tag: "ThreadUnreadable", what },
    })
    expect(await ledgerOf(world)).toBe("Failed")
    await expectForgettable(world)
  })
})

describe("a last record whose counters do not decode", () => {
  const counters = { open: count, settled: [...count, "99"], floor: count, digest: ["x'00'"] }

  it.each(valuesOf(counters))(
    "keeps everything but admission and reads from the thread: $change",
    async ({ change }) => {
      const { submissionId, world } = await used()
      corrupt(
        world,
        `UPDATE journal SET ${change} WHERE sequence = (SELECT max(sequence) FROM journal)`,
      )
      await expectTold(world, "journal")
      expect((await go(world.inspect())).report).toMatchObject({ nonterminal: 1 })
      expect((await go(world.status(submissionId))).state).toBe("ready")
      expect((await go(world.abort(submissionId))).result).toMatchObject({
        error: { _tag: "ThreadUnreadable", what: "journal" },
      })
      await accepted(world.admit("agent", "c"))
      await expectForgettable(world)
    },
  )

  const Kid = Agent.make("kid", { input: Schema.Json, output: Schema.Json })
  const Waits = Agent.make("waits", { input: Schema.Json, output: Schema.Json })
  const childId = "c".repeat(32)
  const link = { threadId: "p", submissionId: "01900000-0000-7000-8000-000000000001", name: "kid" }

  /** A run that waits for its child, and a child that waits for its turn, in a thread that cannot be read. */
  const related = async () => {
    const world = makeWorld({
      agents: [
        Kid.handler(() => Effect.succeed(1)),
        Waits.handler((_, run) => Effect.as(Effect.orDie(run.child("kid", Kid, 1)), 1)),
      ],
    })
    const said = (more: object) =>
      ({
        ...world.address,
        principal: "alice",
        generation: world.generation(),
        now: world.time.now,
        ...more,
      }) as never
    const words = { author: "heddle", reason: "over" }
    const parent = { ...link, depth: 1 }
    const admitKid = (id: string) => world.admit("kid", 1, { idempotencyKey: id, parent } as never)
    const { submissionId } = await accepted(world.admit("waits", 1))
    await go(world.process())
    await accepted(admitKid(childId))
    await go(world.asOwner.abortChild(said({ ...words, childId: "d".repeat(32) })))
    const entries = await taken(go(world.asOwner.claimOutbox(said({ limit: 8 }))))
    const [entry] = entries as never as [{ readonly id: string }]
    corrupt(world, "UPDATE journal SET floor = 'x' WHERE sequence = 2")
    const settlement = {
      submissionId,
      sequence: 1,
      outcome: "completed",
      output: 1,
      settledAt: world.time.now,
      attempts: 1,
    }
    const outcome = (result: object) =>
      go(world.asOwner.acknowledgeOutbox(said({ results: [{ id: entry.id, result }] })))
    return {
      world,
      entries: () => world.storage.sql.all("SELECT 1 FROM outbox"),
      outcome,
      says: {
        "a child's end": () =>
          go(
            world.asOwner.settleChild(
              said({ submissionId, name: "kid", childId: entry.id, settlement }),
            ),
          ),
        "a child's abort": () => go(world.asOwner.abortChild(said({ ...words, childId }))),
        "a question after a child": () => go(world.asOwner.askChild(said({ childId }))),
        "a child that is to end": () => go(admitKid("d".repeat(32))),
        "a schedule": () =>
          go(
            world.asOwner.schedule(
              said({ name: "hourly", cron: "0 * * * *", agent: "kid", input: 1 }),
            ),
          ),
      },
    }
  }
  type Saying = keyof Awaited<ReturnType<typeof related>>["says"]

  it.each<Saying>([
    "a child's end",
    "a child's abort",
    "a question after a child",
    "a child that is to end",
    "a schedule",
  ])("is not written over by what comes from outside: %s", async (what) => {
    const { says, world } = await related()
    const dump = world.storage.dump()
    expect((await says[what]()).result).toMatchObject({ _tag: "Failure" })
    expect(world.storage.dump()).toBe(dump)
    await expectTold(world, "journal")
  })

  it("leaves what others have taken carried, and the end of a child that nobody takes to be told later", async () => {
    const { entries, outcome, world } = await related()
    const journal = () => world.storage.sql.all("SELECT * FROM journal")
    const before = journal()
    await taken(outcome({ _tag: "Refused", tag: "AgentNotRegistered", message: "no such agent" }))
    expect(entries()).toHaveLength(1)
    await taken(outcome({ _tag: "Taken" }))
    expect(entries()).toHaveLength(0)
    expect(journal()).toEqual(before)
  })

  it("whose time does not decode stops no clock", async () => {
    const { world } = await used()
    corrupt(world, "UPDATE journal SET recordedAt = 'abc'")
    const { acceptedAt } = await accepted(world.admit("agent", "c"))
    expect(acceptedAt).toBe(world.time.now)
  })
})

describe("a record without a name", () => {
  const brokenKinds = ["InputApplied", "AttemptInterrupted"].flatMap((kind) =>
    ["payload = '{'", "payload = '7'", "payload = x'00'", "kind = '?'"].map((change) => ({
      change,
      kind,
    })),
  )

  /** An open run with both kinds, behind so many that have settled. */
  const lost = async (settled: number) => {
    const made = makeWorld({ agents: [echo] })
    for (let one = 0; one < settled; one++) await accepted(made.admit("agent", ""))
    await drain(made)
    await accepted(made.admit("agent", ""))
    made.crash({ stopAt: "settle:before" })
    void go(made.process()).catch(() => undefined)
    await made.stopped()
    made.crash({ stopAt: "settle:before" })
    await go(made.recover())
    made.time.now += 60_000
    void go(made.process()).catch(() => undefined)
    await made.stopped()
    made.crash()
    return made
  }

  it.each(brokenKinds)("of the open run is found: $kind, $change", async ({ change, kind }) => {
    const world = await lost(2)
    const last = `(SELECT max(sequence) FROM journal WHERE kind = '${kind}')`
    corrupt(world, `UPDATE journal SET ${change} WHERE sequence = ${last}`)
    const dump = world.storage.dump()
    expect((await go(world.recover())).result).toMatchObject({
      error: { _tag: "ThreadUnreadable", what: "journal" },
    })
    expect(world.storage.dump()).toBe(dump)
    await accepted(world.admit("agent", "c"))
    await expectForgettable(world)
  })

  it("is looked for by the run's own sequences: nothing scans the journal but for where it was opened", async () => {
    const world = await lost(2)
    const { sql } = world.own as unknown as { sql: { all: typeof world.own.sql.all } }
    const { all } = sql
    const seen: Array<{ statement: string; bindings: ReadonlyArray<unknown> }> = []
    sql.all = (statement, ...bindings) => {
      if (/FROM journal/.test(statement)) seen.push({ statement, bindings })
      return all(statement, ...bindings)
    }
    await go(world.recover())
    sql.all = all
    const scans = seen.filter(({ bindings, statement }) =>
      all<{ detail: string }>(
        `EXPLAIN QUERY PLAN ${statement}`,
        ...(bindings as Array<number>),
      ).some(({ detail }) => /SCAN journal/.test(detail)),
    )
    expect(seen.filter(({ statement }) => /name IS NULL/.test(statement))).toHaveLength(1)
    expect(scans.every(({ statement }) => /ORDER BY sequence DESC LIMIT 1/.test(statement))).toBe(
      true,
    )
  })
})

describe("a thread whose own row does not decode", () => {
  const meta = {
    fence: [`'garbage'`, "x'00'"],
    refused: [`'garbage'`, "x'00'"],
    revision: count,
    parked: count,
    paused: count,
    pauseGeneration: [`'garbage'`],
    forgottenAt: millis,
  }

  it.each(valuesOf(meta))(
    "changes nothing, whatever fence was there, and still reads: $change",
    async ({ change }) => {
      const { submissionId, world } = await used()
      corrupt(world, `UPDATE meta SET ${change}`)
      await expectTold(world, "meta")
      const dump = world.storage.dump()
      const unavailable = { _tag: "Unavailable", retryable: false }
      expect(await refusal(world.admit("agent", "c"))).toMatchObject(unavailable)
      expect(await refused(operate(world).pause())).toMatchObject(unavailable)
      expect(await refused(operate(world).forget())).toMatchObject(unavailable)
      expect((await go(world.abort(submissionId))).result).toMatchObject({
        error: { _tag: "ThreadUnreadable", what: "meta" },
      })
      await go(world.inspect(world.generation()))
      expect(world.storage.dump()).toBe(dump)
      expect((await go(world.history())).records).toHaveLength(2)
      expect((await go(world.status(submissionId))).state).toBe("ready")
      await expectForgettable(world)
    },
  )

  it("for its title or the words of a pause goes on, and verify tells", async () => {
    for (const change of [
      `title = '${"x".repeat(300)}'`,
      "title = x'00'",
      "paused = 1, pause = '?'",
      `paused = 1, pause = '{"author":"a","principal":"b","reason":"c","sinceAt":-1}'`,
      "paused = 1, pause = x'00'",
    ]) {
      const { world } = await used()
      corrupt(world, `UPDATE meta SET ${change}`)
      expect((await go(world.inspect())).report).toMatchObject({ nonterminal: 1 })
      expect(await ledgerOf(world)).toBe("Failed")
      await accepted(world.admit("agent", "c"))
      expect((await go(world.recover())).result).toMatchObject({ _tag: "Success" })
    }
  })

  it.each(["UPDATE meta SET fence = 'garbage'", "UPDATE journal SET open = 'abc'"])(
    "is forgotten once what still runs has ended, and takes no record before: %s",
    async (change) => {
      const { world } = makeCase(() => Effect.succeed(answers.uncertain))
      await accepted(world.admit("agent", ""))
      await go(world.process({ attentionMillis: 20 }))
      // What a block that fails leaves behind: the next one reads the header again.
      const { transaction } = world.storage
      const storage = world.storage as { transaction: typeof transaction }
      storage.transaction = () => {
        throw new StorageFailure(new Error("the disk"))
      }
      await go(Effect.exit(world.admit("agent", "")))
      storage.transaction = transaction
      world.storage.sql.run(change)
      const journal = () => world.storage.sql.all("SELECT * FROM journal")
      const before = journal()
      expect(await refused(operate(world).forget({ abort: true }))).toMatchObject({
        _tag: "WorkOwed",
        nonterminal: 1,
      })
      await until(
        "the attempt ends",
        () => world.thread().isRunning(),
        (isRunning) => !isRunning,
      )
      expect(journal()).toEqual(before)
      await expectForgettable(world)
    },
  )
})
