/**
 * I14 In a quiet world `obligations` lists exactly the external waits: what a paused thread holds, and each call
 * that somebody must look up. Compared as a set, in both directions.
 *
 * - O1 Whatever else is open in a quiet world could have run, and is left: against I20, and after an accident to
 *   its owner against I16.
 * - O4 What has joined a run waits with it.
 * - O2 What a handler was given is not unknown any more.
 * - O3 What an owner shows of a thread is what the thread holds; its counters are what its lanes add up to.
 */
import type { Doing } from "../Doing.ts"
import { type SimulatedObject, threadIdOf } from "../Incarnation.ts"
import type { World } from "../World.ts"
import { isEnding, parkedWaits, talkingWaits } from "./TalkingWaits.ts"
import type { Violate } from "./Violate.ts"

/** As many waits as a report tells. */
const toldMax = 8

interface Open {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly id: string
  readonly state: string
  /** Of one that has joined: its host's sequence. */
  readonly host: number | null
}

const isPaused = ({ state }: SimulatedObject): boolean =>
  state.read("SELECT 1 FROM meta WHERE paused = 1").length > 0

/** Calls of a submission whose last record says that nobody knows. */
const unknownCalls = ({ state }: SimulatedObject, sequence: number): ReadonlyArray<string> => {
  const last = new Map<string, string>()
  for (const { kind, name } of state.read<{ kind: string; name: string }>(
    `SELECT kind, name FROM journal WHERE submission = ? AND name IS NOT NULL ORDER BY part`,
    sequence,
  ))
    last.set(name, kind)
  return [...last].filter(([, kind]) => kind === "ToolUnknown").map(([name]) => name)
}

/** The calls of parked runs that somebody must look up. */
const unknownWaits = (
  world: World,
  thread: SimulatedObject,
  open: ReadonlyArray<Open>,
  violate: Violate,
): ReadonlyArray<string> => {
  const threadId = threadIdOf(thread.name)
  const waits: Array<string> = []
  for (const { id, sequence, state } of open) {
    if (state !== "unknown") continue
    const unknown = unknownCalls(thread, sequence)
    if (unknown.length === 0 && !isEnding(thread, sequence))
      violate("I20", `${thread.name}: submission ${sequence} is unknown, and nobody is asked`) // O1
    for (const name of unknown) {
      waits.push(`${threadId} unknown ${id} ${name}`)
      if (world.outside.seen.get(id)?.has(name) === true)
        violate("I14", `${thread.name}: ${name} of ${id} is unknown, and its handler was given it`) // O2
    }
  }
  return waits
}

/** The waits that an owner must tell of one thread. */
const waitsOf = (
  world: World,
  thread: SimulatedObject,
  violate: Violate,
): ReadonlyArray<string> => {
  if (!thread.state.hasTable("submissions")) return []
  const open = thread.state.read<Open>(
    "SELECT sequence, id, state, host FROM submissions WHERE state <> 'settled'",
  )
  const parked = parkedWaits(thread)
  if (open.length === 0) return parked
  const threadId = threadIdOf(thread.name)
  const paused = isPaused(thread)
  const waits: ReadonlyArray<string> = paused ? [...parked, `${threadId} paused`] : parked
  if (world.plan.talks === true) {
    const talking = talkingWaits(world, thread, violate)
    if (talking !== undefined)
      return [...waits, ...talking, ...unknownWaits(world, thread, open, violate)]
  }
  for (const { host, sequence, state } of open) {
    if (state === "unknown" || paused) continue
    if (open.some((one) => one.sequence === host && one.state === "unknown")) continue // O4
    const broken = world.forgotten.has(thread.name) ? "I16" : "I20"
    violate(broken, `${thread.name}: submission ${sequence} is ${state} and is left`) // O1
  }
  return [...waits, ...unknownWaits(world, thread, open, violate)]
}

/** An owner that knows its threads, and can be asked. */
export const canTell = ({ lost }: World, { alarm, kind, name, state }: SimulatedObject): boolean =>
  kind === "owner" &&
  !alarm.givenUp &&
  state.hasTable("lanes") &&
  ![...lost.keys()].some((one) => one === name || one.startsWith(`${name}/`))

const compare = (
  owner: string,
  waits: ReadonlySet<string>,
  told: ReadonlySet<string>,
  violate: Violate,
): void => {
  for (const one of waits)
    if (!told.has(one)) violate("I14", `obligations of ${owner} do not tell: ${one}`)
  for (const one of told)
    if (!waits.has(one))
      violate("I14", `obligations of ${owner} tell what waits for nobody: ${one}`)
}

interface Told {
  readonly threadId: string
  readonly blocker: string
  readonly submissionId?: string
  readonly name?: string
}

