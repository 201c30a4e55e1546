/** Retention under an owner: it comes for what is old enough by its alarm, and then for nothing more. */
import { Effect, Schema } from "effect"
import { expect, it } from "vitest"
import { AgentId, IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const io = { input: Schema.Json, output: Schema.Json }
const Child = Agent.make("child", io)
const agents = [
  Agent.make("child", { ...io, retention: "200 millis" }).handler((input) => Effect.succeed(input)),
  Agent.make("parent", { ...io, retention: "200 millis" }).handler((input, run) =>
    Effect.orDie(run.child("one", Child, input)),
  ),
]

it("an owner has a parent and its child pruned, who have both told what they had to", async () => {
  const loom = makeLoom({ agents, limits: { retentionRetryMillis: 50 } })
  const { submissionId } = await Effect.runPromise(
    loom.client.submit({
      ownerId,
      threadId: ThreadId.make("a"),
      agent: AgentId.make("parent"),
      input: "a secret",
      idempotencyKey: IdempotencyKey.make("once"),
    }),
  )
  await loom.quiet()
  const { settlement } = await loom.status("a", submissionId)
  expect(settlement).toMatchObject({ outcome: "completed", attempts: 2, pruned: true })
  const { records } = await loom.history("a")
  expect(records.map(({ kind }) => kind)).toContain("ChildSettled")
  expect(JSON.stringify(records)).not.toContain("a secret")
})
