/** Children whose database was lost: their parents hear of it, and no child runs again that may have had effects. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { StepName, type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom, type LoomOptions } from "./Loom.ts"

const go = Effect.runPromise
const io = { input: Schema.Json, output: Schema.Json }
const said = { ownerId, author: "ann", reason: "because" }
const a = ThreadId.make("a")

const Kid = Agent.make("kid", io)
const Parent = Agent.make("parent", io)

/** A parent that waits for a child, which waits for a word; the child has an effect before that. */
const makeFamily = async (options: Partial<LoomOptions> = {}) => {
  const effects: Array<string> = []
  const agents = [
    Kid.handler((input, run) =>
      Effect.gen(function* () {
        const happens = Effect.sync(() => effects.push(run.info.threadId))
        yield* run.step("effect", Schema.Int, happens)
        yield* run.approval("go", { summary: "?" })
        return input
      }),
    ),
    Parent.handler((input, run) =>
      Effect.match(run.child("kid", Kid, input), {
        onFailure: (error) => ("tag" in error ? `${error.outcome} ${error.tag}` : error.limit),
        onSuccess: (output) => output,
      }),
    ),
  ]
  const soon = { messageRetryMillis: 5, messageRetryMaxMillis: 20, forgetRetryMillis: 5 }
  const loom = makeLoom({ agents, ...options, limits: { ...soon, ...options.limits } })
  const { submissionId } = await loom.give("a", "parent", "well")
  await loom.quiet()
  const { records } = await loom.history("a")
  const asked = records.find(({ kind }) => kind === "ChildRequested")
  if (asked === undefined) throw new Error("no child was asked for")
  const { threadId } = asked.payload as { readonly threadId: ThreadId }
  const child = (await loom.history(threadId)).records[0]?.submissionId as SubmissionId
  const approve = (submission: SubmissionId = child) =>
    go(
      loom.client.resolveApproval({
        ...said,
        threadId,
        submissionId: submission,
        name: StepName.make("go"),
        approved: true,
      }),
    )
  return {
    loom,
    effects,
    submissionId,
    threadId,
    approve,
    parent: () => loom.status("a", submissionId),
    reconcile: (...threadIds: ReadonlyArray<ThreadId>) =>
      go(loom.client.reconcile({ ownerId, threadIds })),
    abort: () => go(loom.client.abort({ ...said, threadId: a, submissionId })),
  }
}

const isLost = { settlement: { outcome: "completed", output: "failed ChildLost" } }

describe("a child that was lost", () => {
  it("with the last moments of its parent is a failure of the parent's, and runs no more", async () => {
    const family = await makeFamily()
    const { loom } = family
    const restore = loom.backup("a")
    await go(loom.client.pauseThread({ ...said, threadId: a }))
    await loom.quiet()
    restore()
    loom.lose(family.threadId)
    await family.reconcile(a)
    await loom.quiet()
    expect(await family.parent()).toMatchObject(isLost)
    expect(family.effects).toHaveLength(1)
    expect(await loom.unverified("a")).toEqual([])
  })

  it("and whose parent's owner finds by itself that it went back is one, too", async () => {
    const family = await makeFamily()
    const { loom } = family
    const restore = loom.backup("a")
    const words = { ...said, threadId: a }
    for (let index = 0; index < 3; index++) {
      await go(loom.client.pauseThread(words))
      await go(loom.client.resumeThread(words))
    }
    await loom.quiet()
    restore()
    loom.lose(family.threadId)
    await go(loom.client.wake({ ownerId, threadId: a }))
    await loom.quiet()
    expect(await family.parent()).toMatchObject(isLost)
  })

  it("alone is one as soon as its owner hears from its thread", async () => {
    const family = await makeFamily()
    const { loom } = family
    loom.lose(family.threadId)
    await expect(family.approve()).rejects.toMatchObject({ _tag: "SubmissionNotFound" })
    await loom.quiet()
    expect(await family.parent()).toMatchObject(isLost)
    expect(family.effects).toHaveLength(1)
  })

  it("does not keep its parent from being aborted", async () => {
    const family = await makeFamily()
    const { loom } = family
    loom.lose(family.threadId)
    await family.abort()
    await loom.quiet()
    expect(await family.parent()).toMatchObject({ settlement: { outcome: "aborted" } })
  })
})

describe("a child", () => {
  it("whose end its restored parent does not know tells it once more, unasked by anybody", async () => {
    const family = await makeFamily()
    const { loom } = family
    const restore = loom.backup("a")
    await family.approve()
    await loom.quiet()
    restore()
    await family.reconcile(a)
    await loom.quiet()
    expect(await family.parent()).toMatchObject({
      settlement: { outcome: "completed", output: "well" },
    })
    expect(family.effects).toHaveLength(1)
  })

  it("that goes on is waited for, however often its parent asks after it", async () => {
    const family = await makeFamily()
    const { loom } = family
    for (let index = 0; index < 3; index++) {
      await family.reconcile(a, family.threadId)
      await loom.quiet()
    }
    expect(await family.parent()).toMatchObject({ state: "suspended" })
    await family.approve()
    await loom.quiet()
    expect(await family.parent()).toMatchObject({
      settlement: { outcome: "completed", output: "well" },
    })
    expect(family.effects).toHaveLength(1)
  })

  it("that was forgotten before its restored parent asks is over for it", async () => {
    const family = await makeFamily()
    const { loom } = family
    const restore = loom.backup("a")
    await family.approve()
    await loom.quiet()
    await go(loom.client.forgetThread({ ...said, threadId: family.threadId, abort: true }))
    restore()
    await family.reconcile(a)
    await loom.quiet()
    expect(await family.parent()).toMatchObject({
      settlement: { outcome: "completed", output: "failed ThreadForgotten" },
    })
  })
})