const wordsOf = ({ blocker, name, submissionId, threadId }: Told): string =>
  name !== undefined && ofRuns.has(blocker)
    ? `${threadId} ${blocker} ${submissionId} ${name}`
    : `${threadId} ${blocker}`

/** What is told of single runs, and not of a whole lane. */
const ofRuns = new Set(["unknown", "approval", "signal", "child", "timer", "outbox"])

/** What owners tell as owed is what waits. Asks only owners of whom something waits, or all. */
export const obligationsAreTold = (
  world: World,
  doing: Doing,
  violate: Violate,
  settle: () => boolean,
): void => {
  const [client] = world.clients
  if (client === undefined) return
  let asked = 0
  for (const owner of world.platform.objects()) {
    if (!canTell(world, owner)) continue
    const ownerId = owner.name as (typeof doing.plan.owners)[number]
    const threads = doing.threadsOf(ownerId).map((threadId) => ({ ownerId, threadId }))
    const waits = threads.map(({ threadId }) =>
      waitsOf(world, world.platform.object("thread", `${ownerId}/${threadId}`), violate),
    )
    const many = threads.filter((_, index) => (waits[index]?.length ?? 0) > toldMax)
    const all = new Set(waits.flat())
    if (all.size === 0 && world.plan.seed % 4 !== 0) continue
    asked += 1
    const isComparable = (words: string): boolean =>
      !many.some(({ threadId }) => words.startsWith(`${threadId} `))
    client.run(client.rpcs.owner.obligations({ ownerId }), (exit) => {
      if (exit._tag === "Failure") return violate("I14", `obligations of ${ownerId} were refused`)
      const told = new Set(exit.value.obligations.map((one) => wordsOf(one as Told)))
      compare(
        ownerId,
        new Set([...all].filter(isComparable)),
        new Set([...told].filter(isComparable)),
        violate,
      )
    })
  }
  if (asked > 0 && !settle()) violate("I20", "the world does not come to rest after a read")
}

interface Shown {
  readonly [column: string]: string | number | null
  readonly thread_id: string
  readonly report: string | null
}

interface Reported {
  readonly threadId: string
  readonly born: string
  readonly nonterminal: number
  readonly paused: boolean
  readonly tailSequence: number
}

const truthOf = ({ state }: SimulatedObject): Omit<Reported, "threadId"> => {
  const [row] = state.read<{ born: string; paused: number; nonterminal: number; tail: number }>(
    `SELECT born, paused, (SELECT COUNT(*) FROM submissions WHERE state <> 'settled') AS nonterminal,
      (SELECT COALESCE(MAX(sequence), 0) FROM journal) AS tail FROM meta`,
  )
  return {
    born: row?.born ?? "",
    nonterminal: row?.nonterminal ?? 0,
    paused: row?.paused === 1,
    tailSequence: row?.tail ?? 0,
  }
}

const laneIsTrue = (world: World, owner: SimulatedObject, lane: Shown, violate: Violate): void => {
  const name = `${owner.name}/${lane.thread_id}`
  const thread = world.platform.object("thread", name)
  if (lane.report === null || !thread.state.hasTable("submissions")) return
  const shown = JSON.parse(lane.report) as Reported
  const truth = truthOf(thread)
  if (shown.threadId !== lane.thread_id)
    violate("I9", `the lane of ${name} has the report of ${shown.threadId}`) // O3
  for (const key of ["born", "nonterminal", "paused", "tailSequence"] as const)
    if (shown[key] !== truth[key])
      violate("I14", `the lane of ${name} shows ${key} ${shown[key]}, and it is ${truth[key]}`) // O3
}

/** What owners show is what their threads hold, in a world that is quiet. */
export const lanesAreTrue = (world: World, violate: Violate): void => {
  for (const owner of world.platform.objects()) {
    if (!canTell(world, owner)) continue
    const lanes = owner.state.read<Shown>("SELECT thread_id, report FROM lanes")
    for (const lane of lanes) laneIsTrue(world, owner, lane, violate)
    const [counted] = owner.state.read<{ lanes: number; nonterminal: number; faulted: number }>(
      "SELECT lanes, nonterminal, faulted FROM maintenance",
    )
    const open = lanes.reduce(
      (sum, { report }) =>
        sum + (report === null ? 0 : (JSON.parse(report) as Reported).nonterminal),
      0,
    )
    if (counted === undefined) continue
    if (counted.lanes !== lanes.length || counted.nonterminal !== open || counted.faulted !== 0)
      violate(
        "I14",
        `${owner.name} counts ${counted.lanes} lanes, ${counted.nonterminal} open, ${counted.faulted} faulted, and has ${lanes.length}, ${open}, 0`,
      ) // O3
  }
}
