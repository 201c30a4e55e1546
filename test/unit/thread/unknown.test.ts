/** Unknown outcomes: parked runs hold nobody, wait for a word without a timer, and go on in their turn. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  expectRest,
  io,
  payment,
  questionsOf,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, until, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"

/**
 * `pay …` calls without an outcome in its first try, `open` waits at a gate, anything else is echoed. What
 * ran, in its order, is noted.
 */
const makeCase = () => {
  const ran: Array<string> = []
  const gate = Deferred.makeUnsafe<void>()
  const tool = payment("ordinary", { timeout: 1 })
  const agent = Agent.make("agent", io).handler(
    (input, run) =>
      Effect.gen(function* () {
        ran.push(input)
        if (input === "open") {
          yield* run.step("wait", Schema.Void, Deferred.await(gate))
          return input
        }
        if (!input.startsWith("pay")) return input
        const tries = ran.filter((other) => other === input).length
        const paid = yield* run.tool(
          "pay",
          tool,
          tries === 1 ? Effect.never : Effect.succeed("paid"),
        )
        return `${input} ${paid}`
      }),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true })
  return {
    ran,
    world,
    operator: operate(world),
    open: () => Deferred.doneUnsafe(gate, Effect.void),
    admit: async (...inputs: ReadonlyArray<string>) => {
      const ids: Array<SubmissionId> = []
      for (const input of inputs)
        ids.push((await accepted(world.admit("agent", input))).submissionId)
      return ids as [SubmissionId, SubmissionId, SubmissionId]
    },
  }
}

const resolve = async (
  { operator, world }: Pick<ReturnType<typeof makeCase>, "operator" | "world">,
  submissionId: SubmissionId,
  resolution: { readonly _tag: string; readonly result?: unknown } = {
    _tag: "CompletedWithResult",
    result: "told",
  },
) => {
  const [question] = await questionsOf(world, submissionId)
  if (question === undefined) throw new Error("nothing is asked")
  return taken(operator.resolve(question, resolution))
}

const reportOf = async (world: World) => (await go(world.inspect())).report

