/** What becomes of inputs that a branch of a race has taken, and then lost. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { TestDeployment } from "../../../testing/index.ts"

const Talk = Agent.make("talk", { input: Schema.String, output: Schema.Array(Schema.String) })

const TalkLive = Talk.handler(
  Effect.fn(function* (first, run) {
    const { branch } = yield* run.race("round", {
      listens: Effect.gen(function* () {
        yield* run.sleep("a moment", "10 seconds")
        const taken = yield* run.takeInputs("taken")
        yield* run.waitFor("never", Schema.Null)
        return taken
      }),
      stop: run.waitFor("stop", Schema.Null),
    })
    const more = yield* run.takeInputs("after")
    return [first, branch, ...more.map(({ input }) => input)]
  }, Effect.orDie),
)

const stopped = async () => {
  const heddle = TestDeployment.make({ agents: [TalkLive] })
  const say = (input: string) =>
    heddle.submit({ agent: Talk, input, threadId: "t", delivery: "join" })
  const host = await say("one")
  await heddle.advance("5 seconds")
  const lost = await say("two")
  await heddle.advance("10 seconds")
  const kept = await say("three")
  return { heddle, host, kept, lost }
}

describe("inputs that a branch has taken which lost", () => {
  it("are on record, settle with the host, and are not taken again; what came later is", async () => {
    const { heddle, host, kept, lost } = await stopped()
    await heddle.signal(host, "stop", null)
    const output = ["one", "stop", "three"]
    expect(await heddle.settled(host)).toMatchObject({ outcome: "completed", output })
    for (const receipt of [lost, kept])
      expect(await heddle.settled(receipt)).toMatchObject({
        outcome: "completed",
        output,
        hostSubmissionId: host.submissionId,
      })
    const takes = (await heddle.history("t"))
      .filter(({ kind }) => kind === "InputsTaken")
      .map(({ name, payload }) => [name, payload])
    expect(takes).toEqual([
      ["taken", { inputs: [lost.sequence] }],
      ["after", { inputs: [kept.sequence] }],
    ])
  })

  it("are none, where the branch had not taken them yet: the run takes them itself", async () => {
    const heddle = TestDeployment.make({ agents: [TalkLive] })
    const say = (input: string) =>
      heddle.submit({ agent: Talk, input, threadId: "t", delivery: "join" })
    const host = await say("one")
    await heddle.advance("5 seconds")
    await say("two")
    await heddle.signal(host, "stop", null)
    expect(await heddle.settled(host)).toMatchObject({ output: ["one", "stop", "two"] })
  })
})
