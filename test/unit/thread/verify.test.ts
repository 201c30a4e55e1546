import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { verifyChecks, type VerifyReply } from "../../../contracts/Verify.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { chainDigest, type StoredRecord } from "../../../thread-actors/Journal.ts"
import { fifo } from "../../../thread-actors/VerifyOrder.ts"
import type { EarlierRecord, LedgerRow, VerifyPage } from "../../../thread-actors/VerifyPage.ts"
import { accepted, drain, go, makeWorld, tags, type World } from "./harness.ts"
import { operate } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }
const secret = "a secret of alice's"

const worker = Agent.make("worker", { ...io, state: Schema.Number }).handler((input, run) =>
  Effect.gen(function* () {
    const one = yield* run.step("one", Schema.String, Effect.succeed(`${input} ${secret}`))
    yield* run.progress("half", { input })
    yield* run.state.update("count", (state) => (state._tag === "Some" ? state.value + 1 : 1))
    return one
  }),
)

const failing = Agent.make("failing", {
  ...io,
  error: Schema.String,
  retry: { times: 1, delay: "1 minute" },
}).handler((_input, run) =>
  Effect.andThen(run.step("one", Schema.Number, Effect.succeed(1)), Effect.fail("never")),
)

const Paid = Schema.Struct({ id: Schema.String })
const pay = Agent.tool("pay", { result: Paid, execution: "ordinary", timeout: "1 minute" })
const life = { lost: false }
const payer = Agent.make("payer", io).handler(
  (_input, run) =>
    Effect.map(
      run.tool(
        "pay it",
        pay,
        Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed({ id: "p1" }))),
        { request: { amount: 7 } },
      ),
      ({ id }) => id,
    ),
  { tools: [pay] },
)

const agents = [worker, failing, payer]

type Look = ReturnType<ReturnType<typeof operate>["verify"]>

/** What each check came to, in short. */
const inShort = (reply: VerifyReply) =>
  Object.fromEntries(reply.checks.map((check) => [check.check, check._tag]))

const passed = Object.fromEntries(verifyChecks.map((check) => [check, "Passed"]))

/** The checks that fail, with what they tell. */
const failed = async (look: Look) =>
  Object.fromEntries(
    (await look).checks.flatMap((check) => (check._tag === "Failed" ? [[check.check, check]] : [])),
  )

/** All pages of so many records. */
const pages = async (world: World, limit: number) => {
  const all: Array<VerifyReply> = []
  let after: number | undefined = 0
  while (after !== undefined) {
    const page: VerifyReply = await operate(world).verify({ after, limit })
    all.push(page)
    after = page.next
    if (all.length > 200) throw new Error("the pages do not end")
  }
  return all
}

const loseCall = async (world: World) => {
  life.lost = true
  const receipt = await accepted(world.admit("payer", "p"))
  await go(world.process({ attentionMillis: 2 }))
  world.crash()
  world.time.now += 95_000
  await go(world.recover())
  life.lost = false
  return receipt
}

/** A thread with a bit of everything: settled, failed, aborted, lost, deferred, parked, resolved, queued. */
const lived = async () => {
  const world = makeWorld({ agents })
  const operator = operate(world)
  const later = world.time.now + 5_000
  await accepted(world.admit("worker", "deferred", { notBefore: later }))
  await accepted(world.admit("worker", "a"))
  await accepted(world.admit("failing", "b"))
  const aborted = await accepted(world.admit("worker", "c"))
  await go(world.abort(aborted.submissionId))
  await drain(world)
  const decided = await loseCall(world)
  const [explained] = await operator.explain(decided.submissionId)
  const recordId = explained?.waits[0]?.recordId
  if (recordId === undefined) throw new Error("the call waits for no word")
  await accepted(world.admit("worker", "d"))
  await go(world.process())
  await operator.resolve(
    { submissionId: decided.submissionId, recordId },
    { _tag: "CompletedWithResult", result: { id: "p2" } },
  )
  await drain(world)
  const parked = await loseCall(world)
  await accepted(world.admit("worker", "e"))
  await drain(world)
  await accepted(world.admit("failing", "f"))
  await accepted(world.admit("worker", "g"))
  await accepted(world.admit("worker", "h", { notBefore: world.time.now + 1_000_000 }))
  expect(await tags(world.process())).toEqual(["Retrying"])
  expect((await go(world.inspect())).report).toMatchObject({ parked: 1, nonterminal: 4 })
  return { world, parked }
}

