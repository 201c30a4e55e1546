/** What an owner reads of how submissions ended, to be searched. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"

const Word = Agent.make("word", {
  input: Schema.String,
  output: Schema.Json,
  error: Schema.Struct({ _tag: Schema.Literal("Refused"), message: Schema.String }),
}).handler((word) =>
  word === "fails"
    ? Effect.fail({ _tag: "Refused" as const, message: "no such fruit" })
    : Effect.succeed({ word, nested: [{ number: 12 }, true, null, "pear"] }),
)

const read = (world: World, after: number, limit = 64, characters = 4_096) =>
  go(world.asOwner.readOutcomes({ ...world.address, after, limit, characters }))

const settled = async (world: World, words: ReadonlyArray<string>) => {
  for (const word of words) await accepted(world.admit("word", word))
  await drain(world)
}

describe("the outcomes of a thread", () => {
  it("are what people read of an output, and of a failure", async () => {
    const world = makeWorld({ agents: [Word] })
    await settled(world, ["apple", "fails"])
    const { more, outcomes, readTo } = await read(world, 0)
    expect(outcomes).toMatchObject([
      { sequence: 1, outcome: "completed", text: "12 pear apple" },
      { sequence: 2, outcome: "failed", text: expect.stringContaining("no such fruit") },
    ])
    const { report } = await go(world.inspect())
    expect({ more, readTo }).toEqual({ more: false, readTo: report.tailSequence })
    expect((await read(world, readTo)).outcomes).toEqual([])
  })

  it("begin with what an output of very many values begins with", async () => {
    const Long = Agent.make("long", { input: Schema.Json, output: Schema.Json }).handler(() =>
      Effect.succeed(Array.from({ length: 131_000 }, (_, index) => index % 10)),
    )
    const world = makeWorld({ agents: [Long] })
    await accepted(world.admit("long", null))
    await drain(world)
    expect((await read(world, 0, 64, 7)).outcomes).toMatchObject([{ text: "0 1 2 3" }])
  })

  it("go on behind the last one that was read, and are bounded", async () => {
    const world = makeWorld({ agents: [Word] })
    await settled(world, ["one", "two", "three"])
    const seen: Array<number> = []
    let after = 0
    for (let more = true; more;) {
      const page = await read(world, after, 1, 5)
      for (const { sequence, text } of page.outcomes) {
        seen.push(sequence)
        expect(text.length).toBeLessThanOrEqual(5)
      }
      after = page.readTo
      more = page.more
    }
    expect(seen).toEqual([1, 2, 3])
  })

  it("are told to the owner alone, and reading them writes nothing", async () => {
    const world = makeWorld({ agents: [Word] })
    expect(await read(world, 0)).toEqual({ outcomes: [], readTo: 0, more: false })
    expect(world.storage.dump()).toBe("[]")
    const asked = { ...world.address, after: 0, limit: 1, characters: 1 }
    expect(await go(Effect.flip(world.asReader.readOutcomes(asked)))).toMatchObject({
      _tag: "OperationDenied",
    })
  })
})
