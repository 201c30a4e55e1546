/** Inputs that join an open run: taken in order, and settled with it. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it, vi } from "vitest"
import { AgentId, IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const threadId = ThreadId.make("talk")

const Talk = Agent.make("talk", { input: Schema.String, output: Schema.Array(Schema.String) })

/** Takes once before and once after what it waits for. */
const talking = (open: Deferred.Deferred<void>, max?: number) =>
  Talk.handler(
    Effect.fn("Talk")(function* (first, run) {
      const none = yield* run.takeInputs("before")
      yield* run.step("wait", Schema.Undefined, Effect.as(Deferred.await(open), undefined))
      const more = yield* run.takeInputs("after", max === undefined ? {} : { max })
      return [first, ...[...none, ...more].map(({ input }) => input)]
    }),
  )

const makeTalk = (max?: number) => {
  const open = Deferred.makeUnsafe<void>()
  const loom = makeLoom({ agents: [talking(open, max)] })
  const say = (text: unknown, delivery: "queue" | "join" = "join", notBefore?: number) =>
    go(
      loom.client.submit({
        ownerId,
        threadId,
        agent: AgentId.make("talk"),
        input: text,
        idempotencyKey: IdempotencyKey.make(`say ${JSON.stringify(text)}`),
        delivery,
        ...(notBefore === undefined ? {} : { notBefore }),
      }),
    )
  const isRunning = () =>
    loom.alarmsUntil("it runs", () => String(loom.lane("talk")?.["report"]).includes('"running"'))
  return { loom, open, say, isRunning }
}

describe("an open run", () => {
  it("takes what asks to join it, in order, and they settle with it", async () => {
    const { isRunning, loom, open, say } = makeTalk()
    const host = await say("one")
    await isRunning()
    const second = await say("two")
    const third = await say("three")
    await go(Deferred.succeed(open, undefined))
    await loom.quiet()
    const output = ["one", "two", "three"]
    const settled = await loom.status("talk", host.submissionId)
    expect(settled.settlement).toMatchObject({ outcome: "completed", output })
    for (const { submissionId } of [second, third])
      expect(await loom.status("talk", submissionId)).toMatchObject({
        state: "settled",
        settlement: { outcome: "completed", output, hostSubmissionId: host.submissionId },
      })
    const kinds = await loom.kinds("talk")
    expect(kinds.filter((kind) => kind === "InputApplied")).toHaveLength(1)
    expect(kinds.filter((kind) => kind === "Settled")).toHaveLength(3)
  })

  it("takes none past the first that does not join, and nobody is overtaken", async () => {
    const { isRunning, loom, open, say } = makeTalk()
    const host = await say("one")
    await isRunning()
    await say("two")
    const queued = await say("three", "queue")
    const last = await say("four")
    await go(Deferred.succeed(open, undefined))
    await loom.quiet()
    const settlementOf = async ({ submissionId }: typeof host) =>
      (await loom.status("talk", submissionId)).settlement
    expect(await settlementOf(host)).toMatchObject({ output: ["one", "two"] })
    const next = await settlementOf(queued)
    expect(next).toMatchObject({ output: ["three", "four"] })
    expect(next).not.toHaveProperty("hostSubmissionId")
    expect(await settlementOf(last)).toMatchObject({ hostSubmissionId: queued.submissionId })
  })

  it("takes as many as it says, and the rest run by themselves", async () => {
    const { isRunning, loom, open, say } = makeTalk(1)
    const host = await say("one")
    await isRunning()
    await say("two")
    const third = await say("three")
    await go(Deferred.succeed(open, undefined))
    await loom.quiet()
    expect((await loom.status("talk", host.submissionId)).settlement?.output).toEqual([
      "one",
      "two",
    ])
    const { settlement } = await loom.status("talk", third.submissionId)
    expect(settlement).toMatchObject({ output: ["three"] })
    expect(settlement).not.toHaveProperty("hostSubmissionId")
  })

  it("takes one that was deferred once its time has come, and leaves nothing that is due", async () => {
    const { isRunning, loom, open, say } = makeTalk()
    const host = await say("one")
    await isRunning()
    const notBefore = Date.now() + 20
    const deferred = await say("two", "join", notBefore)
    await vi.waitUntil(() => Date.now() > notBefore)
    await go(Deferred.succeed(open, undefined))
    await loom.quiet()
    expect(await loom.status("talk", deferred.submissionId)).toMatchObject({
      settlement: { hostSubmissionId: host.submissionId },
    })
    const { submissionId } = await say("three")
    await loom.quiet()
    expect(await loom.status("talk", submissionId)).toMatchObject({
      settlement: { output: ["three"] },
    })
  })

  it("has an input that its agent cannot read settle by itself", async () => {
    const { isRunning, loom, open, say } = makeTalk()
    const host = await say("one")
    await isRunning()
    const broken = await say(2)
    const third = await say("three")
    await go(Deferred.succeed(open, undefined))
    await loom.quiet()
    expect(await loom.status("talk", broken.submissionId)).toMatchObject({
      settlement: { outcome: "failed", failure: { tag: "InputInvalid" } },
    })
    expect((await loom.status("talk", third.submissionId)).settlement).toMatchObject({
      output: ["one", "three"],
      hostSubmissionId: host.submissionId,
    })
  })

  it("that is aborted takes with it what has joined; that cannot be aborted for itself", async () => {
    const loom = makeLoom({
      agents: [
        Talk.handler(
          Effect.fn("Talk")(function* (_first, run) {
            yield* run.takeInputs("all")
            yield* run.approval("go on", { summary: "Go on?" })
            return []
          }),
        ),
      ],
    })
    const say = (text: string) =>
      go(
        loom.client.submit({
          ownerId,
          threadId,
          agent: AgentId.make("talk"),
          input: text,
          idempotencyKey: IdempotencyKey.make(text),
          delivery: "join",
        }),
      )
    const words = { ownerId, threadId, author: "ann", reason: "enough" }
    const host = await say("one")
    const second = await say("two")
    await loom.quiet()
    const refused = await go(
      Effect.flip(loom.client.abort({ ...words, submissionId: second.submissionId })),
    )
    expect(refused).toMatchObject({ _tag: "JoinedToHost", hostSubmissionId: host.submissionId })
    await go(loom.client.abort({ ...words, submissionId: host.submissionId }))
    await loom.quiet()
    for (const { submissionId } of [host, second])
      expect(await loom.status("talk", submissionId)).toMatchObject({
        settlement: { outcome: "aborted", abort: { author: "ann" } },
      })
    expect(await go(loom.client.obligations({ ownerId }))).toMatchObject({ obligations: [] })
  })
})
