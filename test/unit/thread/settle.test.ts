import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, go, makeWorld, tags } from "./harness.ts"

const Echo = Agent.make("echo", { input: Schema.String, output: Schema.String }).handler((input) =>
  Effect.succeed(input.toUpperCase()),
)

describe("a submission", () => {
  it("is admitted, applied and settled, each once and on record", async () => {
    const world = makeWorld({ agents: [Echo] })
    const receipt = await accepted(world.admit("echo", "hello"))
    expect(receipt).toMatchObject({ sequence: 1, duplicate: false, ...world.address })
    expect(await answers(world.process())).toEqual([
      { _tag: "Settled", submissionId: receipt.submissionId, outcome: "completed" },
    ])
    const status = await go(world.status(receipt.submissionId))
    expect(status).toMatchObject({
      state: "settled",
      attempts: 1,
      settlement: { outcome: "completed", output: "HELLO", sequence: 1 },
    })
    const { records, next } = await go(world.history())
    expect(records.map(({ kind, sequence }) => [sequence, kind])).toEqual([
      [1, "InputApplied"],
      [2, "Settled"],
    ])
    expect(next).toBeUndefined()
    expect(records[0]?.payload).toMatchObject({ agent: "echo", input: "hello" })
  })

  it("is followed by the next ones of its slice, in order", async () => {
    const world = makeWorld({ agents: [Echo] })
    for (let index = 0; index < 10; index++) await accepted(world.admit("echo", `${index}`))
    expect(await tags(world.process())).toEqual(Array.from({ length: 8 }, () => "Settled"))
    expect(await tags(world.process())).toEqual(["Settled", "Settled"])
    const { records } = await go(world.history())
    expect(
      records.filter(({ kind }) => kind === "InputApplied").map(({ payload }) => payload),
    ).toMatchObject(Array.from({ length: 10 }, (_, index) => ({ input: `${index}` })))
    const { report } = await go(world.inspect())
    expect(report).toMatchObject({ nonterminal: 0, tailSequence: 20 })
    expect(report.dueAt).toBeUndefined()
  })
})
