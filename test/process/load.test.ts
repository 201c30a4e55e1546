/** Load from outside: clients that submit without pause do not keep a due lane from its turn. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
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

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((first, second) => first - second)[Math.floor(values.length / 2)] ?? 0

let worker: WorkerBuild
beforeAll(async () => {
  worker = await build()
})

describe("a lane that becomes due", () => {
  it.live("is served within a few submits' time while 64 clients submit without pause", () =>
    Effect.gen(function* () {
      const { client } = yield* startServer(worker)
      const submits: Array<number> = []
      const submitting = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 64 }, (_, index) => `client-${index}`),
          (thread) =>
            Effect.timed(client.submit(noop(thread))).pipe(
              Effect.tap(([taken]) => Effect.sync(() => submits.push(Duration.toMillis(taken)))),
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
      expect(submits.length).toBeGreaterThan(64 * 3)
      const late = median(lateness)
      process.stdout.write(
        `${submits.length} accepted in ${median(submits)} ms each, late by ${lateness.join(", ")} ms\n`,
      )
      // Medians of one run: what the machine does to one it does to the other.
      expect(late).toBeLessThan(5 * median(submits))
    }),
  )
})
