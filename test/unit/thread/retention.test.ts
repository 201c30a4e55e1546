import { Duration, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { verifyChecks } from "../../../contracts/Verify.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, go, makeWorld, tags, until, type World } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"

const io = { input: Schema.Json, output: Schema.Json }
const day = 24 * 3_600_000

/** Records a secret of its input in every way. */
const work = (run: Agent.Run<unknown>, input: unknown) =>
  Effect.gen(function* () {
    yield* run.step("step", Schema.Json, Effect.succeed(input as string))
    yield* run.progress("half", input as string)
    yield* run.state.update("state", () => 1)
    return input as string
  })
const stateful = { ...io, state: Schema.Unknown as unknown as Schema.Codec<unknown> }
const Works = Agent.make("works", stateful).handler((input, run) => work(run as never, input))
const Keeps = Agent.make("keeps", { ...io, retention: Duration.infinity }).handler((input) =>
  Effect.succeed(input),
)
const Brief = Agent.make("brief", { ...io, retention: "1 hour" }).handler((input) =>
  Effect.succeed(input),
)
const Fails = Agent.make("fails", io).handler(() => Effect.die(new Error("secret")))
const Asks = Agent.make("asks", io).handler((input, run) =>
  Effect.as(run.approval("ok", { summary: "secret?" }), input),
)
const agents = [Works, Keeps, Brief, Fails, Asks]

const world = (extra: Parameters<typeof makeWorld>[0] = {}) =>
  makeWorld({ agents, settledAfterMillis: day, ...extra })

/** Submits and has it settle. */
const done = async (of: World, agent: string, input: unknown, key?: string) => {
  const receipt = await accepted(
    of.admit(agent, input as never, key === undefined ? {} : { idempotencyKey: key }),
  )
  await answers(of.process())
  return receipt
}

/** Lets the thread do all that is due within a time. */
const pass = async (of: World, millis: number) => {
  const end = of.time.now + millis
  for (let turn = 0; turn < 100; turn++) {
    const { upkeepAt = Infinity } = (await go(of.inspect())).report
    if (upkeepAt > end) break
    of.time.now = Math.max(of.time.now, upkeepAt)
    await go(of.process())
  }
  of.time.now = end
}

const verified = async (of: World, after?: number) => {
  const { checks } = await go(
    of.asReader.verify({ ...of.address, ...(after === undefined ? {} : { after }) }),
  )
  return Object.fromEntries(checks.map((one) => [one.check, one._tag]))
}

const allPass = Object.fromEntries(verifyChecks.map((check) => [check, "Passed"]))

describe("what has settled", () => {
  it("loses its content after the time, and keeps its outcome", async () => {
    const of = world()
    const { submissionId } = await done(of, "works", "a secret")
    const before = await go(of.status(submissionId))
    expect(of.storage.dump()).toContain("a secret")
    await pass(of, day - 1)
    expect(await go(of.status(submissionId))).toEqual(before)
    await pass(of, day)
    expect(of.storage.dump()).not.toContain("a secret")
    const { settlement, ...rest } = await go(of.status(submissionId))
    expect(rest).toEqual({ ...before, settlement: undefined })
    const { output: _output, ...kept } = before.settlement ?? {}
    expect(settlement).toEqual({ ...kept, pruned: true })
    expect(await go(of.asReader.awaitSettlement({ ...of.address, submissionId }))).toMatchObject({
      settlement: { outcome: "completed", pruned: true },
    })
  })

  it.each([false, true])(
    "loses its content also where its end had waited for its children, aborted meanwhile or not: %s",
    async (isAborted) => {
      const Leaves = Agent.make("leaves", io).handler((_, run) =>
        Effect.gen(function* () {
          yield* Effect.forkChild(Effect.ignore(run.child("kid", Works.agent, 1)), {
            startImmediately: true,
          })
          yield* run.step("step", Schema.Json, Effect.succeed(1))
          return "a secret"
        }),
      )
      const of = world({ agents: [Leaves, Works] })
      const { submissionId } = await accepted(of.admit("leaves", 1))
      expect(await tags(of.process())).toEqual(["Suspended"])
      if (isAborted) await go(of.abort(submissionId))
      const said = (more: object) =>
        ({ ...of.address, generation: of.generation(), now: of.time.now, ...more }) as never
      const lost = { _tag: "Refused", tag: "ChildLost", message: "it is not there" }
      const carried = async (result: object) => {
        const entries = await taken(go(of.asOwner.claimOutbox(said({ limit: 8 }))))
        const [{ id }] = entries as never as [{ readonly id: string }]
        const results = [{ id, result }]
        await taken(go(of.asOwner.acknowledgeOutbox(said({ results }))))
      }
      await carried({ _tag: "Taken" })
      await carried(lost)
      const { settlement } = await go(of.status(submissionId))
      expect(settlement?.outcome).toBe(isAborted ? "aborted" : "completed")
      expect(of.storage.dump()).toContain("a secret")
      await pass(of, 2 * day)
      expect(of.storage.dump()).not.toContain("a secret")
      expect(await verified(of)).toMatchObject({ ledger: "Passed", outbox: "Passed" })
    },
  )

  it("is kept without a time, and asks its owner for nothing", async () => {
    const of = makeWorld({ agents: [Works, Keeps] })
    const { submissionId } = await done(of, "works", "a secret")
    expect((await go(of.inspect())).report.upkeepAt).toBeUndefined()
    await pass(of, 1_000 * day)
    expect(await go(of.status(submissionId))).toMatchObject({ settlement: { output: "a secret" } })
  })

  it("is kept as its agent says: for ever, or for less", async () => {
    const of = world()
    const kept = await done(of, "keeps", "kept")
    const brief = await done(of, "brief", "brief")
    const usual = await done(of, "works", "usual")
    await pass(of, 2 * 3_600_000)
    expect((await go(of.status(brief.submissionId))).settlement?.pruned).toBe(true)
    expect((await go(of.status(usual.submissionId))).settlement?.pruned).toBeUndefined()
    await pass(of, 10 * day)
    expect((await go(of.status(usual.submissionId))).settlement?.pruned).toBe(true)
    expect((await go(of.status(kept.submissionId))).settlement).toMatchObject({ output: "kept" })
  })

  it("loses what it said when it failed or was aborted, and who aborted it stays", async () => {
    const of = world()
    const failed = await done(of, "fails", 1)
    const asked = await accepted(of.admit("asks", 2))
    await answers(of.process())
    await go(of.abort(asked.submissionId, { reason: "sent twice" }))
    await pass(of, 2 * day)
    const { settlement } = await go(of.status(failed.submissionId))
    expect(settlement).toMatchObject({ outcome: "failed", pruned: true })
    expect(settlement?.failure).toBeUndefined()
    expect((await go(of.status(asked.submissionId))).settlement).toMatchObject({
      outcome: "aborted",
      pruned: true,
    })
    const again = await taken(go(of.abort(asked.submissionId, { reason: "sent twice" })))
    expect(again).toMatchObject({ settlement: { outcome: "aborted" } })
    expect(of.storage.dump()).not.toContain("secret?")
  })

  it("is pruned of what was there before the deployment said so", async () => {
    const of = makeWorld({ agents })
    const { submissionId } = await done(of, "works", "a secret")
    of.time.now += 10 * day
    of.crash({ settledAfterMillis: day })
    await pass(of, 1)
    expect((await go(of.status(submissionId))).settlement?.pruned).toBe(true)
  })

  it("is pruned sooner once the deployment says so", async () => {
    const of = world({ settledAfterMillis: 100 * day })
    const first = await done(of, "works", "first")
    await pass(of, 50 * day)
    of.crash({ settledAfterMillis: day })
    await pass(of, 1)
    expect((await go(of.status(first.submissionId))).settlement?.pruned).toBe(true)
  })

  it("is pruned by what is due, and no earlier for what is", async () => {
    const of = world({ agents: [Works] })
    const first = await done(of, "works", "first")
    of.time.now += day / 2
    const second = await done(of, "works", "second")
    const before = (await go(of.inspect())).report.revision
    await pass(of, day * 0.75)
    expect((await go(of.status(first.submissionId))).settlement?.pruned).toBe(true)
    expect((await go(of.status(second.submissionId))).settlement?.pruned).toBeUndefined()
    expect((await go(of.inspect())).report.revision).toBeGreaterThan(before)
  })

  it("is pruned once its agent no longer says that it is kept, as often as that changes", async () => {
    const Plain = Agent.make("keeps", io).handler((input) => Effect.succeed(input))
    const of = world({ agents: [Keeps, Works] })
    for (const input of ["first", "second"]) {
      const { submissionId } = await done(of, "keeps", input)
      await done(of, "works", input)
      await pass(of, 3 * day)
      expect((await go(of.status(submissionId))).settlement?.pruned).toBeUndefined()
      of.crash({ agents: [Plain, Works] })
      await pass(of, 1)
      expect((await go(of.status(submissionId))).settlement?.pruned).toBe(true)
      of.crash({ agents: [Keeps, Works] })
      await pass(of, 1)
    }
  })
})

describe("what has not settled", () => {
  it("is kept however old it is, and its turn comes", async () => {
    const of = world()
    const { submissionId } = await accepted(of.admit("asks", "an input"))
    await answers(of.process())
    await done(of, "works", "behind it").catch(() => undefined)
    await pass(of, 10 * day)
    const { records } = await go(of.history())
    expect(records.every(({ pruned }) => pruned === undefined)).toBe(true)
    await taken(
      go(
        of.asOwner.resolveApproval({
          ...of.address,
          submissionId,
          name: "ok",
          approved: true,
          author: "ann",
          reason: "fine",
          principal: "alice",
          generation: of.generation(),
          now: of.time.now,
        } as never),
      ),
    )
    await answers(of.process())
    expect((await go(of.status(submissionId))).settlement).toMatchObject({ output: "an input" })
    expect(await verified(of)).toEqual(allPass)
  })

  it("holds nobody up who has", async () => {
    const of = world()
    const first = await done(of, "works", "first")
    await accepted(of.admit("asks", "an input"))
    await answers(of.process())
    await pass(of, 10 * day)
    expect((await go(of.status(first.submissionId))).settlement?.pruned).toBe(true)
    expect((await go(of.inspect())).report.upkeepAt).toBeUndefined()
  })
})

describe("a history that was pruned", () => {
  it("is told record by record, and says what is gone", async () => {
    const of = world()
    await done(of, "works", "a secret")
    const before = (await go(of.history())).records
    await pass(of, 2 * day)
    const { records } = await go(of.history())
    expect(records.map(({ kind, name, sequence }) => ({ kind, name, sequence }))).toEqual(
      before.map(({ kind, name, sequence }) => ({ kind, name, sequence })),
    )
    expect(records.every(({ pruned }) => pruned === true)).toBe(true)
    expect(records[0]?.payload).toMatchObject({ agent: "works" })
    expect(records[0]?.payload).not.toHaveProperty("input")
    expect(records.slice(1).map(({ payload }) => payload)).toEqual(records.slice(1).map(() => ({})))
  })

  it("verifies: what cannot be compared is skipped, and says why; what is broken beside it is found", async () => {
    const of = world()
    await done(of, "works", "old")
    await pass(of, 2 * day)
    await done(of, "works", "new")
    const held = { ...allPass, digestChain: "Skipped", schemaRoundTrip: "Skipped" }
    expect(await verified(of)).toEqual(held)
    expect(await verified(of, 5)).toEqual(allPass)
    const { checks } = await go(of.asReader.verify(of.address))
    expect(checks.find(({ check }) => check === "digestChain")).toMatchObject({
      why: expect.stringContaining("4 records of this page were pruned") as string,
    })
    of.storage.sql.run("UPDATE journal SET payload = '{}' WHERE sequence = 7")
    expect(await verified(of)).toMatchObject({ digestChain: "Failed" })
  })

  it("that was emptied by somebody else does not verify", async () => {
    const of = world()
    await accepted(of.admit("asks", 1))
    await answers(of.process())
    of.storage.sql.run("UPDATE journal SET payload = '', bytes = 0 WHERE sequence = 2")
    expect(await verified(of)).toMatchObject({ digestChain: "Failed", schemaRoundTrip: "Failed" })
  })
})

describe("a key", () => {
  it("gives the first receipt within the time; after it, it is as new", async () => {
    const of = world()
    const first = await done(of, "works", "a", "key")
    await pass(of, day - 1)
    expect(await done(of, "works", "a", "key")).toEqual({ ...first, duplicate: true })
    await pass(of, day)
    expect(await done(of, "works", "b", "key")).toMatchObject({ sequence: 2, duplicate: false })
  })

  it("of what was pruned can be had by nobody who names it", async () => {
    const of = world()
    await done(of, "works", "a")
    await pass(of, 2 * day)
    const [row] = of.storage.sql.all<{ idempotencyKey: string }>(
      "SELECT idempotencyKey FROM submissions",
    )
    await expect(
      go(of.admit("works", "a", { idempotencyKey: row?.idempotencyKey ?? "" })),
    ).rejects.toMatchObject({ _tag: "InvalidInput" })
  })
})

describe("a command about what was pruned", () => {
  it("is told that it has settled, whatever was decided then", async () => {
    const of = world()
    const { submissionId } = await accepted(of.admit("asks", 1))
    await answers(of.process())
    const decide = () =>
      go(
        of.asOwner.resolveApproval({
          ...of.address,
          submissionId,
          name: "ok",
          approved: true,
          author: "ann",
          reason: "fine",
          principal: "alice",
          generation: of.generation(),
          now: of.time.now,
        } as never),
      )
    await taken(decide())
    await answers(of.process())
    await taken(decide())
    await pass(of, 2 * day)
    expect(await refused(decide())).toMatchObject({ _tag: "SettlementConflict" })
  })

  it("resubmits it with an input that is given, for its own is gone", async () => {
    const of = world()
    const { submissionId } = await done(of, "fails", 1)
    await pass(of, 2 * day)
    const { resubmit } = operate(of)
    expect(await refused(resubmit(submissionId, "again"))).toMatchObject({
      _tag: "InputPruned",
      submissionId,
    })
    expect(await taken(resubmit(submissionId, "again 2", { input: 2 } as never))).toMatchObject({
      sequence: 2,
    })
  })
})

describe("a batch", () => {
  it("is bounded, whatever one run has recorded, and the next one goes on", async () => {
    const Many = Agent.make("many", io).handler((_, run) =>
      Effect.as(
        Effect.forEach(
          Array.from({ length: 20 }, (_one, index) => index),
          (index) => run.progress(`p${index}`, "secret"),
        ),
        "done",
      ),
    )
    const of = world({ agents: [Many], limits: { retentionRecords: 6 } })
    await done(of, "many", 1)
    of.time.now += 2 * day
    const left = () =>
      of.storage.sql.all("SELECT 1 FROM journal WHERE name IS NOT NULL AND payload <> ''").length
    const seen: Array<number> = [left()]
    await until(
      "all is pruned",
      async () => {
        const { report } = await go(of.inspect())
        if (report.upkeepAt !== undefined) await go(of.process())
        seen.push(left())
        return report.upkeepAt
      },
      (at) => at === undefined,
    )
    for (const [index, count] of seen.entries())
      expect((seen[index - 1] ?? count) - count).toBeLessThanOrEqual(6)
    expect(seen.at(-1)).toBe(0)
    expect(of.storage.dump()).not.toContain("secret")
  })

  it("leaves what is still to be carried to others, and comes back for it", async () => {
    const Sends = Agent.make("sends", io).handler((_, run) =>
      Effect.as(
        run.send("tell", { threadId: "b" as never, agent: Works.agent, input: "a secret" }),
        "sent",
      ),
    )
    const of = world({ agents: [Sends, Works] })
    const { submissionId } = await done(of, "sends", 1)
    await pass(of, 3 * day)
    expect(of.storage.dump()).toContain("a secret")
    expect((await go(of.status(submissionId))).settlement).toMatchObject({ output: "sent" })
    of.storage.sql.run("DELETE FROM outbox")
    await pass(of, day)
    expect(of.storage.dump()).not.toContain("a secret")
    expect((await go(of.status(submissionId))).settlement?.pruned).toBe(true)
    expect((await go(of.inspect())).report.upkeepAt).toBeUndefined()
  })

  it("leaves what the sink of the deployment is still to have", async () => {
    const of = world({ agents: [Works], publishes: true })
    const { submissionId } = await done(of, "works", "a secret")
    await pass(of, 3 * day)
    expect(of.storage.dump()).toContain("a secret")
    expect((await go(of.inspect())).report.upkeepAt).toBeUndefined()
    await taken(
      go(
        of.asOwner.acknowledgePublication({
          ...of.address,
          through: (await go(of.inspect())).report.tailSequence,
          generation: of.generation(),
          now: of.time.now,
        }),
      ),
    )
    await pass(of, 1)
    expect(of.storage.dump()).not.toContain("a secret")
    expect((await go(of.status(submissionId))).settlement?.pruned).toBe(true)
  })

  it.each(["upkeep:before", "upkeep:after"])("that is lost at %s is made again", async (point) => {
    const of = world({ agents: [Works], stopAt: point })
    const { submissionId } = await done(of, "works", "a secret")
    of.time.now += 3 * day
    void go(of.process()).catch(() => undefined)
    await of.stopped()
    of.crash()
    await pass(of, 1)
    expect(of.storage.dump()).not.toContain("a secret")
    expect((await go(of.status(submissionId))).settlement?.pruned).toBe(true)
    expect(await verified(of)).toMatchObject({ ledger: "Passed", oneSettlement: "Passed" })
  })

  it("waits while the thread is paused", async () => {
    const of = world()
    await done(of, "works", "a secret")
    await taken(operate(of).pause())
    of.time.now += 3 * day
    expect(await tags(of.process())).toEqual([])
    expect(of.storage.dump()).toContain("a secret")
    await taken(operate(of).resume())
    await go(of.process())
    expect(of.storage.dump()).not.toContain("a secret")
  })
})

describe("a retention", () => {
  it.each([0, -1, Number.NaN, "soon"])("of %s is refused when the agent is made", (retention) => {
    expect(() => Agent.make("a", { ...io, retention: retention as never })).toThrow(/retention/)
  })
})
