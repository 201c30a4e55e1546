/** What callers may rely on, tried in Node in milliseconds, with the test's own clock and crashes. */
import { TestDeployment } from "heddle/testing"
import { expect, it } from "vitest"
import { Greet, GreetLive } from "../src/agent.ts"

it("greets, and counts the visits of its thread", async () => {
  const heddle = TestDeployment.make({ agents: [GreetLive] })
  const visit = { agent: Greet, input: { name: "Ada" }, threadId: "visitor-1" }
  await heddle.settled(await heddle.submit(visit))
  expect(await heddle.settled(await heddle.submit(visit))).toMatchObject({
    outcome: "completed",
    output: { greeting: "Welcome, Ada", visits: 2 },
  })
})

it("counts a visit once although its object dies in the middle", async () => {
  const heddle = TestDeployment.make({ agents: [GreetLive] })
  heddle.crashAt("settle:before") // all is done, and its end not recorded
  const receipt = await heddle.submit({
    agent: Greet,
    input: { name: "Ada" },
    threadId: "visitor-1",
  })
  expect(await heddle.settled(receipt)).toMatchObject({ attempts: 2, output: { visits: 1 } })
  expect(heddle.crashes().length).toBe(1)
})
