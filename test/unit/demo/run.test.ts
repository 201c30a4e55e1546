import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { OwnerId } from "../../../contracts/index.ts"
import { gatherEvidence } from "../../../scripts/demo/Evidence.ts"
import { Ledger } from "../../../scripts/demo/Ledger.ts"
import { planOf } from "../../../scripts/demo/Plan.ts"
import { isRight, summarize } from "../../../scripts/demo/Report.ts"
import { run } from "../../../scripts/demo/Run.ts"
import { type Faults, FakeServer } from "./FakeServer.ts"

const ownerId = OwnerId.make("demo")
const documents = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `${n}.md`, text: `# ${n}\n\nText.` }))

/** A whole run against a server in memory, under a clock that the test moves. */
const demonstrate = async (count: number, faults: Faults = {}) => {
  const server = new FakeServer(faults)
  const plan = planOf(documents(count))
  const ledger = new Ledger(plan)
  const work = Effect.gen(function* () {
    yield* run({ client: server.client, ownerId, plan, ledger, restart: server.restart(2_000) })
    const evidence = yield* gatherEvidence({ client: server.client, ownerId, ledger })
    const { interruption } = ledger
    return summarize(evidence, { restarts: server.restarts, interruption, elapsedMillis: 1_000 })
  })
  const exit = await Effect.runPromise(
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(work)
      yield* TestClock.adjust("30 seconds")
      const done = fiber.pollUnsafe()
      if (done === undefined) yield* Fiber.interrupt(fiber)
      return Option.fromUndefinedOr(done)
    }).pipe(Effect.provide(TestClock.layer())),
  )
  return { server, ledger, plan, exit }
}

const summaryOf = ({ exit }: Awaited<ReturnType<typeof demonstrate>>) => {
  if (Option.isNone(exit)) throw new Error("it does not end")
  if (Exit.isFailure(exit.value)) throw Cause.squash(exit.value.cause)
  return exit.value.value
}

describe("a run of the demonstration", () => {
  it("settles everything once, over lost replies and a restart half-way", async () => {
    const done = await demonstrate(60)
    const summary = summaryOf(done)
    expect(summary.findings).toEqual([])
    expect(isRight(summary)).toBe(true)
    expect(summary).toMatchObject({ documents: 60, submissions: 90, restarts: 1 })
    expect(done.server.calls.lostReplies).toBeGreaterThan(10)
    expect(done.server.calls.refusedWhileAway).toBeGreaterThan(10)
    expect(done.ledger.retries).toBe(
      done.server.calls.lostReplies + done.server.calls.refusedWhileAway,
    )
  })

  it("kills the process half-way, when a run is seen between two steps", async () => {
    const { ledger, server } = await demonstrate(600)
    expect(server.restarts).toBe(1)
    const { settled, accepted } = ledger.interruption ?? { settled: 0, accepted: 0 }
    expect(settled).toBeGreaterThanOrEqual(450)
    expect(settled).toBeLessThan(500)
    expect(accepted).toBeGreaterThan(settled)
    expect(accepted).toBeLessThan(900)
  })

  it("kills it when three quarters have settled, if no run is seen between two steps", async () => {
    const { ledger, server } = await demonstrate(60, { settlesAtOnce: true })
    expect(server.restarts).toBe(1)
    const { settled, accepted } = ledger.interruption ?? { settled: 0, accepted: 0 }
    expect(settled).toBeGreaterThanOrEqual(67)
    expect(settled).toBeLessThan(75)
    expect(accepted).toBeGreaterThan(settled)
  })

  it("kills the process before the end however few documents there are", async () => {
    for (const count of [1, 2, 3]) {
      const done = await demonstrate(count)
      expect(isRight(summaryOf(done))).toBe(true)
      expect(done.ledger.interruption?.settled).toBeLessThan(done.ledger.planned)
    }
  })

  it("reports a refused document by name and processes the others", async () => {
    const done = await demonstrate(8, { refuses: ["4.md"] })
    expect(done.ledger.refused).toEqual([
      { name: "4.md", reason: "was refused (InvalidInput: no)" },
    ])
    expect(summaryOf(done)).toMatchObject({ documents: 7, submissions: 9 })
    expect(isRight(summaryOf(done))).toBe(true)
  })

  it("kills the process half-way through what was not refused", async () => {
    const refuses = Array.from({ length: 32 }, (_, n) => `${n}.md`)
    const done = await demonstrate(40, { refuses })
    expect(done.ledger.planned).toBe(12)
    expect(done.ledger.interruption).toBeDefined()
    expect(isRight(summaryOf(done))).toBe(true)
  })

  it("is not right when every document was refused", async () => {
    const done = await demonstrate(2, { refuses: ["0.md", "1.md"] })
    expect(isRight(summaryOf(done))).toBe(false)
  })

  it("finds the duplicates of a server that forgets idempotency keys", async () => {
    const summary = summaryOf(await demonstrate(20, { forgetsKeys: true }))
    expect(isRight(summary)).toBe(false)
    expect(summary.findings.map(({ kind }) => kind)).toContain("duplicate")
  })

  it("ends with no verdict when a server loses what it accepted", async () => {
    const { exit, ledger } = await demonstrate(60, { forgetsWork: true })
    // Its threads never settle what they have forgotten, or their reads fail.
    expect(Option.isSome(exit) && Exit.isSuccess(exit.value)).toBe(false)
    expect(ledger.interruption).toBeDefined()
  })

  it("fails at once when calls fail for a reason that no restart explains", async () => {
    const { exit, ledger } = await demonstrate(4, { denies: true })
    expect(
      Option.map(exit, (end) => (Exit.isFailure(end) ? Cause.squash(end.cause) : end)),
    ).toEqual(Option.some({ _tag: "OperationDenied" }))
    expect(ledger.retries).toBe(0)
  })
})
