/** What the children of one parent cost it and their owner, counted by the platform itself. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Count, takeCount } from "./loom-meter.ts"
import { openLoom } from "./loom.ts"

type Costs = Readonly<Record<"read" | "written" | "blocks" | "alarmWrites" | "calls", number>>

const few = 25
const many = 100

const perChild = ({ alarmWrites, blocks, calls, read, written }: Count, count: number): Costs => ({
  read: read / count,
  written: written / count,
  blocks: blocks / count,
  alarmWrites: alarmWrites / count,
  calls: calls / count,
})

/** A parent with so many children, from its submission until its owner owes nothing. */
const costOf = Effect.fnUntraced(function* (count: number) {
  const loom = yield* openLoom("metered")
  yield* loom.settled(yield* loom.submit({ agent: "noop", input: null }))
  yield* loom.quiet
  const take = Effect.all({
    owner: loom.inOwner(() => takeCount(loom.ownerId)),
    parent: loom.inThread("a", () => takeCount(`${loom.ownerId}/a`)),
  })
  yield* take
  const { output } = yield* loom.settled(yield* loom.submit({ agent: "brood", input: count }))
  yield* loom.quiet
  const { owner, parent } = yield* take
  const { read, ...costs } = perChild(parent, count)
  // Each attempt goes over its children again: so much is read per child and attempt, and twice as much once.
  const attempts = Number(output)
  return {
    attempts,
    owner: perChild(owner, count),
    parent: { ...costs, read: read / (attempts + 4) },
  }
})

describe("a child of a parent", () => {
  it.live(
    `costs its parent and its owner no more among ${many} than among ${few}`,
    () =>
      Effect.gen(function* () {
        const small = yield* costOf(few)
        const large = yield* costOf(many)
        process.stdout.write(`${JSON.stringify({ small, large }, null, 2)}\n`)
        for (const object of ["owner", "parent"] as const)
          for (const [what, cost] of Object.entries(large[object]))
            expect(cost, `${what} of the ${object}`).toBeLessThan(
              1.2 * small[object][what as keyof Costs] + 0.5,
            )
        expect(large.owner.calls).toBeLessThan(1)
        expect(large.parent.calls).toBeLessThan(3)
        expect(large.parent.read).toBeLessThan(9)
      }),
    120_000,
  )
})
