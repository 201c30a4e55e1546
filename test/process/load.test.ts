/** Load from outside: clients that submit without pause do not keep a due lane from its turn. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { AgentId, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { WorkerBuild } from "../../scripts/workerBuild.ts"
import { build, startServer } from "./server.ts"

const ownerId = OwnerId.make("busy")
const noop = (thread: string) => ({
  ownerId,
  threadId: ThreadId.make(thread),
  agent: AgentId.make("noop"),
  input: null,
})

let worker: WorkerBuild
beforeAll(async () => {
  worker = await build()
})

describe("a lane that becomes due", () => {
  it.live("is served within a second while 64 clients submit without pause", () =>
    Effect.gen(function* () {
      const { client } = yield* startServer(worker)
      let accepted = 0
      const submitting = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 64 }, (_, index) => `client-${index}`),
          (thread) =>
            client.submit(noop(thread)).pipe(
              Effect.tap(() => Effect.sync(() => (accepted += 1))),
              // A refusal is an answer, too: the client goes on.
              Effect.ignore,
              Effect.forever,
            ),
          { concurrency: "unbounded" },
        ),
        { startImmediately: true },
      )
      const lateness: Array<number> = []
      for (const round of [0, 1, 2, 3, 4, 5]) {
        const notBefore = Date.now() + 500
        const receipt = yield* client.submit({ ...noop(`due-${round}`), notBefore })
        const settlement = yield* client.awaitSettled(receipt)
        expect(settlement.settledAt).toBeGreaterThanOrEqual(notBefore)
        // In the first round 64 databases are made.
        if (round > 0) lateness.push(settlement.settledAt - notBefore)
      }
      yield* Fiber.interrupt(submitting)
      // They did keep it busy, all the time.
      expect(accepted).toBeGreaterThan(64 * 3)
      process.stdout.write(`${accepted} accepted, late by ${lateness.join(", ")} ms\n`)
      // The median: one hiccup of the machine says nothing about the rotation.
      expect(lateness.toSorted((first, second) => first - second)[2]).toBeLessThan(1_000)
    }),
  )
})
