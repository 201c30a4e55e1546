/** `verify` of what a thread has for others, of children it waits for, and of its schedules. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type MessageId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { OutboxResult } from "../../../contracts/Outbox.ts"
import type { Settlement } from "../../../contracts/Settlement.ts"
import { verifyChecks } from "../../../contracts/Verify.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"

const io = { input: Schema.Json, output: Schema.Json }
const Kid = Agent.make("kid", io)
const secret = "a secret of alice's"
const to = (thread: string) => ({ threadId: ThreadId.make(thread), agent: Kid, input: secret })

/** Sends, has children of every kind, and waits for a decision. */
const Talks = Agent.make("talks", io).handler(
  Effect.fn(function* (_, run) {
    yield* run.send("first", to("b"))
    yield* run.send("second", to("b"))
    yield* run.send("other", to("c"))
    yield* Effect.orDie(run.child("loose", Kid, secret, { detached: true }))
    yield* Effect.orDie(
      run.race("quick", {
        kid: run.child("loser", Kid, secret),
        step: run.step("winner", Schema.Int, Effect.succeed(1)),
      }),
    )
    const asked = run.approval("may I", { summary: secret })
    const kids = ["one", "two", "three"].map((name) => Effect.ignore(run.child(name, Kid, secret)))
    yield* Effect.all([asked, ...kids], { concurrency: "unbounded" })
    return "done"
  }),
)
const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const agents = [Talks, Echo]

const words = (world: World) => ({
  ...world.address,
  principal: "alice",
  generation: world.generation(),
  now: world.time.now,
})

const entries = async (world: World): Promise<ReadonlyArray<MessageId>> => {
  const { result } = await go(world.asOwner.claimOutbox({ ...words(world), limit: 50 }))
  if (result._tag === "Failure") throw result.error
  return result.value.flatMap((entry) => ("id" in entry ? [entry.id] : []))
}

const acknowledge = (world: World, id: MessageId, result: OutboxResult["result"]) =>
  go(world.asOwner.acknowledgeOutbox({ ...words(world), results: [{ id, result }] }))

const byName = (world: World, kind: string, name: string): MessageId => {
  const [row] = world.storage.sql.all<{ id: MessageId }>(
    "SELECT id FROM outbox WHERE kind = ? AND name = ?",
    kind,
    name,
  )
  if (row === undefined) throw new Error(`nothing queued: ${kind} ${name}`)
  return row.id
}

/** The word of a child that has settled. */
const settleChild = async (world: World, submissionId: string, name: string) => {
  const [child] = world.storage.sql.all<{ childId: string }>(
    "SELECT childId FROM children WHERE name = ?",
    name,
  )
  const settlement: Pick<Settlement, "outcome" | "output"> = { outcome: "completed", output: name }
  await go(
    world.asOwner.settleChild({
      ...words(world),
      submissionId,
      name,
      childId: child?.childId,
      settlement: { ...settlement, submissionId, sequence: 1, attempts: 1, settledAt: 1 },
    } as never),
  )
}

const schedule = (world: World, name: string, cron: string) =>
  go(
    world.asOwner.schedule({
      ...words(world),
      name,
      cron,
      agent: "echo",
      input: { secret },
    } as never),
  )

/** A child that has settled and whose parent has not heard, and a run that has said all and waits. */
const talked = async () => {
  const world = makeWorld({ agents })
  const parent = {
    submissionId: "01890000-0000-7000-8000-000000000001",
    threadId: ThreadId.make("p"),
    name: "mine",
    depth: 1,
  }
  const child = { idempotencyKey: "c".repeat(32), parent } as never
  await accepted(world.admit("echo", "child", child))
  const { submissionId } = await accepted(world.admit("talks", secret))
  await schedule(world, "hourly", "0 * * * *")
  await schedule(world, "never", "0 0 30 2 *")
  world.time.now += 3_600_000
  await drain(world)
  await acknowledge(world, byName(world, "Message", "other"), {
    _tag: "Refused",
    tag: "OperationDenied",
    message: "no",
  })
  await acknowledge(world, byName(world, "Child", "three"), { _tag: "Taken" })
  await settleChild(world, submissionId, "three")
  await go(
    world.asOwner.abortChild({
      ...words(world),
      childId: "d".repeat(32),
      author: "p",
      reason: "r",
    } as never),
  )
  return { world, submissionId }
}

const corrupt = (world: World, ...statements: ReadonlyArray<string>): void => {
  for (const statement of statements) world.storage.sql.run(statement)
  world.crash()
}

const passed = Object.fromEntries(verifyChecks.map((check) => [check, "Passed"]))

const inShort = async (world: World, after = 0) => {
  const { checks } = await operate(world).verify({ after })
  return Object.fromEntries(checks.map((check) => [check.check, check._tag]))
}

