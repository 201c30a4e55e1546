/** Children over one owner: asked for once, taken once, and told back. */
import { Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise

const Half = Agent.make("half", { input: Schema.Int, output: Schema.Int })
class Odd extends Schema.TaggedError<Odd>()("Odd", { of: Schema.Int }) {}
const HalfLive = Agent.make("half", { input: Schema.Int, output: Schema.Int, error: Odd }).handler(
  (n) => (n % 2 === 0 ? Effect.succeed(n / 2) : Effect.fail(new Odd({ of: n }))),
)

const Parent = Agent.make("parent", { input: Schema.Int, output: Schema.Array(Schema.String) })
const ParentLive = Parent.handler(
  Effect.fn("Parent")(function* (count, run) {
    const ends = yield* Effect.all(
      Array.from({ length: count }, (_, n) => Effect.result(run.child(`half-${n}`, Half, n))),
      { concurrency: "unbounded" },
    )
    return ends.map((end) =>
      Result.isSuccess(end)
        ? String(end.success)
        : `${end.failure._tag} ${end.failure._tag === "ChildFailed" ? end.failure.tag : ""}`,
    )
  }),
)

describe("children", () => {
  it("are asked for once each, and their ends are typed values of their parent", async () => {
    const loom = makeLoom({ agents: [HalfLive, ParentLive] })
    const { submissionId } = await loom.give("p", "parent", 4)
    await loom.quiet()
    expect(await loom.status("p", submissionId)).toMatchObject({
      state: "settled",
      settlement: {
        outcome: "completed",
        output: ["0", "ChildFailed Odd", "1", "ChildFailed Odd"],
      },
    })
    const kinds = await loom.kinds("p")
    expect(kinds.filter((kind) => kind === "ChildRequested")).toHaveLength(4)
    expect(kinds.filter((kind) => kind === "ChildSettled")).toHaveLength(4)
    expect(await go(loom.client.obligations({ ownerId }))).toMatchObject({ obligations: [] })
  })

  it("of a hundred are all heard of", async () => {
    const loom = makeLoom({ agents: [HalfLive, ParentLive] })
    const { submissionId } = await loom.give("p", "parent", 100)
    await loom.quiet()
    const { settlement } = await loom.status("p", submissionId)
    expect(settlement?.output).toHaveLength(100)
  })
})
