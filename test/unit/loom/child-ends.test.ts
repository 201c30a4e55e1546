/** Parents and the ends of their children: who settles first, and what a parent may not start. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AgentId, IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom, type LoomOptions } from "./Loom.ts"

const go = Effect.runPromise

/** Waits for a decision, and so never ends by itself. */
const Patient = Agent.make("patient", { input: Schema.String, output: Schema.String })
const PatientLive = Patient.handler(
  Effect.fn("Patient")(function* (said, run) {
    yield* run.approval("may I", { summary: "May it?" })
    return said
  }),
)

class Late extends Schema.TaggedError<Late>()("Late", {}) {}

const Parent = Agent.make("parent", { input: Schema.String, output: Schema.String, error: Late })

const start = async (parent: Agent.AgentLive<never>, options: Partial<LoomOptions> = {}) => {
  // The alarm of a watch that is no longer needed may still stand: it rings soon.
  const limits = { watchMillis: 300, ...options.limits }
  const loom = makeLoom({ agents: [PatientLive, parent], ...options, limits })
  const { submissionId } = await go(
    loom.client.submit({
      ownerId,
      threadId: ThreadId.make("p"),
      agent: AgentId.make("parent"),
      input: "go",
      idempotencyKey: IdempotencyKey.make("go"),
    }),
  )
  await loom.quiet()
  return { loom, submissionId, parent: () => loom.status("p", submissionId) }
}

/** What the parent records from its known end on. */
const lastKinds = async ({ loom }: Awaited<ReturnType<typeof start>>) =>
  (await loom.kinds("p")).filter((kind) =>
    ["ResultReached", "ChildSettled", "Settled"].includes(kind),
  )

describe("a parent", () => {
  it("that is aborted has its child aborted, and settles after it", async () => {
    const world = await start(
      Parent.handler((_, run) => Effect.orDie(run.child("one", Patient, "hello"))),
    )
    expect(await world.parent()).toMatchObject({ state: "suspended" })
    const words = { ownerId, threadId: ThreadId.make("p"), author: "ann", reason: "enough" }
    await go(world.loom.client.abort({ ...words, submissionId: world.submissionId }))
    expect(await world.parent()).not.toMatchObject({ state: "settled" })
    await world.loom.quiet()
    expect(await world.parent()).toMatchObject({ settlement: { outcome: "aborted" } })
    expect((await lastKinds(world)).slice(-2)).toEqual(["ChildSettled", "Settled"])
  })

  it("that is aborted is told as one that waits for its children, until they have settled", async () => {
    const away = { is: false }
    const world = await start(
      Parent.handler((_, run) =>
        Effect.orDie(
          Effect.all([run.child("one", Patient, "hello"), run.child("two", Patient, "hello")], {
            concurrency: "unbounded",
          }),
        ).pipe(Effect.as("never")),
      ),
      {
        threadAway: (threadId) =>
          away.is && threadId.startsWith("child:")
            ? Promise.reject(new Error("Network connection lost."))
            : undefined,
      },
    )
    away.is = true
    const words = { ownerId, threadId: ThreadId.make("p"), author: "ann", reason: "enough" }
    await go(world.loom.client.abort({ ...words, submissionId: world.submissionId }))
    await world.loom.until(
      "its owner has heard that it has words for them",
      () => world.loom.lane("p")?.["outbox_at"] !== null,
    )
    const owed = async () =>
      (await go(world.loom.client.obligations({ ownerId }))).obligations.filter(
        ({ blocker, threadId }) => threadId === "p" && blocker === "child",
      )
    const asked = (await world.loom.history("p")).records
      .filter(({ kind }) => kind === "ChildRequested")
      .map(({ recordedAt }) => recordedAt)
    const waits = ["one", "two"].map((name, index) => ({ name, sinceAt: asked[index] }))
    const { submissionId } = world
    expect(await owed()).toMatchObject(
      waits.map((wait) => ({ ...wait, submissionId, state: "suspended" })),
    )
    expect(await world.loom.explain("p")).toMatchObject([{ submissionId, waits }])
    away.is = false
    await world.loom.quiet()
    expect(await world.parent()).toMatchObject({ state: "settled" })
    expect(await owed()).toEqual([])
  })

  it("that fails beside an open child keeps its own end, and settles after the child", async () => {
    const world = await start(
      Parent.handler((_, run) =>
        Effect.all([Effect.orDie(run.child("one", Patient, "hello")), Effect.fail(new Late())], {
          concurrency: "unbounded",
        }).pipe(Effect.as("never")),
      ),
    )
    expect(await world.parent()).toMatchObject({
      settlement: { outcome: "failed", failure: { tag: "Late" } },
    })
    expect(await lastKinds(world)).toEqual(["ResultReached", "ChildSettled", "Settled"])
  })

  it("settles before a child that is detached", async () => {
    const world = await start(
      Parent.handler((_, run) =>
        Effect.map(
          Effect.orDie(run.child("one", Patient, "hello", { detached: true })),
          ({ threadId }) => threadId,
        ),
      ),
    )
    const { settlement } = await world.parent()
    expect(settlement).toMatchObject({ outcome: "completed" })
    const child = ThreadId.make(settlement?.output as string)
    expect(await go(world.loom.client.obligations({ ownerId }))).toMatchObject({
      obligations: [{ threadId: child, blocker: "approval" }],
    })
  })
})

describe("a child too many", () => {
  it("is refused by number, and stays refused when the run is entered again", async () => {
    const world = await start(
      Parent.handler((_, run) =>
        Effect.gen(function* () {
          for (const name of ["one", "two"])
            yield* Effect.orDie(run.child(name, Patient, name, { detached: true }))
          const refused = yield* Effect.orDie(Effect.flip(run.child("three", Patient, "three")))
          yield* run.sleep("a while", 20)
          return JSON.stringify(refused)
        }),
      ),
      { limits: { childrenPerRun: 2 } },
    )
    expect(JSON.parse((await world.parent()).settlement?.output as string)).toMatchObject({
      _tag: "ChildLimitExceeded",
      limit: "childrenPerRun",
      maximum: 2,
    })
  })

  it("is refused by depth", async () => {
    const Nested = Agent.make("nested", { input: Schema.Int, output: Schema.String })
    const NestedLive = Nested.handler((depth, run) =>
      Effect.catchTags(run.child("next", Nested, depth + 1), {
        ChildLimitExceeded: ({ limit, maximum }) => Effect.succeed(`${depth}: ${limit} ${maximum}`),
        ChildFailed: ({ tag }) => Effect.succeed(`failed: ${tag}`),
      }),
    )
    const loom = makeLoom({ agents: [NestedLive], limits: { childDepth: 3 } })
    const { submissionId } = await go(
      loom.client.submit({
        ownerId,
        threadId: ThreadId.make("top"),
        agent: AgentId.make("nested"),
        input: 0,
        idempotencyKey: IdempotencyKey.make("go"),
      }),
    )
    await loom.quiet()
    expect(await loom.status("top", submissionId)).toMatchObject({
      settlement: { outcome: "completed", output: "3: childDepth 3" },
    })
  })
})