const failed = async (world: World) => {
  const { checks } = await operate(world).verify()
  return Object.fromEntries(
    checks.flatMap((check) => (check._tag === "Failed" ? [[check.check, check]] : [])),
  )
}

const expectFound = async (check: string, statement: string, detail: string) => {
  const { world } = await talked()
  corrupt(world, statement)
  const dump = world.storage.dump()
  const found = await failed(world)
  expect(Object.keys(found)).toContain(check)
  expect(found[check]).toMatchObject({ detail: expect.stringContaining(detail) as string })
  expect(JSON.stringify(found)).not.toContain("secret")
  expect(world.storage.dump()).toBe(dump)
  return Object.keys(found)
}

describe("verify of a conversation", () => {
  it("passes while everything is under way, also in pages", async () => {
    const { world } = await talked()
    const { sql } = world.storage
    const kinds = sql.all("SELECT kind, count(*) AS n FROM outbox GROUP BY kind ORDER BY kind")
    expect(kinds).toEqual([
      { kind: "Child", n: 4 },
      { kind: "ChildAbort", n: 1 },
      { kind: "ChildNotice", n: 1 },
      { kind: "Message", n: 3 },
    ])
    expect(sql.all("SELECT name, aborted FROM children ORDER BY name")).toEqual([
      { name: "loser", aborted: 1 },
      { name: "one", aborted: 0 },
      { name: "two", aborted: 0 },
    ])
    expect(sql.all("SELECT 1 FROM schedules")).toHaveLength(2)
    expect(await inShort(world)).toEqual(passed)
    let after: number | undefined = 0
    let pages = 0
    while (after !== undefined) {
      const { checks, next } = await operate(world).verify({ after, limit: 2 })
      expect(checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
      after = next
      pages += 1
    }
    expect(pages).toBeGreaterThan(5)
  })

  it("passes once the run is to end and waits for its children, and once it has", async () => {
    const { submissionId, world } = await talked()
    await go(world.abort(submissionId as never))
    expect(world.storage.sql.all("SELECT 1 FROM children WHERE aborted = 0")).toEqual([])
    expect(await inShort(world)).toEqual(passed)
    for (const name of ["one", "two", "loser"]) await settleChild(world, submissionId, name)
    expect(await go(world.status(submissionId as never))).toMatchObject({ state: "settled" })
    expect(await inShort(world)).toEqual(passed)
  })

  it("passes after a parked message is carried again for a run that has settled", async () => {
    const { submissionId, world } = await talked()
    await go(world.abort(submissionId as never))
    for (const name of ["one", "two", "loser"]) await settleChild(world, submissionId, name)
    await taken(operate(world).retry(submissionId as never))
    expect(world.storage.sql.all("SELECT 1 FROM outbox WHERE parkedAt IS NOT NULL")).toEqual([])
    expect(await inShort(world)).toEqual(passed)
  })

  it("passes after a message stands behind later ones because somebody had it carried again", async () => {
    const { submissionId, world } = await talked()
    world.time.now += 60_000
    const first = byName(world, "Message", "first")
    await acknowledge(world, first, { _tag: "Refused", tag: "OperationDenied", message: "no" })
    await taken(operate(world).retry(submissionId as never))
    const order = "SELECT name FROM outbox WHERE target LIKE '%/b' ORDER BY sequence"
    expect(world.storage.sql.all(order)).toEqual([{ name: "second" }, { name: "first" }])
    expect(await inShort(world)).toEqual(passed)
  })

  it("passes when all was taken, and once its content is pruned", async () => {
    const { submissionId, world } = await talked()
    for (const id of await entries(world)) await acknowledge(world, id, { _tag: "Taken" })
    for (const id of await entries(world)) await acknowledge(world, id, { _tag: "Taken" })
    await go(world.abort(submissionId as never))
    for (const name of ["one", "two", "loser"]) await settleChild(world, submissionId, name)
    await taken(operate(world).retry(submissionId as never))
    for (let turn = 0; turn < 3; turn++)
      for (const id of await entries(world)) await acknowledge(world, id, { _tag: "Taken" })
    expect(await inShort(world)).toEqual(passed)
    world.crash({ settledAfterMillis: 1_000 })
    for (let turn = 0; turn < 20; turn++) {
      world.time.now += 120_000
      await go(world.process())
    }
    const pruned = "SELECT 1 FROM journal WHERE kind = 'ChildRequested' AND payload = ''"
    expect(world.storage.sql.all(pruned)).toHaveLength(5)
    const held = { digestChain: "Skipped", schemaRoundTrip: "Skipped" }
    expect(await inShort(world)).toEqual({ ...passed, ...held })
  })

  it("has nothing to say of a thread that was forgotten", async () => {
    const { world } = await talked()
    await go(world.abort((await go(world.history())).records.at(-1)?.submissionId as never))
    world.storage.sql.run("DELETE FROM outbox")
    world.storage.sql.run("DELETE FROM children")
    await taken(operate(world).forget({ abort: true }))
    await expect(operate(world).verify()).rejects.toMatchObject({ _tag: "ThreadForgotten" })
  })

  it("says so where there is more than it looks at", async () => {
    const { world } = await talked()
    world.crash({ limits: { historyRecords: 2 } })
    const seen: Array<string> = []
    let after: number | undefined = 0
    while (after !== undefined) {
      const page: Awaited<ReturnType<ReturnType<typeof operate>["verify"]>> = await operate(
        world,
      ).verify({ after })
      for (const check of page.checks)
        if (check._tag === "Skipped" && page.next === undefined) seen.push(check.check)
      after = page.next
    }
    expect(seen).toEqual(["outbox", "children"])
  })
})

describe("verify finds in the outbox", () => {
  const message = "WHERE kind = 'Message' AND name = 'first'"
  it.each([
    ["an id", `id = 'x' ${message}`, "its id is not its fact's"],
    ["a name", `name = 'nobody' ${message}`, "its id is not its fact's"],
    ["a kind", `kind = 'Child' ${message}`, "its id is not its fact's"],
    ["a submission", `submission = 999 ${message}`, "its submission is not in the ledger"],
    ["a target", `target = 'acme/x' ${message}`, "its record names another target"],
    ["a size", `bytes = 1 ${message}`, "its size is another"],
    ["no deadline", `deadlineAt = NULL ${message}`, "it has no deadline"],
    ["a time that is lost", `nextAt = NULL ${message}`, "nobody is to carry it"],
    ["a time out of turn", "nextAt = 1 WHERE name = 'second'", "before the first of its target"],
    ["no reason to be parked", "parkedFor = NULL WHERE name = 'other'", "for what, it is parked"],
    ["no word why", "parkedFor = '' WHERE name = 'other'", "for what, it is parked"],
    ["parked and carried", "nextAt = 1 WHERE name = 'other'", "it is parked and to be carried"],
    [
      "a parked child",
      "parkedAt = 1, parkedFor = 'x', nextAt = NULL WHERE kind = 'Child' AND name = 'one'",
      "it is parked, and its run waits for it",
    ],
    ["a child's deadline", "deadlineAt = 1 WHERE kind = 'Child'", "it has a deadline"],
    ["a child's target", "target = 'acme/x' WHERE kind = 'Child'", "names another target"],
    ["an abort's words", "payload = '{}' WHERE kind = 'ChildAbort'", "its words do not decode"],
    [
      "an abort's child",
      "payload = replace(payload, '\"childId\":\"', '\"childId\":\"x') WHERE kind = 'ChildAbort'",
      "it names another child",
    ],
    ["a notice's target", "target = 'acme/x' WHERE kind = 'ChildNotice'", "has another parent"],
    ["a column", "tries = 'x'", "a column holds what it is not for"],
    ["a kind that is none", `kind = 'Letter' ${message}`, "a column holds what it is not for"],
  ])("an entry with another thing: %s", async (_what, change, detail) => {
    expect(await expectFound("outbox", `UPDATE outbox SET ${change}`, detail)).toEqual(["outbox"])
  })

  it("an entry behind what was sent later", async () => {
    const { world } = await talked()
    corrupt(
      world,
      "UPDATE journal SET recordedAt = recordedAt + 1000 WHERE name = 'first'",
      "UPDATE outbox SET queuedAt = queuedAt + 1000 WHERE name = 'first'",
    )
    expect(await failed(world)).toMatchObject({
      outbox: { detail: expect.stringContaining("behind what was sent later") as string },
    })
  })

  it("an entry whose record is gone, on the last page alone, too", async () => {
    const { world } = await talked()
    corrupt(world, "DELETE FROM journal WHERE kind = 'MessageQueued'")
    const { tailSequence } = (await go(world.inspect())).report
    expect(await inShort(world, tailSequence - 1)).toMatchObject({ outbox: "Failed" })
  })

  it("an abort of a child that was not told to end, and a notice before the settlement", async () => {
    await expectFound("outbox", "UPDATE children SET aborted = 0", "was not told to end by then")
    const open = "UPDATE submissions SET state = 'ready', outcome = NULL WHERE sequence = 1"
    await expectFound("outbox", open, "its submission has not settled")
    await expectFound("outbox", "UPDATE submissions SET parent = NULL", "is nobody's child")
  })
})

describe("verify finds among children", () => {
  const one = "WHERE name = 'one'"
  it.each([
    [`DELETE FROM children ${one}`, "nothing waits for its settlement"],
    [`UPDATE children SET childId = 'x' ${one}`, "its row names another child"],
    [`UPDATE children SET threadId = 'x' ${one}`, "its row names another child"],
    [`UPDATE children SET name = 'x' ${one}`, "nothing waits for its settlement"],
    ["UPDATE children SET name = 'loose' WHERE name = 'one'", "it is detached and has a row"],
    [
      `INSERT INTO children SELECT submission, 'three', childId, threadId, 0 FROM children ${one}`,
      "it has settled and is waited for",
    ],
    ["UPDATE children SET submission = 1 WHERE name = 'one'", "nothing waits for its settlement"],
    ["UPDATE children SET aborted = 'x' WHERE name = 'one'", "a column holds what it is not for"],
    ["DELETE FROM waits WHERE name = 'one'", "no wait takes its answer"],
    [
      "INSERT INTO children VALUES (1, 'none', 'x', 'y', 0)",
      "a child of submission 1: its parent has settled before it",
    ],
    ["INSERT INTO children VALUES (99, 'none', 'x', 'y', 0)", "is not in the ledger"],
    ["UPDATE abortMarks SET abort = '{}'", "does not decode"],
    ["UPDATE abortMarks SET abort = x'00'", "does not decode"],
  ])("%s", async (statement, detail) => {
    await expectFound("children", statement, detail)
  })

  it("a child that lost a race and was not told to end", async () => {
    await expectFound("children", "UPDATE children SET aborted = 0", "it was not told to end")
  })

  it("an open child of a run that has settled", async () => {
    const { submissionId, world } = await talked()
    await go(world.abort(submissionId as never))
    const row = world.storage.sql.all("SELECT * FROM children WHERE name = 'one'")[0]
    for (const name of ["one", "two", "loser"]) await settleChild(world, submissionId, name)
    const { childId, submission, threadId } = row as { [column: string]: string }
    corrupt(
      world,
      `INSERT INTO children VALUES (${submission}, 'one', '${childId}', '${threadId}', 1)`,
    )
    expect(await failed(world)).toMatchObject({
      children: { detail: expect.stringContaining("its parent has settled before it") as string },
    })
  })

  it("a run that only waits for its children, one of which was not told", async () => {
    const { submissionId, world } = await talked()
    await go(world.abort(submissionId as never))
    corrupt(world, "UPDATE children SET aborted = 0 WHERE name = 'one'")
    expect(await failed(world)).toMatchObject({
      children: { detail: expect.stringContaining("it was not told to end") as string },
    })
  })

  it.each([
    [`'"childId":"', '"childId":"x'`, "its id is not that of its run and name"],
    [`'"threadId":"', '"threadId":"x'`, "its thread is not that of its id"],
  ])("a request that names another child: %s", async (change, detail) => {
    const requests = "kind = 'ChildRequested'"
    const statement = `UPDATE journal SET payload = replace(payload, ${change}) WHERE ${requests}`
    await expectFound("children", statement, detail)
  })

  it("an answer of another child", async () => {
    const statement = `UPDATE journal SET payload = replace(payload, '"childId":"', '"childId":"x')
      WHERE kind = 'ChildSettled'`
    await expectFound("children", statement, "it is of another child")
  })
})

describe("verify finds among schedules", () => {
  const hourly = "WHERE name = 'hourly'"
  it.each([
    [`comes = 0 ${hourly}`, "it is not listed as its next time has it"],
    ["comes = 1 WHERE name = 'never'", "it is not listed as its next time has it"],
    [`dueAt = NULL ${hourly}`, "it comes and nobody looks at it"],
    ["dueAt = 1 WHERE name = 'never'", "it is looked at and never comes"],
    [`dueAt = dueAt - 1 ${hourly}`, "it is looked at before it comes"],
    [`dueAt = dueAt + 1 ${hourly}`, "it is looked at later than it comes"],
    [`tries = 1 ${hourly}`, "for what, it waits"],
    [`cron = 'x' ${hourly}`, "its expression means nothing"],
    [`input = '{' ${hourly}`, "its input is not canonical JSON"],
    [`lastAt = NULL ${hourly}`, "what, it gave last"],
    [
      `lastSubmissionId = '00000000-0000-4000-8000-000000000001' ${hourly}`,
      "what it gave last is not in the ledger",
    ],
    [`nextAt = 'x' ${hourly}`, "a column holds what it is not for"],
    [`collapsed = -1 ${hourly}`, "a column holds what it is not for"],
  ])("one with %s", async (change, detail) => {
    const found = await expectFound("schedules", `UPDATE schedules SET ${change}`, detail)
    expect(found).toEqual(["schedules"])
  })
})
