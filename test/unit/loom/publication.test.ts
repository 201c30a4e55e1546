/** Publication from end to end: real threads, a real owner, and a sink that fails for a while. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AgentId, IdempotencyKey, StepName, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { makeSink } from "../owner/FakePublication.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { type LoomOptions, makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const io = { input: Schema.Json, output: Schema.Json }

const Leaf = Agent.make("leaf", io)
const agents = [
  Leaf.handler((input, run) => run.step("one", Schema.Json, Effect.succeed(input))),
  Agent.make("asks", io).handler((_, run) =>
    Effect.as(run.approval("ok", { summary: "may it" }), "asked"),
  ),
  Agent.make("parent", io).handler((input, run) => Effect.orDie(run.child("one", Leaf, input))),
]

const names = ["a", "b", "c"]

const publishing = (options: Partial<LoomOptions> = {}) => {
  const taken = makeSink()
  // The alarm of a watch may stand when nothing needs it any more: it is soon over.
  const limits = { watchMillis: 100, ...options.limits }
  const loom = makeLoom({ agents, sink: taken.sink, ...options, limits })
  let keys = 0
  const submit = (threadId: string, agent: string) =>
    go(
      loom.client.submit({
        ownerId,
        threadId: ThreadId.make(threadId),
        agent: AgentId.make(agent),
        input: ++keys,
        idempotencyKey: IdempotencyKey.make(`key-${keys}`),
      }),
    )
  return { loom, submit, taken }
}

type Taken = ReturnType<typeof makeSink>
type Loom = ReturnType<typeof makeLoom>

/** What the sink has seen of a thread, each record once, as it was given first. */
const seenOf = ({ batches }: Taken, threadId: string) => {
  const seen = new Map<number, unknown>()
  for (const batch of batches)
    if (batch.threadId === threadId)
      for (const record of batch.records)
        if (!seen.has(record.sequence)) seen.set(record.sequence, record)
  return [...seen.values()]
}

/** Each batch begins at or before the record behind the last one seen: nothing is skipped, whatever is repeated. */
const expectInOrder = ({ batches }: Taken, threadId: string) => {
  let last = 0
  for (const batch of batches.filter((one) => one.threadId === threadId)) {
    expect(batch.first).toBeLessThanOrEqual(last + 1)
    expect(batch.records.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: batch.last - batch.first + 1 }, (_, at) => batch.first + at),
    )
    last = Math.max(last, batch.last)
  }
}

const expectAllPublished = async (loom: Loom, taken: Taken, threads: ReadonlyArray<string>) => {
  for (const threadId of threads) {
    expectInOrder(taken, threadId)
    expect(seenOf(taken, threadId)).toEqual((await loom.history(threadId)).records)
  }
}

/** What the sink had of a thread when each of its runs began. */
const atEachBegin = async (loom: Loom, threadId: string) =>
  (await loom.history(threadId)).records
    .filter(({ kind }) => kind === "InputApplied")
    .map(({ sequence }) => sequence - 1)

describe("a sink", () => {
  it("has every record of a thread, in order, before the thread's next run begins", async () => {
    const { loom, submit, taken } = publishing()
    for (let index = 0; index < 4; index++) for (const name of names) await submit(name, "leaf")
    await loom.quiet()
    await expectAllPublished(loom, taken, names)
    for (const name of names) {
      const begins = await atEachBegin(loom, name)
      const lasts = taken.batches
        .filter(({ threadId }) => threadId === name)
        .map(({ last }) => last)
      expect(lasts.slice(0, 3)).toEqual(begins.slice(1))
    }
  })

  it("that fails for a while holds up the thread whose records it refuses, and no other", async () => {
    const { loom, submit, taken } = publishing()
    taken.setTake(({ threadId }) =>
      threadId === "a" ? Promise.reject(new Error("down")) : Promise.resolve(),
    )
    const first = await submit("a", "leaf")
    const second = await submit("a", "leaf")
    for (let index = 0; index < 3; index++)
      for (const name of ["b", "c"]) await submit(name, "leaf")
    const done = async () => (await loom.history("b")).records.length === 9
    for (let round = 0; !(await done()) && round < 1_000; round++) {
      await loom.deliver()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await loom.status("a", first.submissionId)).toMatchObject({ state: "settled" })
    expect(await loom.status("a", second.submissionId)).toMatchObject({
      state: "ready",
      attempts: 0,
    })
    expect(await loom.kinds("b")).toHaveLength(9)
    taken.setTake(() => Promise.resolve())
    await loom.quiet()
    expect(await loom.status("a", second.submissionId)).toMatchObject({ state: "settled" })
    await expectAllPublished(loom, taken, names)
  })

  it("that takes what it then denies, and takes some twice, sees each record at least once", async () => {
    const { loom, submit, taken } = publishing()
    let calls = 0
    taken.setTake((batch) => {
      calls += 1
      if (calls % 2 === 0) return Promise.resolve()
      taken.batches.push(batch)
      return Promise.reject(new Error("the answer was lost"))
    })
    for (let index = 0; index < 3; index++) for (const name of names) await submit(name, "leaf")
    await loom.quiet()
    await expectAllPublished(loom, taken, names)
  })

  it("has what a wait and its answer recorded before the run goes on, and a child's before its own", async () => {
    const { loom, submit, taken } = publishing()
    const { submissionId } = await submit("a", "asks")
    await loom.quiet()
    expect(seenOf(taken, "a")).toHaveLength(2)
    await go(
      loom.client.resolveApproval({
        ownerId,
        threadId: ThreadId.make("a"),
        submissionId,
        name: StepName.make("ok"),
        approved: true,
        author: "ann",
        reason: "fine",
      }),
    )
    const parent = await submit("b", "parent")
    await loom.quiet()
    expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled" })
    expect(await loom.status("b", parent.submissionId)).toMatchObject({ state: "settled" })
    const child = taken.batches.find(({ threadId }) => !names.includes(threadId))?.threadId
    expect(child).toBeDefined()
    await expectAllPublished(loom, taken, ["a", "b", child ?? ""])
  })

  for (const point of ["publish:before", "publish:after", "claim:after", "settle:after"])
    it(`misses nothing when a thread dies at ${point}`, async () => {
      const { loom, submit, taken } = publishing({ threadDiesAt: point })
      for (let index = 0; index < 3; index++) await submit("a", "leaf")
      await loom.quiet()
      expect(loom.hasDied()).toBe(true)
      await expectAllPublished(loom, taken, ["a"])
      expect((await loom.kinds("a")).filter((kind) => kind === "Settled")).toHaveLength(3)
    })

  it("misses nothing when the reports that threads push are lost", async () => {
    const { loom, submit, taken } = publishing({ losesReports: true })
    for (let index = 0; index < 3; index++) for (const name of names) await submit(name, "leaf")
    await loom.quiet()
    await expectAllPublished(loom, taken, names)
  })

  it("sees again, from where it was taken back to, what a restored thread does anew", async () => {
    const { loom, submit, taken } = publishing()
    await submit("a", "leaf")
    await loom.quiet()
    const restore = loom.backup("a")
    await submit("a", "leaf")
    await loom.quiet()
    restore()
    await go(loom.client.reconcile({ ownerId, threadIds: [ThreadId.make("a")] }))
    await submit("a", "leaf")
    await loom.quiet()
    const { records } = await loom.history("a")
    expect(taken.batches.at(-1)?.records).toEqual(records.slice(3))
    expect(taken.batches.map(({ first, last }) => [first, last])).toEqual([
      [1, 3],
      [4, 6],
      [4, 6],
    ])
  })
})
