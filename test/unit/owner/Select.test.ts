import { beforeEach, describe, expect, it } from "vitest"
import { AgentId, OwnerId, type ThreadId } from "../../../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import { type Block, nextGeneration, runBlock, writeLane } from "../../../owner-object/Block.ts"
import type { Lane } from "../../../owner-object/Lane.ts"
import { beginLife, type Life, type RunningPass } from "../../../owner-object/Life.ts"
import { earliestTicket } from "../../../owner-object/LaneTable.ts"
import { select } from "../../../owner-object/Select.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"
import { condemnedBy, headOf, laneOf, now, ready, running, submissionId } from "./lanes.ts"

let life: Life
let storage: ReturnType<typeof openNodeStorage>
let inBlock: <A>(body: (block: Block) => A) => A
let pass: RunningPass

const begin = (limits: Partial<Limits> = {}) => {
  storage = openNodeStorage()
  const host = makeNodeHost({ name: "tenant", storage, now: () => now })
  life = beginLife(host, OwnerId.make("tenant"), null)
  inBlock = (body) => runBlock(host, life, makeLimits(limits), () => undefined, body)
  pass = {
    startedAt: now,
    yieldAt: now + 1_000,
    oneSlot: false,
    flights: new Map(),
    carries: new Map(),
    publications: new Map(),
    reads: new Set(),
    marked: new Set(),
    letGo: new Set(),
    waves: new Set(),
    hostsFailed: new Set(),
    wake: () => undefined,
    findsFrom: Infinity,
    calls: 0,
    settled: 0,
    recovered: 0,
    dueSinceAt: undefined,
  }
}

const add = (name: string, fields: Partial<Lane>) =>
  inBlock((block) =>
    writeLane(block, undefined, laneOf({ threadId: name as ThreadId, ...fields }), {
      afterTurn: false,
    }),
  )

const picked = () => inBlock((block) => select(block, pass)).map((pick) => pick.lane.threadId)

const slow = { failures: 1 }

const waited = {
  submissionId,
  attempts: 1,
  notBefore: now - 1,
  reportedAt: now - 5_000,
  agentsDigest: "agents",
}

