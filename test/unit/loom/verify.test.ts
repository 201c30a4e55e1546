/** Threads that have talked to each other hold together: while they talk, after that, pruned, and beside a forgotten one. */
import { Effect, Schema } from "effect"
import { expect, it } from "vitest"
import { AgentId, IdempotencyKey, StepName, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const io = { input: Schema.Json, output: Schema.Json }

const Kid = Agent.make("kid", io)
/** Gives its input back, fails, or waits for a decision. */
const retention = "150 millis"
const KidLive = Agent.make("kid", { ...io, retention }).handler((input, run) => {
  if (input === "fail") return Effect.die(new Error("no"))
  return input === "ask"
    ? Effect.as(run.approval("ok", { summary: "?" }), input)
    : Effect.succeed(input)
})
const ParentLive = Agent.make("parent", { ...io, retention }).handler(
  Effect.fn(function* (_, run) {
    for (const to of ["box", "box", "gone"].entries())
      yield* run.send(`to ${to[0]}`, { threadId: ThreadId.make(to[1]), agent: Kid, input: to[0] })
    yield* Effect.orDie(run.child("loose", Kid, "loose", { detached: true }))
    yield* Effect.orDie(
      run.race("either", {
        slow: Effect.ignore(run.child("asks", Kid, "ask")),
        quick: run.sleep("a moment", 1),
      }),
    )
    const ends = yield* Effect.all(
      ["a", "b", "fail"].map((kid) => Effect.result(run.child(kid, Kid, kid))),
      { concurrency: "unbounded" },
    )
    const taken = yield* run.takeInputs("more")
    return [ends.length, taken.length]
  }),
)
const agents = [KidLive, ParentLive]

const makeTalk = () => {
  const loom = makeLoom({ agents, limits: { retentionRetryMillis: 50 } })
  const to = (threadId: string) => ({ ownerId, threadId: ThreadId.make(threadId) })
  const submit = (threadId: string, agent: string, input: string, join = false) =>
    go(
      loom.client.submit({
        ...to(threadId),
        agent: AgentId.make(agent),
        input,
        idempotencyKey: IdempotencyKey.make(`${threadId} ${input}`),
        ...(join ? { delivery: "join" as const } : {}),
      }),
    )
  const forget = async (threadId: string) => {
    const words = { author: "ann", reason: "asked to", abort: false }
    const asking = Effect.runFork(loom.client.forgetThread({ ...to(threadId), ...words }))
    await loom.alarmsUntil("it is forgotten", () => asking.pollUnsafe() !== undefined)
  }
  const schedule = (threadId: string) =>
    go(
      loom.client.schedule({
        ...to(threadId),
        name: StepName.make("yearly"),
        cron: "0 0 1 1 *",
        agent: AgentId.make("kid"),
        input: "tick",
      }),
    )
  /** What fails anywhere, by thread. */
  const failures = async (without: string) => {
    const found = new Map<string, unknown>()
    for (const threadId of loom.threadIds()) {
      if (threadId === without) continue
      const checks = (await loom.unverified(threadId)).filter(({ _tag }) => _tag === "Failed")
      if (checks.length > 0) found.set(threadId, checks)
    }
    return Object.fromEntries(found)
  }
  /** Whether all that it had settled has lost its content. */
  const isPruned = async (threadId: string) => {
    const { records } = await loom.history(threadId)
    const settled = records.filter(({ kind }) => kind === "Settled")
    return settled.length > 0 && settled.every(({ pruned }) => pruned === true)
  }
  return { loom, submit, forget, schedule, failures, isPruned }
}

it("threads that talk verify all the while, once they have settled, and once they are pruned", async () => {
  const { failures, forget, isPruned, loom, schedule, submit } = makeTalk()
  await submit("gone", "kid", "x")
  await loom.quiet()
  await forget("gone")
  await schedule("p")
  const { submissionId } = await submit("p", "parent", "go")
  const joined = await submit("p", "parent", "more", true)
  const seen = { looks: 0, isOver: false }
  for (const until = Date.now() + 10_000; Date.now() < until;) {
    seen.isOver = false
    const pass = loom.deliver().finally(() => void (seen.isOver = true))
    for (; !seen.isOver; seen.looks++) {
      expect(await failures("gone")).toEqual({})
      await new Promise((resolve) => setImmediate(resolve))
    }
    await pass
    const { settlement } = await loom.status("p", submissionId)
    if (settlement !== undefined && (await isPruned("box"))) break
  }
  expect(seen.looks).toBeGreaterThan(3)
  // The message that nobody took is parked, and keeps what it says.
  const { settlement } = await loom.status("p", submissionId)
  expect(settlement).toMatchObject({ outcome: "completed", output: [3, 1] })
  expect((await go(loom.client.obligations({ ownerId }))).obligations).toMatchObject([
    { threadId: "p", blocker: "outbox", name: "to 2" },
  ])
  expect(await loom.status("p", joined.submissionId)).toMatchObject({
    settlement: { hostSubmissionId: submissionId },
  })
  expect(await loom.unverified("p")).toEqual([])
  expect((await loom.unverified("box")).map(({ check }) => check)).toEqual([
    "digestChain",
    "schemaRoundTrip",
  ])
  expect(await loom.kinds("p")).toEqual(expect.arrayContaining(["WaitWithdrawn", "InputsTaken"]))
})
