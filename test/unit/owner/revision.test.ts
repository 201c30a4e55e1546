/** What the revision of a report proves: the order of reports, and that a database went back. */
import { beforeEach, describe, expect, it } from "vitest"
import { OwnerId } from "../../../contracts/Identifiers.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { acceptReport, wentBack } from "../../../owner-object/AcceptReport.ts"
import { type Block, nextGeneration, runBlock } from "../../../owner-object/Block.ts"
import type { Lane } from "../../../owner-object/Lane.ts"
import { beginLife, type Life } from "../../../owner-object/Life.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"
import { laneOf, reportOf } from "./lanes.ts"

const at = (revision: number, born = "database-1") => reportOf({ revision, born })

let inBlock: <A>(body: (block: Block) => A) => A
let life: Life

beforeEach(() => {
  const host = makeNodeHost({ name: "tenant", storage: openNodeStorage() })
  life = beginLife(host, OwnerId.make("tenant"), null)
  inBlock = (body) => runBlock(host, life, makeLimits(), () => undefined, body)
})

describe("a reply", () => {
  it.each([
    [5, at(4), true],
    [5, at(5), false],
    [5, at(6), false],
    [5, at(4, "database-2"), false],
    [undefined, at(4), false],
  ] as const)("sent under revision %s with report %j proves it: %s", (sent, report, proof) => {
    expect(wentBack(sent === undefined ? undefined : at(sent), report)).toBe(proof)
  })

  it("that a push overtook counts, and changes nothing", () => {
    const lane = laneOf({ report: at(7) })
    const accepted = inBlock((block) =>
      acceptReport(block, lane, at(6), { fenced: false, sentUnder: at(5) }),
    )
    expect(accepted).toEqual({ lane, counted: true })
    expect(life.notices).toEqual([])
  })

  it("that nobody asked for proves nothing", () => {
    const lane = laneOf({ report: at(7) })
    const accepted = inBlock((block) =>
      acceptReport(block, lane, at(2), { fenced: false, sentUnder: undefined }),
    )
    expect(accepted).toEqual({ lane, counted: true })
  })
})

describe("a reply below the report that its call was sent under", () => {
  const accept = (lane: Lane, fenced: boolean) =>
    inBlock((block) => acceptReport(block, lane, at(4), { fenced, sentUnder: at(5) }))

  it.each([false, true])(
    "does not count, fenced or not (%s): the lane is to be visited",
    (fenced) => {
      const enrolled = inBlock(nextGeneration)
      const { counted, lane } = accept(laneOf({ report: at(5), enrolled }), fenced)
      expect(counted).toBe(false)
      expect(lane.report).toBeUndefined()
      expect(lane.enrolled).toSatisfy((generation: string) => generation > enrolled)
    },
  )

  it("is told once, although more calls find it before the visit", () => {
    const { lane } = accept(laneOf({ report: at(5) }), false)
    accept(lane, false)
    expect(life.notices).toMatchObject([{ level: "Error", threadId: "t" }])
  })
})
