/**
 * Messages in a ring of threads in the real runtime, with crashes: each worked on once and in order, judged by what the
 * agents saw.
 *
 * `npm test` sends 96 of them through twelve threads; with `HEDDLE_FULL=1` it is 10,200 through a hundred.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import { makeRandom } from "../../testing/Random.ts"
import { judge, parts, runsIn } from "../unit/loom/Hops.ts"
import { hopped } from "./loom-agents.ts"
import type { Plan } from "./loom-control.ts"
import { killAll, type Loom, openLoom } from "./loom.ts"

const isFull = inject("isFull")
const ring = isFull ? { threads: 100, tokens: 100, hops: 34 } : { threads: 12, tokens: 4, hops: 8 }

/** Where an object dies, by turns with the death of them all. */
const places: ReadonlyArray<readonly [Plan["kind"], string]> = [
  ["thread", "admit:after"],
  ["owner", "deliver:after"],
  ["thread", "send:after"],
  ["owner", "acknowledge:before"],
  ["thread", "acknowledge:before"],
  ["owner", "claim:after"],
  ["thread", "settle:before"],
  ["owner", "enroll:after"],
  ["thread", "acknowledge:after"],
  ["owner", "begin:after"],
  ["thread", "claim:after"],
  ["owner", "acknowledge:after"],
]

/** So many runs pass between two crashes, at the most. */
const runsBetween = isFull ? 120 : 12

/** Has somebody die, and again after some runs, until most of them are done. Gives how often. */
const crashing = Effect.fnUntraced(function* (loom: Loom, seen: () => number, last: number) {
  const random = makeRandom(7)
  let crashes = 0
  while (seen() < last) {
    const from = seen()
    const [kind, point] = places[crashes % places.length] ?? ["thread", "admit:after"]
    if (crashes % 4 === 3) yield* killAll
    else {
      const planned = loom.plan(kind, point)
      yield* loom.until(`the ${kind} dies at ${point}`, () => planned.reached || seen() >= last)
    }
    crashes += 1
    const until = Math.min(last, from + random.between(1, runsBetween))
    yield* loom.until(`${until} runs were seen`, () => seen() >= until)
  }
  return crashes
})

describe(`messages in a ring of ${ring.threads} threads whose objects die`, () => {
  it.live(
    "are each worked on once, in the order of their pair",
    () =>
      Effect.gen(function* () {
        const loom = yield* openLoom("ring")
        const log = () => hopped.get(loom.ownerId) ?? []
        const runs = runsIn(ring)
        yield* Effect.forEach(
          Array.from({ length: ring.tokens }, (_, token) => token),
          (token) =>
            loom.accepted({
              agent: "hop",
              thread: `t${token % Math.ceil(ring.threads / 10)}`,
              input: { token, left: ring.hops, part: parts - 1, threads: ring.threads },
              key: `token-${token}`,
            }),
        )
        const crashes = yield* crashing(loom, () => log().length, runs * 0.8)
        // As long as it goes on it may take its time.
        const submissions = () => new Set(log().map(({ submissionId }) => submissionId)).size
        while (submissions() < runs) {
          const from = log().length
          yield* loom.until("one more was seen", () => log().length > from)
        }
        yield* loom.quiet
        expect(judge(log(), ring).wrong).toEqual([])
        // The faster the machine, the more runs pass between two of them.
        expect(crashes).toBeGreaterThan(4)
        const { obligations } = yield* loom.client.rpc.obligations({ ownerId: loom.ownerId })
        expect(obligations).toEqual([])
      }),
    isFull ? 900_000 : 60_000,
  )
})
