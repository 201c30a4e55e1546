/** Ordinary calls whose outcome was lost, through owner and thread, with nothing but the alarm to drive them. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { RecordId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { type LoomOptions, makeLoom } from "./Loom.ts"

const go = Effect.runPromise

type Answer = Agent.Reconciliation<string>

/** The first call of each thread is never heard of again; its reconciler answers as told. */
const make = (
  look: (asked: number) => Effect.Effect<Answer, unknown>,
  options: Partial<LoomOptions> & { readonly timeout?: number } = {},
) => {
  const started: Array<string> = []
  let asked = 0
  const pay = Agent.tool("pay", {
    execution: "ordinary",
    result: Schema.String,
    timeout: options.timeout ?? 30,
    reconcile: () => Effect.suspend(() => look(++asked)),
  })
  const agent = Agent.make("agent", { input: Schema.Json, output: Schema.Json }).handler(
    (_input, run) =>
      run.tool("pay", pay, ({ threadId }) =>
        Effect.suspend(() => {
          const isFirst = !started.includes(threadId)
          started.push(threadId)
          return isFirst ? Effect.never : Effect.succeed("paid now")
        }),
      ),
    { tools: [pay] },
  )
  const loom = makeLoom({
    ...options,
    agents: [agent],
    limits: {
      clockAllowanceMillis: 0,
      oldInstanceMillis: 30,
      watchMillis: 10,
      watchMaxMillis: 10,
      endedBackoffMillis: 1,
      lostBackoffMillis: 1,
      faultRetryMillis: 5,
      reconcileRetryMillis: 5,
      ...options.limits,
    },
  })
  return { loom, started, asked: () => asked }
}

const completed: Answer = { _tag: "Completed", result: "paid before" }
const neverStarted: Answer = { _tag: "NeverStarted" }
const uncertain: Answer = { _tag: "Uncertain" }

describe("a call whose outcome was lost", () => {
  it.each([
    ["with its answer", completed, "paid before", 1],
    ["by its leave", neverStarted, "paid now", 2],
  ] as const)("goes on %s once it has timed out", async (_how, answer, output, times) => {
    const { asked, loom, started } = make(() => Effect.succeed(answer))
    const { submissionId } = await go(loom.submit("a"))
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({ settlement: { output } })
    expect(started).toHaveLength(times)
    expect(asked()).toBe(1)
  })

  it("with its object is asked about by the alarm alone, at the end of the call and not before", async () => {
    const askedAt: Array<number> = []
    const { loom, started } = make(() => Effect.sync(() => (askedAt.push(Date.now()), completed)), {
      timeout: 150,
      losesReports: true,
      limits: { clockAllowanceMillis: 0, oldInstanceMillis: 50 },
    })
    const { submissionId } = await go(loom.submit("a"))
    await loom.alarmsUntil("the call is under way", () => started.length === 1)
    const startedAt = Date.now()
    loom.crashThread("a")
    await loom.alarmsUntil(
      "the owner waits for the call's end",
      () => loom.lane("a")?.["work"] === "recover",
    )
    expect(loom.lane("a")?.["next_at"]).toBeGreaterThan(Date.now() * 1_000)
    await loom.quiet()
    expect(askedAt).toHaveLength(1)
    expect(askedAt[0]).toBeGreaterThanOrEqual(startedAt + 150)
    expect(await loom.status("a", submissionId)).toMatchObject({
      settlement: { output: "paid before" },
    })
    expect(started).toHaveLength(1)
  })

  it("is asked about while other threads go on, and a slow answer is waited for by its own alone", async () => {
    const answer = Deferred.makeUnsafe<Answer>()
    const { asked, loom, started } = make(() => Deferred.await(answer), {
      limits: { recoverMillis: 20, faultRetryMillis: 30_000 },
    })
    const slow = await go(loom.submit("slow"))
    await loom.alarmsUntil("its reconciler looks", () => asked() === 1)
    started.push("quick")
    const quick = await go(loom.submit("quick"))
    await loom.alarmsUntil(
      "the other has been served",
      () => started.filter((id) => id === "quick").length === 2,
    )
    await loom.alarmsUntil(
      "the owner has given up waiting",
      () => loom.lane("slow")?.["work"] === "recover",
    )
    expect(await loom.status("quick", quick.submissionId)).toMatchObject({ state: "settled" })
    const status = await go(
      loom.client.recoveryStatus({ ownerId, threadId: ThreadId.make("slow") }),
    )
    expect(JSON.stringify(status)).toContain("timeout")
    Deferred.doneUnsafe(answer, Effect.succeed(completed))
    await go(
      loom.client.retry({
        ownerId,
        threadId: ThreadId.make("slow"),
        submissionId: slow.submissionId,
        author: "ann",
        reason: "it answers now",
      }),
    ).catch(() => undefined)
    await loom.quiet()
    expect(asked()).toBe(1)
    expect(await loom.status("slow", slow.submissionId)).toMatchObject({
      settlement: { output: "paid before" },
    })
  })

  it("is recorded once though every reply of recover is lost at first", async () => {
    let lost = 0
    const { asked, loom } = make(() => Effect.succeed(completed), {
      hooks: {
        reply: async (message): Promise<Fate> =>
          message._tag === "Request" && message.tag === "recover" && ++lost <= 2
            ? "drop"
            : "deliver",
      },
    })
    const { submissionId } = await go(loom.submit("a"))
    await loom.quiet()
    expect(lost).toBeGreaterThan(2)
    expect(asked()).toBe(1)
    expect((await loom.kinds("a")).filter((kind) => kind === "ToolSettled")).toHaveLength(1)
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
  })

  it("is recorded once though owner and thread die while its reconciler looks", async () => {
    const answer = Deferred.makeUnsafe<Answer>()
    // Nothing tells the owner that the thread was lost: it looks again once the reconciler must have told.
    const limits = { reconcileMillis: 200, coverMillis: 200 }
    const { asked, loom, started } = make(
      (time) => (time === 1 ? Deferred.await(answer) : Effect.succeed(completed)),
      { limits },
    )
    const { submissionId } = await go(loom.submit("a"))
    await loom.alarmsUntil("its reconciler looks", () => asked() === 1)
    loom.crash()
    loom.crashThread("a")
    await loom.quiet()
    expect(asked()).toBe(2)
    expect(started).toHaveLength(1)
    expect((await loom.kinds("a")).filter((kind) => kind === "ToolSettled")).toHaveLength(1)
    expect(await loom.status("a", submissionId)).toMatchObject({
      settlement: { output: "paid before" },
    })
  })
})

