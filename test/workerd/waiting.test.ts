/** What an owner pays for runs that wait, counted by the platform itself. */
import { describe, expect, it } from "@effect/vitest"
import { inject } from "vitest"
import { Effect } from "effect"
import { StepName, ThreadId } from "../../contracts/Identifiers.ts"
import { takeCount } from "./loom-meter.ts"
import { type Loom, openLoom } from "./loom.ts"

/** A thousand behave alike, and take a while: `HEDDLE_FULL=1` has them. */
const isFull = inject("isFull")
const count = isFull ? 1_000 : 64
const nameOf = (index: number): string => `w-${index}`

const ofOwner = (loom: Loom) => loom.inOwner(() => takeCount(loom.ownerId))
const ofThread = (loom: Loom, name: string) =>
  loom.inThread(name, () => takeCount(`${loom.ownerId}/${name}`))

const untouched = { read: 0, written: 0, blocks: 0, alarmWrites: 0, calls: 0, statements: {} }

describe("an owner of many threads that wait for a decision", () => {
  it.live(
    "holds no alarm and reads nothing until one comes, and then only that thread's",
    () =>
      Effect.gen(function* () {
        const loom = yield* openLoom("metered")
        const receipts = yield* Effect.forEach(
          Array.from({ length: count }, (_, index) => ({
            agent: "ask",
            input: null,
            thread: nameOf(index),
          })),
          loom.submit,
          { concurrency: 32 },
        )
        yield* loom.quiet // no alarm stands
        const names = receipts.map((_, index) => nameOf(index))
        const others = names.filter((name) => name !== nameOf(32))
        yield* ofOwner(loom)
        yield* Effect.forEach(names, (name) => ofThread(loom, name))
        yield* loom.quiet
        expect(yield* ofOwner(loom)).toEqual(untouched)

        const decided = receipts[32]
        if (decided === undefined) throw new Error("no receipt")
        const { ownerId, submissionId } = decided
        yield* loom.client.rpc.resolveApproval({
          ownerId,
          threadId: ThreadId.make(nameOf(32)),
          submissionId,
          name: StepName.make("ok"),
          approved: true,
          author: "ann",
          reason: "it is right",
        })
        yield* loom.settled(decided)
        yield* loom.quiet
        expect((yield* ofThread(loom, nameOf(32))).read).toBeGreaterThan(0)
        for (const name of others) expect(yield* ofThread(loom, name)).toEqual(untouched)
        // A few lanes at a time, however many there are.
        expect((yield* ofOwner(loom)).read).toBeLessThan(40)
      }),
    isFull ? 600_000 : 120_000,
  )
})
