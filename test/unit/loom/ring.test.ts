/**
 * Ten thousand messages in a ring of a hundred threads, with crashes: each worked on once and in order.
 *
 * `npm test` sends 450 of them; with `HEDDLE_FULL=1` (and `--reporter=verbose`, to read the figures) all are sent.
 */
import { describe, expect, inject, it } from "vitest"
import { judge, runsIn } from "./Hops.ts"
import { makeRing, type RingOptions } from "./Ring.ts"

const isFull = inject("isFull")
const patienceMillis = isFull ? 900_000 : 60_000

const options: RingOptions = {
  seed: 6,
  owners: 1,
  threads: 100,
  tokens: isFull ? 100 : 50,
  hops: isFull ? 34 : 3,
  threadPoints: 120,
  ownerPoints: 400,
}

const total = (deaths: ReadonlyMap<string, number>): number =>
  [...deaths.values()].reduce((sum, count) => sum + count, 0)

describe("messages in a ring of a hundred threads whose objects die", () => {
  it.for([1, 4])(
    "are each worked on once, in the order of their pair, over %i owner(s)",
    { timeout: patienceMillis * 2 },
    async (owners, { annotate }) => {
      const ring = makeRing({ ...options, owners })
      const runs = runsIn(options)
      const messages = runs - options.tokens
      await ring.start()
      const begunAt = Date.now()
      await ring.untilQuiet(() => ring.log.length > runs * 0.9, patienceMillis)

      const { runs: seenRuns, wrong } = judge(ring.log, options)
      expect(wrong).toEqual([])
      for (const seen of seenRuns) {
        const { left, part, token } = seen
        const output = { left, part, token }
        expect(await ring.settlementOf(seen)).toMatchObject({ outcome: "completed", output })
      }
      expect(await ring.obligations()).toEqual([])
      const deaths = { threads: total(ring.deaths.threads), owners: total(ring.deaths.owners) }
      const points = ring.deaths.threads.size + ring.deaths.owners.size
      const millis = Date.now() - begunAt
      const figures = { owners, messages, attempts: ring.log.length, deaths, points, millis }
      await annotate(JSON.stringify(figures))
      expect(deaths.threads).toBeGreaterThan(runs / 50)
      expect(deaths.owners).toBeGreaterThan(runs / 200)
    },
  )
})
