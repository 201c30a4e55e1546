/** `run.tool`: what a handler gets of a call, by its execution and by how its body goes. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  Declined,
  io,
  makeOutside,
  makeWitness,
  openRows,
  payment,
  overAt,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, tags, until, type WorldOptions } from "./harness.ts"

const limits = { stepResultBytes: 1_000, recordBytes: 2_000 }

/** How a body can go. */
const ways: Record<string, Effect.Effect<string, unknown>> = {
  completes: Effect.succeed("paid"),
  declines: Effect.fail(new Declined({ code: 402 })),
  "fails with what is not declared": Effect.fail(new RangeError("reset")),
  "fails with a declared failure that is too large": Effect.fail(
    Object.assign(new Declined({ code: 1 }), { code: "x".repeat(3_000) }),
  ),
  "takes too long": Effect.never,
  dies: Effect.die(new Error("a defect")),
  throws: Effect.sync(() => {
    throw new Error("a defect")
  }),
  "interrupts itself": Effect.interrupt,
  "gives what does not fit": Effect.succeed(5 as unknown as string),
  "gives too much": Effect.succeed("x".repeat(1_001)),
}

/** One call in a handler that looks at whatever it comes to, and goes on. */
const makeCase = (execution: Agent.Execution, way: string, options: WorldOptions = {}) => {
  const outside = makeOutside()
  const witness = makeWitness()
  const tool = payment(execution, { timeout: "5 millis" })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      witness.see(
        "pay",
        run.tool(
          "pay",
          tool,
          outside.body(() => ways[way] as Effect.Effect<string>),
        ),
      ),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], limits, ...options })
  witness.of(world)
  return { outside, witness, world }
}

/** What the handler sees of a call that may be made again, and what is recorded by then. */
const seen: Record<string, readonly [string, string | undefined]> = {
  completes: ["paid", "ToolSettled"],
  declines: ["Declined 402", "ToolSettled"],
  "fails with what is not declared": ["ToolFailed", "ToolSettled"],
  "fails with a declared failure that is too large": ["ToolFailed", "ToolSettled"],
  "takes too long": ["ToolTimedOut", "ToolSettled"],
  dies: ["Die", undefined],
  throws: ["Die", undefined],
  "interrupts itself": ["", undefined],
  "gives what does not fit": ["Die", undefined],
  "gives too much": ["", undefined],
}

describe.each(["readonly", "idempotent"] as const)("a %s tool call", (execution) => {
  const prepared = execution === "readonly" ? [] : ["ToolPrepared pay 0"]
  const part = prepared.length

  it.each(Object.entries(seen))("whose body %s is told to the handler", async (way, expected) => {
    const { outside, witness, world } = makeCase(execution, way)
    await accepted(world.admit("agent", ""))
    await go(world.process())
    const [word, last] = expected
    const before = execution === "readonly" ? "no record" : "ToolPrepared"
    expect(witness.saw).toEqual(word === "" ? [] : [`${word}: ${last ?? before}`])
    expect(await callRecords(world)).toEqual(
      last === undefined ? prepared : [...prepared, `ToolSettled pay ${part}`],
    )
    expect(outside.started).toEqual(["pay"])
    expect(openRows(world)).toEqual([])
  })
})

const outcomes = ["completes", "declines"]
const doubts = Object.keys(ways).filter((way) => !outcomes.includes(way))