/** Writes all digests anew, as somebody would who covers a change up. */
const rechain = (world: World): void => {
  const { sql } = world.storage
  let digest = ""
  for (const record of sql.all<StoredRecord & { [column: string]: never }>(
    "SELECT * FROM journal ORDER BY sequence",
  )) {
    digest = chainDigest(digest, record)
    sql.run("UPDATE journal SET digest = ? WHERE sequence = ?", digest, record.sequence)
  }
}

const corrupt = (world: World, ...statements: ReadonlyArray<string>): void => {
  for (const statement of statements) world.storage.sql.run(statement)
  world.crash()
}

const sequenceOf = (world: World, where: string): number => {
  const [row] = world.storage.sql.all<{ sequence: number }>(
    `SELECT sequence FROM journal WHERE ${where} ORDER BY sequence LIMIT 1`,
  )
  if (row === undefined) throw new Error(`no record where ${where}`)
  return row.sequence
}

describe("verify", () => {
  it("passes every check, once and in order, on a thread that has seen everything", async () => {
    const { world } = await lived()
    const reply = await operate(world).verify()
    expect(reply.checks.map(({ check }) => check)).toEqual([...verifyChecks])
    expect(inShort(reply)).toEqual(passed)
    expect(reply.records).toBe((await go(world.history())).records.length)
    expect(reply).not.toHaveProperty("next")
  })

  it.each([1, 2, 3, 7, 1_000])(
    "passes it in pages of %i, which tell every record",
    async (limit) => {
      const { world } = await lived()
      const all = await pages(world, limit)
      const { records } = await go(world.history())
      expect(all.reduce((sum, page) => sum + page.records, 0)).toBe(records.length)
      expect(all).toHaveLength(Math.ceil(records.length / limit))
      for (const page of all)
        expect(inShort(page)).toEqual(
          page === all.at(-1) ? passed : { ...passed, schedules: "Skipped" },
        )
    },
  )

  it("says that nothing was ever stored in an untouched thread, and stores nothing", async () => {
    const world = makeWorld({ agents })
    const reply = await operate(world).verify()
    expect(reply).toMatchObject({ records: 0 })
    expect(reply.checks.every(({ _tag }) => _tag === "Skipped")).toBe(true)
    expect(world.storage.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
  })

  it("says what it cannot see behind the end", async () => {
    const { world } = await lived()
    const reply = await operate(world).verify({ after: 10_000 })
    expect(reply).toMatchObject({ records: 0 })
    expect(inShort(reply)).toMatchObject({ contiguity: "Skipped", ledger: "Passed" })
  })

  it("reads as many rows of a page at a long history as at a short one", async () => {
    const noop = Agent.make("noop", { input: Schema.Null, output: Schema.Null }).handler(() =>
      Effect.succeed(null),
    )
    const readAt = async (submissions: number) => {
      const world = makeWorld({ agents: [noop] })
      for (let index = 0; index < submissions; index++) await accepted(world.admit("noop", null))
      await drain(world)
      await accepted(world.admit("noop", null))
      world.crash()
      const { tailSequence } = (await go(world.inspect())).report
      const { read } = world.storage.counts()
      const page = await operate(world).verify({ after: tailSequence - 20, limit: 20 })
      expect(page).toMatchObject({ records: 20 })
      expect(inShort(page)).toEqual(passed)
      return world.storage.counts().read - read
    }
    const short = await readAt(100)
    expect(await readAt(250)).toBe(short)
    expect(short).toBeLessThan(150)
  })

  it("ends a page at its bytes, too", async () => {
    const { world } = await lived()
    world.crash({ limits: { historyBytes: 400 } })
    const all = await pages(world, 1_000)
    expect(all.length).toBeGreaterThan(5)
    expect(all.flatMap(({ checks }) => checks).filter(({ _tag }) => _tag === "Failed")).toEqual([])
  })
})

describe("verify finds", () => {
  it("a payload that was changed, by the chain and nothing else", async () => {
    const { world } = await lived()
    const at = sequenceOf(world, "kind = 'StepCompleted'")
    corrupt(
      world,
      `UPDATE journal SET payload = replace(payload, 'alice', 'carol') WHERE sequence = ${at}`,
    )
    const found = await failed(operate(world).verify())
    expect(Object.keys(found)).toEqual(["digestChain"])
    expect(found["digestChain"]).toMatchObject({
      places: 1,
      detail: `record ${at} (StepCompleted): its digest covers something else`,
    })
  })

  it("a record that is missing, where it is and once", async () => {
    const { world } = await lived()
    const at = sequenceOf(world, "kind = 'StepCompleted'")
    corrupt(world, `DELETE FROM journal WHERE sequence = ${at}`)
    const found = await failed(operate(world).verify())
    expect(Object.keys(found)).toEqual(["contiguity", "digestChain"])
    expect(found["contiguity"]).toMatchObject({
      places: 1,
      detail: `before record ${at + 1}: 1 missing from ${at} on`,
    })
    expect(found["digestChain"]).toMatchObject({ places: 1 })
  })

  it("a missing record between two pages", async () => {
    const { world } = await lived()
    corrupt(world, "DELETE FROM journal WHERE sequence = 4")
    const reply = await operate(world).verify({ after: 3, limit: 3 })
    expect(inShort(reply)).toMatchObject({ contiguity: "Failed", digestChain: "Failed" })
  })

  it.each(["on one page", "on two pages"])("a fact that stands twice (%s)", async (how) => {
    const { world } = await lived()
    const at = sequenceOf(world, "kind = 'StepCompleted'")
    const [last] = world.storage.sql.all<{ last: number }>(
      "SELECT max(sequence) AS last FROM journal",
    )
    const twin = (last?.last ?? 0) + 1
    corrupt(
      world,
      "DROP INDEX journalNames",
      `INSERT INTO journal SELECT ${twin}, submission, kind, name, part, epoch, recordedAt, digest,
         (SELECT open FROM journal WHERE sequence = ${twin - 1}),
         (SELECT settled FROM journal WHERE sequence = ${twin - 1}),
         (SELECT floor FROM journal WHERE sequence = ${twin - 1}), bytes, payload, races
       FROM journal WHERE sequence = ${at}`,
    )
    rechain(world)
    const page = how === "on one page" ? {} : { after: twin - 1 }
    const found = await failed(operate(world).verify(page))
    // A fact of one that has settled is a contradiction of the ledger, too.
    expect(Object.keys(found)).toEqual(["recordIdentity", "ledger"])
    expect(found["recordIdentity"]).toMatchObject({
      places: 1,
      detail: `record ${twin} (StepCompleted): the same fact stands on an earlier record`,
    })
  })

  it("a second settlement, and a settlement that does not stand", async () => {
    const { world } = await lived()
    const [last] = world.storage.sql.all<{ last: number }>(
      "SELECT max(sequence) AS last FROM journal",
    )
    const twin = (last?.last ?? 0) + 1
    corrupt(
      world,
      `INSERT INTO journal SELECT ${twin}, submission, kind, name, part, epoch, recordedAt, digest,
         (SELECT open FROM journal WHERE sequence = ${twin - 1}),
         (SELECT settled FROM journal WHERE sequence = ${twin - 1}) + 1,
         (SELECT floor FROM journal WHERE sequence = ${twin - 1}), bytes, payload, races
       FROM journal WHERE kind = 'Settled' LIMIT 1`,
    )
    rechain(world)
    const found = await failed(operate(world).verify())
    expect(Object.keys(found)).toEqual(["oneSettlement", "ledger"])
    const alone = await failed(operate(world).verify({ after: twin - 1 }))
    expect(Object.keys(alone)).toEqual(["oneSettlement", "ledger"])

    const gone = (await lived()).world
    const at = sequenceOf(gone, "kind = 'Settled'")
    corrupt(gone, `DELETE FROM journal WHERE sequence = ${at}`)
    expect(Object.keys(await failed(operate(gone).verify()))).toEqual([
      "contiguity",
      "digestChain",
      "oneSettlement",
      "ledger",
    ])
  })

  const changes: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["outcome", "outcome = 'failed' WHERE sequence = 2", ["ledger"]],
    ["attempts", "attempts = attempts + 1 WHERE sequence = 2", ["ledger"]],
    ["epoch", "epoch = 0 WHERE sequence = 2", ["ledger"]],
    ["state", "state = 'ready' WHERE sequence = 2", ["ledger"]],
    ["settlement", "settledSequence = 1 WHERE sequence = 2", ["oneSettlement", "ledger"]],
    ["agent", "agent = 'payer' WHERE sequence = 2", ["ledger"]],
    ["principal", "principal = 'eve' WHERE sequence = 2", ["ledger"]],
    ["acceptance", "acceptedAt = 1 WHERE sequence = 2", ["ledger"]],
    ["input", `input = '"other"' WHERE sequence = 2`, ["ledger"]],
    ["abort", `abort = '{"author":"eve"}' WHERE sequence = 4`, ["ledger"]],
    ["queued input", `input = '"other"' WHERE state = 'ready' AND attempts = 0`, ["ledger"]],
    [
      "queued state",
      "state = 'settled', settledSequence = 1, outcome = 'completed' WHERE state = 'ready' AND attempts = 0",
      ["ledger"],
    ],
    ["parked state", "state = 'ready' WHERE state = 'unknown'", ["ledger"]],
    ["unknown state", "state = '?' WHERE state = 'unknown'", ["ledger"]],
    ["time", "notBefore = 1 WHERE notBefore > 1800000900000", ["ledger"]],
  ]

  it.each(changes)("a ledger row with another %s", async (_what, change, checks) => {
    const { world } = await lived()
    corrupt(world, `UPDATE submissions SET ${change}`)
    const found = await failed(operate(world).verify())
    expect(Object.keys(found)).toEqual(checks)
  })

  it("a ledger row that is missing, with or without a record", async () => {
    for (const which of [
      "sequence = 2",
      "state = 'ready' AND attempts = 0 AND notBefore IS NULL",
    ]) {
      const { world } = await lived()
      corrupt(world, `DELETE FROM submissions WHERE ${which}`)
      expect(Object.keys(await failed(operate(world).verify()))).toContain("ledger")
    }
  })

  it.each([
    "DELETE FROM calls",
    "UPDATE calls SET unknownAt = NULL",
    "UPDATE calls SET part = part + 1",
    "UPDATE calls SET submission = 2",
    "DELETE FROM parked",
    "UPDATE parked SET resolved = 1",
    "INSERT INTO parked (resolved, sequence) VALUES (1, 2)",
    "DELETE FROM deferred",
    "INSERT INTO deferred (sequence, notBefore) VALUES (2, 7)",
    "UPDATE meta SET parked = 2",
    "UPDATE journal SET open = NULL WHERE kind = 'Progress'",
    "UPDATE journal SET settled = settled + 1 WHERE kind = 'Settled'",
    "UPDATE journal SET floor = floor + 1 WHERE kind = 'InputApplied'",
    "UPDATE journal SET floor = 1 WHERE kind = 'Settled'",
    "UPDATE journal SET floor = 9 WHERE kind = 'Settled'",
  ])("what stands beside the ledger and says something else: %s", async (statement) => {
    const { world } = await lived()
    corrupt(world, statement)
    expect(Object.keys(await failed(operate(world).verify()))).toEqual(["ledger"])
  })

  it("an open call that is not the journal's, on the last page alone, too", async () => {
    for (const change of [
      "part = part + 1",
      "unknownAt = NULL",
      "name = 'other'",
      "submission = 2",
    ]) {
      const { world } = await lived()
      const { tailSequence } = (await go(world.inspect())).report
      corrupt(world, `UPDATE calls SET ${change}`)
      const found = await failed(operate(world).verify({ after: tailSequence - 1 }))
      expect(found).toMatchObject({
        ledger: { detail: expect.stringMatching(/^an open call of submission/) as string },
      })
    }
  })

  it("a second settlement of one that the ledger does not have", async () => {
    const { world } = await lived()
    const at = sequenceOf(world, "kind = 'Progress' AND submission = 2")
    corrupt(
      world,
      `UPDATE journal SET kind = 'Settled', name = NULL WHERE sequence = ${at}`,
      "DELETE FROM submissions WHERE sequence = 2",
    )
    const { oneSettlement } = await failed(operate(world).verify())
    expect(oneSettlement).toMatchObject({
      places: 1,
      detail: expect.stringMatching(/an earlier settlement stands on this page$/) as string,
    })
  })

  it("an input applied out of order behind a run longer than what is in reach", () => {
    const row = (sequence: number) => ({ sequence, notBefore: null }) as LedgerRow
    const page = (earlier: ReadonlyArray<Partial<EarlierRecord>>) =>
      ({
        after: 500,
        earlier,
        records: [{ sequence: 501, kind: "InputApplied", submission: 2, recordedAt: 9 }],
        rows: new Map([[2, row(2)]]),
      }) as unknown as VerifyPage
    const step = { sequence: 400, kind: "StepCompleted", submission: 3, recordedAt: 8 }
    expect(fifo(page([{ ...step, open: 3 }]))).toMatchObject({
      places: ["record 501 (InputApplied): submission 3 was applied before 2"],
    })
    expect(fifo(page([{ ...step, open: 1 }]))).toMatchObject({ places: [] })
    expect(fifo(page([{ ...step, open: null }]))).toMatchObject({ _tag: "Skipped" })
    expect(fifo(page([{ ...step, sequence: 1, open: null }]))).toMatchObject({ places: [] })
  })

  it("inputs that were applied in another order, also over the edge of a page", async () => {
    const world = makeWorld({ agents })
    for (const input of ["a", "b", "c"]) await accepted(world.admit("worker", input))
    await drain(world)
    const swap = "CASE submission WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE submission END"
    corrupt(
      world,
      "DROP INDEX journalNames",
      `UPDATE journal SET submission = ${swap}`,
      "UPDATE submissions SET sequence = -3 WHERE sequence = 3",
      "UPDATE submissions SET sequence = 3 WHERE sequence = 2",
      "UPDATE submissions SET sequence = 2 WHERE sequence = -3",
    )
    rechain(world)
    const late = sequenceOf(world, "kind = 'InputApplied' AND submission = 2")
    const told = `record ${late} (InputApplied): submission 3 was applied before 2`
    const found = await failed(operate(world).verify())
    // The counters say that the queue began behind what had not run.
    expect(Object.keys(found)).toEqual(["fifo", "ledger"])
    expect(found["fifo"]).toMatchObject({ places: 1, detail: told })
    expect(await failed(operate(world).verify({ after: late - 1, limit: 4 }))).toMatchObject({
      fifo: { places: 1, detail: told },
    })
  })

  it("an input that was applied before its time, or after one that came later and was due", async () => {
    const world = makeWorld({ agents })
    const notBefore = world.time.now + 1_000
    await accepted(world.admit("worker", "a", { notBefore }))
    await accepted(world.admit("worker", "b"))
    await drain(world)
    expect(inShort(await operate(world).verify())).toEqual(passed)
    corrupt(world, `UPDATE submissions SET notBefore = ${notBefore + 1} WHERE sequence = 1`)
    expect(Object.keys(await failed(operate(world).verify()))).toEqual(["fifo"])
    corrupt(world, `UPDATE submissions SET notBefore = ${notBefore - 1_000} WHERE sequence = 1`)
    expect(await failed(operate(world).verify())).toMatchObject({
      fifo: { detail: expect.stringContaining("submission 2 was applied before 1") as string },
    })
  })

  it.each([
    ["no JSON", "'{'", "its payload is no JSON object"],
    ["no object", "'[1]'", "its payload is no JSON object"],
    ["nothing", "''", "its payload is no JSON object"],
    ["not canonical", `'{"b":1, "a":2}'`, "its payload is not canonical JSON"],
    ["bytes", "x'00ff'", "a column holds what it is not for"],
    [
      "deeper than anything",
      `'{"a":' || replace(hex(zeroblob(5000)), '0', '[') || replace(hex(zeroblob(5000)), '0', ']') || '}'`,
      "its payload is not canonical JSON",
    ],
  ])("a payload that is %s, and fails for nothing of it", async (_what, payload, detail) => {
    for (const kind of ["StepCompleted", "Settled", "InputApplied", "AbortRequested"]) {
      const { world } = await lived()
      const at = sequenceOf(world, `kind = '${kind}'`)
      corrupt(world, `UPDATE journal SET payload = ${payload} WHERE sequence = ${at}`)
      const found = await failed(operate(world).verify())
      expect(Object.keys(found)).toContain("schemaRoundTrip")
      expect(Object.keys(found)).toContain("digestChain")
      expect(JSON.stringify(found["schemaRoundTrip"])).toContain(detail)
    }
  })

  it.each([
    "kind = 'Invented'",
    "kind = x'01'",
    "name = x'01' WHERE name = 'one' AND submission = 2",
    "part = 'x' WHERE sequence = 3",
    "epoch = 'x'",
    "recordedAt = -1",
    "digest = x'01'",
    "open = 'x'",
    "settled = 'x'",
    "floor = 'x'",
    "bytes = 'x'",
    "bytes = bytes + 1",
    "submission = 'x' WHERE name IS NULL",
  ])("a record whose columns mean nothing, and fails for nothing of it: %s", async (change) => {
    const { world } = await lived()
    corrupt(world, `UPDATE journal SET ${change}`)
    expect(Object.keys(await failed(operate(world).verify()))).toContain("schemaRoundTrip")
    await pages(world, 3)
  })

  it("what it finds without telling what anybody wrote", async () => {
    const { world } = await lived()
    corrupt(
      world,
      `UPDATE journal SET kind = '${secret.replaceAll("'", "''")}', payload = payload || 'x'`,
      `UPDATE submissions SET state = '${secret.replaceAll("'", "''")}'`,
    )
    const reply = await operate(world).verify()
    expect(JSON.stringify(reply)).not.toContain("secret")
    expect(JSON.stringify(reply)).not.toContain("pay it")
  })
})