describe("a word about an unknown call", () => {
  const words = { ownerId, threadId: ThreadId.make("a"), author: "ann", reason: "saw the bill" }
  const resolution = { _tag: "CompletedWithResult", result: "told" } as const

  const unknown = async (options: Partial<LoomOptions> = {}) => {
    const made = make(() => Effect.succeed(uncertain), options)
    const { submissionId } = await go(made.loom.submit("a"))
    await made.loom.quiet()
    const { records } = await made.loom.history("a")
    const asked = records.find(({ kind }) => kind === "ToolUnknown")?.payload
    const recordId = RecordId.make((asked as { readonly recordId: string }).recordId)
    return { ...made, question: { ...words, submissionId, recordId }, submissionId }
  }

  it("whose reply was lost is said again, and counts once", async () => {
    let lost = 0
    const { loom, question, submissionId } = await unknown({
      hooks: {
        reply: async (message): Promise<Fate> =>
          message._tag === "Request" && message.tag === "resolveUnknown" && ++lost <= 1
            ? "drop"
            : "deliver",
      },
    })
    const error = await go(Effect.flip(loom.client.resolveUnknown({ ...question, resolution })))
    expect(error).toMatchObject({ _tag: "Unavailable", retryable: true })
    await go(loom.client.resolveUnknown({ ...question, resolution }))
    await loom.quiet()
    expect((await loom.kinds("a")).filter((kind) => kind === "ToolSettled")).toHaveLength(1)
    expect(await loom.status("a", submissionId)).toMatchObject({ settlement: { output: "told" } })
  })

  it("is carried out by the alarm though the owner dies right behind it", async () => {
    const { loom, question, submissionId } = await unknown()
    await go(loom.client.resolveUnknown({ ...question, resolution }))
    loom.crash()
    loom.crashThread("a")
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({ settlement: { output: "told" } })
  })

  it("by two at once is decided by one, and the other is told the first", async () => {
    const { loom, question, submissionId } = await unknown()
    const said = await Promise.allSettled(
      ["ann", "bob"].map((author) =>
        go(loom.client.resolveUnknown({ ...question, author, resolution })),
      ),
    )
    expect(said.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    await loom.quiet()
    expect((await loom.kinds("a")).filter((kind) => kind === "ToolSettled")).toHaveLength(1)
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
  })
})