describe("an unknown submission", () => {
  it("lets later input run, waits without a time, and is told in the report", async () => {
    const made = makeCase()
    const { ran, world } = made
    const [first, second] = await made.admit("pay", "after")
    const sinceAt = world.time.now + 5_001
    const report = await settle(world)
    expect(ran).toEqual(["pay", "after"])
    expect(await stateOf(world, first)).toBe("unknown")
    expect(await settlementOf(world, second)).toMatchObject({ output: "after" })
    const [question] = await questionsOf(world, first)
    expect(report).toMatchObject({
      nonterminal: 1,
      parked: 1,
      waits: [
        {
          submissionId: first,
          blocker: "unknown",
          name: "pay",
          recordId: question?.recordId,
          sinceAt,
        },
      ],
    })
    expect(report).not.toHaveProperty("head")
  })

  it("keeps its place over a crash, and lets input run that comes much later", async () => {
    const made = makeCase()
    const { world } = made
    const [first] = await made.admit("pay")
    await settle(world)
    const before = await reportOf(world)
    world.crash()
    world.time.now += 30 * 86_400_000
    expect(await expectRest(world)).toEqual(before)
    const [later] = await made.admit("later")
    await settle(world)
    expect(await settlementOf(world, later)).toMatchObject({ output: "later" })
    expect(await stateOf(world, first)).toBe("unknown")
  })

  it("goes on once it is resolved, before what is queued", async () => {
    const made = makeCase()
    const { ran, world } = made
    const [first] = await made.admit("pay")
    await settle(world)
    await made.admit("queued")
    expect(await resolve(made, first)).toMatchObject({ state: "ready", undecided: 0 })
    expect(await reportOf(world)).toMatchObject({
      dueAt: 0,
      parked: 0,
      head: { submissionId: first, state: "ready", attempted: true },
    })
    await settle(world)
    expect(ran).toEqual(["pay", "pay", "queued"])
    expect(await settlementOf(world, first)).toMatchObject({ output: "pay told", attempts: 2 })
  })

  it("waits, once it is resolved, for the open run, and comes before what is queued then", async () => {
    const made = makeCase()
    const { ran, world } = made
    const [first] = await made.admit("pay")
    await settle(world)
    const [open] = await made.admit("open", "queued")
    await go(world.process({ attentionMillis: 20 }))
    expect(await resolve(made, first)).toMatchObject({ state: "ready" })
    expect(await reportOf(world)).toMatchObject({ head: { submissionId: open, state: "running" } })
    made.open()
    await until(
      "the open run has ended",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    await settle(world)
    expect(ran).toEqual(["pay", "open", "pay", "queued"])
  })

  it.each([
    ["in their order", [0, 1]],
    ["in the other order", [1, 0]],
  ])("with another, both resolved %s while none ran, go on by sequence", async (_what, order) => {
    const made = makeCase()
    const { ran, world } = made
    const ids = await made.admit("pay one", "pay two", "between")
    await settle(world)
    expect(await reportOf(world)).toMatchObject({ parked: 2, waits: [{}, {}] })
    for (const index of order) await resolve(made, ids[index] as SubmissionId)
    expect(await reportOf(world)).toMatchObject({ parked: 0, waits: [] })
    await settle(world)
    expect(ran).toEqual(["pay one", "pay two", "between", "pay one", "pay two"])
  })

  it("with another, resolved alone, leaves the other parked", async () => {
    const made = makeCase()
    const { world } = made
    const [first, second] = await made.admit("pay one", "pay two")
    await settle(world)
    await resolve(made, second)
    await settle(world)
    expect(await settlementOf(world, second)).toMatchObject({ output: "pay two told" })
    expect(await stateOf(world, first)).toBe("unknown")
    expect(await reportOf(world)).toMatchObject({ parked: 1, nonterminal: 1 })
    await resolve(made, first)
    await settle(world)
    expect((await reportOf(world)).nonterminal).toBe(0)
  })

  it("that is lost in the run after its resolution is resumed as the open one", async () => {
    const hang = { now: false }
    const tool = payment("ordinary", { timeout: 1 })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.andThen(
          run.tool("pay", tool, Effect.never),
          Effect.suspend(() => (hang.now ? Effect.never : Effect.succeed("done"))),
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    const made = { world, operator: operate(world) }
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    await resolve(made, submissionId)
    hang.now = true
    await go(world.process({ attentionMillis: 20 }))
    world.crash()
    expect(await reportOf(world)).toMatchObject({ recoverAt: 0, head: { submissionId } })
    hang.now = false
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "done" })
  })

  it("that had a time of its own is parked like any other, and holds none after it", async () => {
    const made = makeCase()
    const { world } = made
    const notBefore = world.time.now + 10_000
    const deferred = await accepted(world.admit("agent", "pay", { notBefore }))
    const [plain] = await made.admit("plain")
    await settle(world)
    expect(await stateOf(world, deferred.submissionId)).toBe("unknown")
    expect(await settlementOf(world, plain)).toMatchObject({ output: "plain" })
    const [later] = await made.admit("later")
    await settle(world)
    expect(await settlementOf(world, later)).toMatchObject({ output: "later" })
    await resolve(made, deferred.submissionId)
    await settle(world)
    expect(await settlementOf(world, deferred.submissionId)).toMatchObject({ output: "pay told" })
  })

  it("may become unknown again after it was resolved, with a question of its own", async () => {
    const made = makeCase()
    const { ran, world } = made
    const [first] = await made.admit("pay")
    await settle(world)
    ran.length = 0
    await resolve(made, first, { _tag: "SafeToRetry" })
    await settle(world)
    expect(await stateOf(world, first)).toBe("unknown")
    expect(await callRecords(world)).toEqual([
      "ToolPrepared pay 0",
      "ToolUnknown pay 1",
      "ToolResolved pay 2",
      "ToolPrepared pay 3",
      "ToolUnknown pay 4",
    ])
    const [one, two] = await questionsOf(world, first)
    expect(one?.recordId).not.toBe(two?.recordId)
    expect(await reportOf(world)).toMatchObject({ waits: [{ recordId: two?.recordId }] })
  })
})

describe("two thousand settled behind one that is parked", () => {
  it("leave the queue's beginning behind them, and cost the next one nothing more", async () => {
    const made = makeCase()
    const { world } = made
    await made.admit("pay")
    await settle(world)
    const floor = () =>
      world.storage.sql.all("SELECT floor FROM journal ORDER BY sequence DESC LIMIT 1")[0]
    const settleMore = async (count: number) => {
      for (let index = 0; index < count; index++) await made.admit("more")
      while ((await reportOf(world)).dueAt !== undefined)
        await go(world.process({ maxHeads: 1_000, sliceMillis: 10_000 }))
    }
    const readByNext = async () => {
      const before = world.storage.counts().read
      await made.admit("next")
      await go(world.process())
      return world.storage.counts().read - before
    }
    await settleMore(20)
    expect(floor()).toEqual({ floor: 22 })
    const few = await readByNext()
    for (let time = 0; time < 8; time++) await settleMore(250)
    expect(floor()).toEqual({ floor: 2_023 })
    expect(await readByNext()).toBe(few)
    world.crash()
    const before = world.storage.counts().read
    await go(world.recover())
    // Two of them tell which tables were made, and one is the answer of the look for empty ones, of which an object reads no row.
    expect(world.storage.counts().read - before).toBe(14)
  })
})

describe("the oldest eight waits", () => {
  it("are told, oldest first, whatever the order of the submissions", async () => {
    const made = makeCase()
    const { world } = made
    for (let index = 0; index < 10; index++) {
      await made.admit(`pay ${index}`)
      await settle(world)
      world.time.now += 1_000
    }
    const { waits, parked } = await reportOf(world)
    expect(parked).toBe(10)
    expect(waits).toHaveLength(8)
    const times = waits.map(({ sinceAt }) => sinceAt)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
  })
})
