/** Whatever a thread is asked, it answers alike as the first call that its object gets and as a later one. */
import { Effect, Schema, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags } from "./harness.ts"
import { taken } from "./operators.ts"

const Echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler((input, run) =>
  Effect.andThen(run.step("looks", Schema.String, Effect.succeed("seen")), Effect.succeed(input)),
)
const Asks = Agent.make("asks", { input: Schema.Json, output: Schema.Json }).handler((_, run) =>
  Effect.as(run.approval("ok", { summary: "?" }), "asked"),
)

/** A thread in which there is something to find for every call: one settled, one that asks, one behind it, a schedule. */
const prepared = async () => {
  const world = makeWorld({ agents: [Echo, Asks] })
  const { address, asOwner, time } = world
  const said = () => ({ ...address, principal: "alice", generation: world.generation() })
  const settled = await accepted(world.admit("echo", { a: 1 }))
  expect(await tags(world.process())).toEqual(["Settled"])
  const open = await accepted(world.admit("asks", null))
  expect(await tags(world.process())).toEqual(["Suspended"])
  const behind = await accepted(world.admit("echo", { b: 2 }))
  const hourly = { name: "hourly", cron: "0 * * * *", agent: "echo", input: {} }
  await taken(go(asOwner.schedule({ ...said(), now: time.now, ...hourly } as never)))
  return { world, settled, open, behind, said }
}

type Prepared = Awaited<ReturnType<typeof prepared>>

const words = { author: "ann", reason: "looking into it" }
const childId = "0".repeat(64)

/** What each call is asked with, besides its address, its caller and the time. */
const calls: Record<string, (of: Prepared) => object> = {
  admit: () => ({ agent: "echo", input: 1, idempotencyKey: "new" }),
  admitMany: () => ({ submissions: [{ agent: "echo", input: 1, idempotencyKey: "new" }] }),
  resubmit: ({ settled }) => ({ ...words, ...settled, idempotencyKey: "again" }),
  requestAbort: ({ open }) => ({ ...words, submissionId: open.submissionId }),
  resolveApproval: ({ open }) => ({
    ...words,
    submissionId: open.submissionId,
    name: "ok",
    approved: true,
  }),
  resolveUnknown: ({ open }) => ({
    ...words,
    submissionId: open.submissionId,
    recordId: "0".repeat(64),
    resolution: { _tag: "NeverStarted" },
  }),
  signal: ({ open }) => ({ submissionId: open.submissionId, name: "word", payload: 1 }),
  schedule: () => ({ name: "daily", cron: "0 0 * * *", agent: "echo", input: {} }),
  unschedule: () => ({ name: "hourly" }),
  retry: ({ behind }) => ({ ...words, submissionId: behind.submissionId }),
  pause: () => words,
  resume: () => words,
  forget: () => ({ ...words, abort: false }),
  inspect: () => ({}),
  listOpen: () => ({}),
  readOutcomes: () => ({ after: 0, limit: 10 }),
  recover: () => ({}),
  processHead: ({ world }) => ({
    yieldAt: world.time.now + 60_000,
    maxHeads: 8,
    sliceMillis: 100,
    attentionMillis: 1_000,
    suspect: false,
  }),
  claimOutbox: () => ({ limit: 10 }),
  acknowledgeOutbox: () => ({ results: [] }),
  claimPublication: () => ({ limit: 10, bytes: 65_536 }),
  acknowledgePublication: () => ({ through: 2 }),
  settleChild: ({ open, settled }) => ({
    submissionId: open.submissionId,
    name: "child",
    childId,
    settlement: {
      submissionId: settled.submissionId,
      outcome: "completed",
      output: 1,
      attempts: 1,
      settledAt: 1,
    },
  }),
  abortChild: () => ({ ...words, childId }),
  askChild: () => ({ childId }),
  status: ({ open }) => ({ submissionId: open.submissionId }),
  schedules: () => ({}),
  callback: ({ world }) => ({
    token: `${world.address.ownerId}~${world.address.threadId}~${"0".repeat(32)}`,
  }),
  history: () => ({}),
  observe: () => ({ after: 0 }),
  awaitSettlement: ({ settled }) => ({ submissionId: settled.submissionId }),
  readState: () => ({}),
  explain: () => ({}),
  verify: () => ({}),
}

/** The ids that chance gives are other ones in each world. */
const plain = (answer: unknown): string =>
  (JSON.stringify(answer) ?? "nothing")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "id")
    .replaceAll(/[0-9a-f]{32,64}/g, "hash")

type Call = (payload: object) => Effect.Effect<unknown, unknown> | Stream.Stream<unknown, unknown>

const ask = (of: Prepared, name: string): Promise<string> => {
  const { asOwner, asReader, time } = of.world
  const client = (readers.has(name) ? asReader : asOwner) as unknown as Record<string, Call>
  const payload = { ...of.said(), now: time.now, ...calls[name]?.(of) }
  const answer = client[name]?.(payload)
  const answered = Stream.isStream(answer)
    ? Effect.map(Stream.runCollect(Stream.take(answer, 3)), (frames) => [...frames])
    : (answer ?? Effect.fail("there is no such call"))
  return go(Effect.map(Effect.exit(answered), plain))
}

/** What principals may ask. */
const readers = new Set([
  "status",
  "schedules",
  "callback",
  "history",
  "observe",
  "awaitSettlement",
  "readState",
  "explain",
  "verify",
])

describe("the first call of an object", () => {
  it("may be any that there is", () => {
    expect(Object.keys(calls).toSorted()).toEqual([...ThreadRpc.requests.keys()].toSorted())
  })

  it.each(Object.keys(calls))("%s is answered as a later one", async (name) => {
    const warm = await prepared()
    const cold = await prepared()
    cold.world.crash()
    const answer = await ask(warm, name)
    expect(answer).not.toMatch(/Defect|IdentityMismatch|not admitted|InvalidPayload/)
    expect(await ask(cold, name)).toBe(answer)
  })
})