describe("selection", () => {
  beforeEach(() => begin())

  it("takes the smallest tickets, whatever the names and kinds of wait", () => {
    for (const name of ["z", "m", "a"]) add(name, { report: ready() })
    add("b", { report: ready(), marks: slow })
    expect(picked()).toEqual(["z", "m", "a", "b"])
  })

  it("gives lanes in backoff at most half of the slots", () => {
    begin({ dispatchSlots: 4 })
    for (let index = 0; index < 10; index++) add(`slow-${index}`, { report: ready(), marks: slow })
    add("healthy", { report: ready() })
    expect(picked()).toEqual(["slow-0", "slow-1", "healthy"])
  })

  it("finds whom no limit holds behind many that their agent's limit does, in one block", () => {
    const limited = AgentId.make("limited")
    life.maxRunning = new Map([[limited, 1]])
    const head = { ...headOf("ready"), agent: limited }
    for (let index = 0; index < 100; index++) add(`limited-${index}`, { report: ready({ head }) })
    add("free", { report: ready() })
    expect(picked()).toEqual(["limited-0", "free"])
  })

  it("records who is in flight in the same block", () => {
    add("a", { report: ready() })
    add("b", { mustVisit: true })
    picked()
    expect([...life.maintenance.inFlight].sort()).toEqual(["a", "b"])
  })

  it("never takes a lane twice, nor more than the slots", () => {
    begin({ dispatchSlots: 2 })
    for (const name of ["a", "b", "c"]) add(name, { report: ready() })
    expect(picked()).toEqual(["a", "b"])
    pass.flights.set("a" as ThreadId, { kind: "dispatch", slow: false, starts: true })
    pass.flights.set("b" as ThreadId, { kind: "dispatch", slow: false, starts: true })
    expect(picked()).toEqual([])
    pass.flights.delete("a" as ThreadId)
    expect(picked()).toEqual(["a"])
  })

  it("runs with one slot after passes that did not finish", () => {
    pass = { ...pass, oneSlot: true }
    for (const name of ["a", "b", "c"]) add(name, { report: ready() })
    expect(picked()).toEqual(["a"])
  })

  it("gives all of its slots beside lanes that have a fault", () => {
    for (const name of ["lost-1", "lost-2"]) add(name, { marks: { faultRetryAt: now + 60_000 } })
    inBlock((block) => (block.maintenance = { ...block.maintenance, faulted: 2 }))
    for (const name of ["a", "b", "c"]) add(name, { report: ready() })
    expect(picked()).toEqual(["a", "b", "c"])
  })

  it("keeps slots of its own for each kind", () => {
    begin({ dispatchSlots: 1, visitSlots: 1, recoverySlots: 1 })
    for (const name of ["d1", "d2"]) add(name, { report: ready() })
    for (const name of ["v1", "v2"]) add(name, { mustVisit: true })
    for (const name of ["r1", "r2"]) add(name, { report: running({ recoverAt: 0 }) })
    expect([...picked()].sort()).toEqual(["d1", "r1", "v1"])
  })

  it("gives the retries of faulted lanes at most half of the slots of recovery", () => {
    begin({ recoverySlots: 4 })
    for (let index = 0; index < 10; index++)
      add(`faulted-${index}`, { marks: { faultRetryAt: now } })
    for (const name of ["lost-1", "lost-2"]) add(name, { report: running({ recoverAt: 0 }) })
    expect(picked()).toEqual(["faulted-0", "faulted-1", "lost-1", "lost-2"])
  })

  it("gives two calls to forget at a time, one of them to a thread that does not answer", () => {
    const marks = { condemned: condemnedBy() }
    for (const name of ["s1", "s2"]) add(name, { marks: { ...marks, failures: 1 } })
    for (const name of ["f1", "f2", "f3"]) add(name, { marks })
    add("d", { report: ready() })
    expect(picked()).toEqual(["s1", "f1", "d"])
  })

  it("has each call to forget carry a generation of its own, above what is enrolled", () => {
    const enrolled = inBlock((block) => nextGeneration(block))
    add("enrolled", { enrolled, marks: { condemned: condemnedBy() } })
    add("clean", { marks: { condemned: condemnedBy() } })
    const carried = inBlock((block) => select(block, pass)).map((pick) => pick.generation ?? "")
    expect([enrolled, ...carried]).toEqual([...new Set([enrolled, ...carried])].toSorted())
    expect(carried).toHaveLength(2)
  })

  it("holds a lane that would start one attempt too many, and starts it when a run ends", () => {
    begin({ runningPerOwner: 1 })
    const run = add("runs", { report: running() })
    add("waits", { report: ready() })
    expect(picked()).toEqual([])
    inBlock((block) =>
      writeLane(block, run, { ...run, report: ready({ revision: 2 }) }, { afterTurn: true }),
    )
    expect(picked()).toEqual(["waits"])
  })

  it.each([
    ["is ready", {}],
    ["waited for its agent", { binding: waited }],
    ["was stalled", { stalls: 1, stalledUntilAt: now - 1 }],
    ["failed before", { failures: 1, backoffUntilAt: now - 1 }],
    ["is unchanged after its turns", { unchanged: 3 }],
  ] as const)("leaves nothing due that it may not take: a lane that %s is held", (_, marks) => {
    begin({ runningPerOwner: 1 })
    const run = add("runs", { report: running() })
    add("waits", { report: ready(), marks })
    expect(picked()).toEqual([])
    expect(earliestTicket(storage.sql, false)).toBe(run.nextAt)
    inBlock((block) =>
      writeLane(block, run, { ...run, report: ready({ revision: 2 }) }, { afterTurn: true }),
    )
    expect(picked()).toContain("waits")
  })
})