describe("an ordinary tool call", () => {
  it.each(outcomes)("whose body %s is recorded before the handler sees it", async (way) => {
    const { outside, witness, world } = makeCase("ordinary", way)
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process())
    expect(witness.saw).toEqual([`${seen[way]?.[0]}: ToolSettled`])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
    expect(await stateOf(world, submissionId)).toBe("settled")
    expect(openRows(world)).toEqual([])
    expect(outside.started).toEqual(["pay"])
  })

  it.each(doubts)(
    "whose body %s raises nothing, and recovery is asked for once the call is over",
    async (way) => {
      const { outside, witness, world } = makeCase("ordinary", way)
      const { submissionId } = await accepted(world.admit("agent", ""))
      expect(await tags(world.process())).toEqual(["Suspended"])
      expect(witness.saw).toEqual([])
      expect(await callRecords(world)).toEqual(["ToolPrepared pay 0"])
      const { report } = await go(world.inspect())
      const recoverAt = await overAt(world)
      expect(report).toMatchObject({ head: { state: "suspended" }, recoverAt })
      expect(report.dueAt).toBeUndefined()
      await settle(world)
      expect(await stateOf(world, submissionId)).toBe("unknown")
      expect(outside.started).toEqual(["pay"])
      expect(witness.saw).toEqual([])
    },
  )

  it("is not made beside a try of it that is open, whoever claims its run", async () => {
    const { outside, witness, world } = makeCase("ordinary", "takes too long")
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    world.storage.sql.run("UPDATE submissions SET state = 'ready', suspension = NULL")
    expect(await tags(world.process())).toEqual(["Suspended"])
    expect(outside.started).toEqual(["pay"])
    expect(witness.saw).toEqual([])
  })

  it("lets a parallel step go on, records its result, and only then ends the attempt", async () => {
    const tool = payment("ordinary", { timeout: "1 millis" })
    const ran: Array<string> = []
    const noted = (name: string, body: Effect.Effect<unknown>) =>
      Effect.as(
        Effect.tap(body, () => Effect.sync(() => ran.push(name))),
        name,
      )
    const agent = Agent.make("agent", io).handler(
      (_input, run) => {
        const steps = Effect.gen(function* () {
          yield* run.step("one", Schema.String, noted("one", Effect.sleep(20)))
          yield* run.step("two", Schema.String, noted("two", Effect.sleep(5)))
          return yield* run.step("three", Schema.String, noted("three", Effect.void))
        })
        return Effect.all([run.tool("pay", tool, Effect.never), steps], {
          concurrency: "unbounded",
        })
      },
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    expect(ran).toEqual(["one", "two", "three"])
    const { records } = await go(world.history())
    expect(records.map(({ kind, name }) => `${kind} ${name ?? ""}`.trim())).toEqual([
      "InputApplied",
      "ToolPrepared pay",
      "StepCompleted one",
      "StepCompleted two",
      "StepCompleted three",
    ])
    expect((await go(world.inspect())).report.recoverAt).toBe(await overAt(world))
  })

  it("of a race that another branch won is left open, and the run settles nothing over it", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.raceFirst(
          run.tool(
            "pay",
            tool,
            outside.body(() => Effect.never as Effect.Effect<string>),
          ),
          Effect.as(Effect.sleep(5), "the other"),
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0"])
    expect((await go(world.inspect())).report.recoverAt).toBe(await overAt(world))
    await settle(world)
    expect(await stateOf(world, submissionId)).toBe("unknown")
    expect(outside.started).toEqual(["pay"])
  })

  it("is recorded on its way to its record, though its branch is interrupted meanwhile", async () => {
    const other = Deferred.makeUnsafe<string>()
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.raceFirst(run.tool("pay", tool, Effect.succeed("paid")), Deferred.await(other)),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], holdAt: "settleTool:before" })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const turn = tags(world.process())
    await until(
      "its body has ended",
      () => world.reached,
      (points) => points.includes("settleTool:before"),
    )
    Deferred.doneUnsafe(other, Effect.succeed("the other"))
    world.release()
    expect(await turn).toEqual(["Settled"])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "the other" })
  })

  it("that its handler does not let be interrupted ends on its own and is recorded", async () => {
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.raceFirst(
          Effect.uninterruptible(run.tool("pay", tool, Effect.as(Effect.sleep(20), "paid late"))),
          Effect.as(Effect.sleep(1), "the other"),
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
  })

  it("is told to its body as it is recorded, the same on every try", async () => {
    const told: Array<Agent.ToolCall> = []
    const tool = payment("idempotent")
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        run.tool(
          "pay",
          tool,
          (call) =>
            Effect.suspend(() => {
              told.push(call)
              return hang.now ? Effect.never : Effect.succeed("paid")
            }),
          { request: { order: 7, at: [1, null] } },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    hang.now = false
    world.crash()
    await settle(world)
    expect(told).toHaveLength(2)
    expect(told[0]).toEqual(told[1])
    expect(told[0]).toEqual({
      ...world.address,
      submissionId,
      name: "pay",
      key: expect.stringMatching(/^[0-9a-f]{32}$/),
      request: { order: 7, at: [1, null] },
    })
    const { records } = await go(world.history())
    expect(records.find(({ kind }) => kind === "ToolPrepared")?.payload).toEqual({
      execution: "idempotent",
      request: { order: 7, at: [1, null] },
      timeoutMillis: 20_000,
      tool: "payment",
    })
  })

  it("has a key of its own: another call, submission or thread has another", async () => {
    const keys = new Set<string>()
    const tool = payment("ordinary")
    const pay = (run: Agent.Run, name: string) =>
      run.tool(name, tool, ({ key }) =>
        Effect.sync(() => {
          keys.add(key)
          return "paid"
        }),
      )
    const agent = Agent.make("agent", io).handler(
      (_input, run) => Effect.all([pay(run, "one"), pay(run, "two")]),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    await accepted(world.admit("agent", ""))
    await accepted(world.admit("agent", ""))
    await settle(world)
    expect(keys.size).toBe(4)
  })

  it("records its outcome however much its run has recorded by then", async () => {
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) => run.tool("pay", tool, Effect.succeed("paid")),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], limits: { runRecords: 1 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid" })
  })

  it("is not begun by a run that may record nothing more", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        run.tool(
          "pay",
          tool,
          outside.body(() => Effect.succeed("paid")),
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], limits: { runRecords: 0 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      failure: { tag: "RunTooLarge" },
    })
    expect(outside.started).toEqual([])
  })
})
