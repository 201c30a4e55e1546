/** What the guide to conversations shows, run. */
import { describe, expect, it } from "vitest"
import type { Receipt } from "../../../contracts/index.ts"
import {
  Patient,
  PatientLive,
  Stoppable,
  StoppableLive,
} from "../../../examples/authoring/conversing.ts"
import { TestDeployment } from "../../../testing/index.ts"

const talk = () => {
  const heddle = TestDeployment.make({ agents: [StoppableLive, PatientLive] })
  const say = (agent: typeof Stoppable | typeof Patient, input: string) =>
    heddle.submit({ agent: agent as typeof Stoppable, input, threadId: "t", delivery: "join" })
  return { heddle, say }
}

/** The names and the numbers of inputs of each take. */
const takes = async ({ heddle }: ReturnType<typeof talk>) =>
  (await heddle.history("t"))
    .filter(({ kind }) => kind === "InputsTaken")
    .map(({ name, payload }) => [
      name,
      (payload as { inputs: ReadonlyArray<number> }).inputs.length,
    ])

describe("an answer that can be stopped", () => {
  it("takes what was written meanwhile, in order, over the death of its object", async () => {
    const world = talk()
    const { heddle, say } = world
    const first = await say(Stoppable, "one")
    await heddle.advance("5 seconds")
    const others = [await say(Stoppable, "two"), await say(Stoppable, "three")]
    heddle.crashAt("join:after")
    const output = "to one, to two and three"
    expect(await heddle.settled(first)).toMatchObject({ outcome: "completed", output })
    for (const receipt of others)
      expect(await heddle.settled(receipt)).toMatchObject({
        outcome: "completed",
        output,
        hostSubmissionId: first.submissionId,
      })
    expect(heddle.crashes().length).toBe(1)
    expect(await takes(world)).toEqual([
      ["more-1", 2],
      ["more-2", 0],
    ])
  })

  it("is cut short by a signal, and its run goes on with what was written", async () => {
    const { heddle, say } = talk()
    const first = await say(Stoppable, "one")
    await heddle.advance("5 seconds")
    await say(Stoppable, "no, two")
    await heddle.signal(first, "stop-1", null)
    expect(await heddle.settled(first)).toMatchObject({ output: "(stopped), to no, two" })
    const steps = (await heddle.history("t")).filter(({ kind }) => kind === "StepCompleted")
    expect(steps.map(({ name }) => name)).toEqual(["answer-2"])
  })

  it("is cut short by an abort with all that its run has taken, and what comes after it is answered", async () => {
    const { heddle, say } = talk()
    const first = await say(Stoppable, "one")
    await heddle.advance("5 seconds")
    const second = await say(Stoppable, "two")
    await heddle.advance("20 seconds") // it has taken the second, and answers that
    await expect(heddle.abort(second)).rejects.toMatchObject({
      _tag: "JoinedToHost",
      hostSubmissionId: first.submissionId,
    })
    await heddle.abort(first)
    const third = await say(Stoppable, "three")
    for (const receipt of [first, second])
      expect(await heddle.settled(receipt)).toMatchObject({ outcome: "aborted" })
    expect(await heddle.settled(third)).toMatchObject({ outcome: "completed", output: "to three" })
  })
})

describe("a host that stays open", () => {
  it("takes what is written when it is told, and ends when nothing is for long enough", async () => {
    const { heddle, say } = talk()
    const first = await say(Patient, "one")
    await heddle.advance("5 minutes")
    const told = (await heddle.obligations()).map(({ blocker, name }) => `${blocker} ${name}`)
    expect(told.toSorted()).toEqual(["signal written-1", "timer quiet-1"])
    await say(Patient, "two")
    await heddle.advance("1 minute")
    await heddle.signal(first, "written-1", null)
    expect(await heddle.settled(first)).toMatchObject({ output: ["one", "two"] })
  })

  it("is not woken by an input alone: that waits behind it, and is answered after it", async () => {
    const { heddle, say } = talk()
    const first = await say(Patient, "one")
    await heddle.advance("1 minute")
    const second = await say(Patient, "two")
    expect(await heddle.settled(first)).toMatchObject({ output: ["one"] })
    expect(await heddle.settled(second)).toMatchObject({ output: ["two"] })
  })
})

it("an input that does not ask to join is never taken, and nor is one behind it", async () => {
  const { heddle, say } = talk()
  const ends: Array<Receipt> = [await say(Stoppable, "one")]
  await heddle.advance("5 seconds")
  ends.push(await heddle.submit({ agent: Stoppable, input: "two", threadId: "t" }))
  ends.push(await say(Stoppable, "three"))
  const outputs = []
  for (const receipt of ends) outputs.push((await heddle.settled(receipt)).output)
  expect(outputs).toEqual(["to one", "to two, to three", "to two, to three"])
})
