/** A tool call whose object dies at each point of it: what the next attempt makes of its records. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  Declined,
  executions,
  io,
  makeOutside,
  makeWitness,
  payment,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, until, type World } from "./harness.ts"

const points = ["prepare:before", "prepare:after", "settleTool:before", "settleTool:after"] as const
type Point = (typeof points)[number]

/** What was sent before the object died is not known from its records where they end in between. */
const doubtful: ReadonlyArray<Point> = ["prepare:after", "settleTool:before"]

const outcomes = {
  completes: Effect.succeed("paid"),
  declines: Effect.fail(new Declined({ code: 402 })),
} as const
type Way = keyof typeof outcomes

const words: Record<Way, string> = { completes: "paid", declines: "Declined 402" }

const makeCase = (
  execution: Agent.Execution,
  way: Way,
  stopAt: string,
  reconcile?: Parameters<typeof payment>[1] & {},
) => {
  const outside = makeOutside()
  const witness = makeWitness()
  const tool = payment(execution, reconcile)
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      witness.see(
        "pay",
        run.tool(
          "pay",
          tool,
          outside.body(() => outcomes[way] as Effect.Effect<string, Declined>),
        ),
      ),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, stopAt })
  witness.of(world)
  return { outside, witness, world }
}

/** The object dies at its point. */
const die = async (world: World): Promise<void> => {
  const dying = world.thread()
  void go(world.process()).catch(() => undefined)
  await world.stopped()
  world.crash()
  expect(dying).not.toBe(world.thread())
}

const isReached = (execution: Agent.Execution, point: Point): boolean =>
  execution !== "readonly" || !point.startsWith("prepare")

const cases = executions.flatMap((execution) =>
  (["completes", "declines"] as const).flatMap((way) =>
    points
      .filter((point) => isReached(execution, point))
      .map((point) => [execution, way, point] as const),
  ),
)

describe("a tool call", () => {
  it.each(cases)("(%s, %s) that died at %s", async (execution, way, point) => {
    const { outside, witness, world } = makeCase(execution, way, point)
    const { submissionId } = await accepted(world.admit("agent", ""))
    await die(world)
    const before = outside.started.length
    expect(before).toBe(point.startsWith("prepare") ? 0 : 1)
    await settle(world)
    if (execution === "ordinary" && doubtful.includes(point)) {
      expect(outside.started).toHaveLength(before)
      expect(witness.saw).toEqual([])
      expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolUnknown pay 1"])
      expect(await stateOf(world, submissionId)).toBe("unknown")
      return
    }
    const isRecorded = point === "settleTool:after"
    expect(outside.started).toHaveLength(isRecorded ? 1 : before + 1)
    expect(witness.saw).toEqual([`${words[way]}: ToolSettled`])
    const records = await callRecords(world)
    expect(records.filter((record) => record.startsWith("ToolSettled"))).toHaveLength(1)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      outcome: way === "completes" ? "completed" : "failed",
    })
  })

  it.each(doubtful)(
    "that is ordinary and died at %s is made again on its reconciler's word alone",
    async (point) => {
      const asked: Array<Agent.ToolCall> = []
      const { outside, witness, world } = makeCase("ordinary", "completes", point, {
        reconcile: (call) =>
          Effect.sync(() => {
            asked.push(call)
            return { _tag: "NeverStarted" } as const
          }),
      })
      const { submissionId } = await accepted(world.admit("agent", ""))
      await die(world)
      const before = outside.started.length
      await settle(world)
      expect(asked).toHaveLength(1)
      expect(outside.started).toHaveLength(before + 1)
      expect(witness.saw).toEqual(["paid: ToolSettled"])
      expect(await callRecords(world)).toEqual([
        "ToolPrepared pay 0",
        "ToolResolved pay 1",
        "ToolPrepared pay 2",
        "ToolSettled pay 3",
      ])
      expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid" })
    },
  )

  it("whose outcome is recorded gives the same on every later entry, as the record holds it", async () => {
    const seen: Array<unknown> = []
    const hang = { now: true }
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(
            run.tool("pay", tool, Effect.fail(new Declined({ code: seen.length }))),
          ).pipe(Effect.orDie)
          seen.push(error)
          return hang.now ? yield* Effect.never : "done"
        }),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    await accepted(world.admit("agent", ""))
    for (const entries of [1, 2, 3]) {
      await go(world.process({ attentionMillis: 2 }))
      await until(
        "the handler has seen it",
        () => seen.length,
        (count) => count === entries,
      )
      world.crash()
      await go(world.recover())
      world.time.now += 10_000
    }
    hang.now = false
    await settle(world)
    expect(seen).toEqual(Array.from({ length: 4 }, () => new Declined({ code: 0 })))
    expect(seen.every((error) => error instanceof Declined)).toBe(true)
  })
})
