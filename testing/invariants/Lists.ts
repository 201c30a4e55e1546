/**
 * I16 and I20, of lists and searches: they show exactly what threads hold, also after their tables were lost. Nobody need
 * know that they were: who asks finds out, has them built anew, and is told until then that they are behind.
 *
 * - L1 The first answers may be behind; in a world that is well none is after a few.
 * - L2 A thread is in the list of the state in which it stands and in no other, with its title and what it has open.
 * - L3 A search for a word finds the threads whose title has it, and where outcomes are searched those submissions whose
 *   settlement has it; content that was pruned is not found.
 */
import { Effect } from "effect"
import { threadConditions } from "../../contracts/ListThreads.ts"
import type { OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { Client } from "../Doing.ts"
import type { SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import { canTell } from "./Owed.ts"
import type { Violate } from "./Violate.ts"

/** What a thread is listed as. */
interface Standing {
  readonly state: string
  readonly title: string | undefined
  readonly nonterminal: number
}

/** The same, as a list tells it. */
interface Shown {
  readonly state?: string
  readonly title?: string | undefined
  readonly nonterminal: number
}

interface Facts {
  readonly [column: string]: string | number | null
  readonly title: string | null
  readonly paused: number
  readonly open: number
  readonly unknown: number
  readonly running: number
  readonly suspended: number
}

const stateOf = ({ open, paused, running, suspended, unknown }: Facts): string => {
  if (paused === 1) return "paused"
  if (unknown > 0) return "unknown"
  if (running > 0) return "running"
  if (suspended > 0) return "suspended"
  return open > 0 ? "ready" : "idle"
}

const count = (state: string): string =>
  `(SELECT COUNT(*) FROM submissions WHERE state = '${state}') AS ${state}`

/** By the thread's own rows; of one that is to be forgotten by its owner's. // L2 */
const standingOf = (
  world: World,
  owner: SimulatedObject,
  lane: Lane,
): readonly [ThreadId, Standing] | undefined => {
  const { state } = world.platform.object("thread", `${owner.name}/${lane.thread_id}`)
  if (!state.hasTable("submissions")) return undefined
  const [facts] = state.read<Facts>(
    `SELECT title, paused, (SELECT COUNT(*) FROM submissions WHERE state <> 'settled') AS open,
      ${count("unknown")}, ${count("running")}, ${count("suspended")} FROM meta`,
  )
  if (facts === undefined) return undefined
  return [
    lane.thread_id as ThreadId,
    {
      state: lane.condemned === null ? stateOf(facts) : "condemned",
      title: facts.title ?? undefined,
      nonterminal: facts.open,
    },
  ]
}

interface Lane {
  readonly [column: string]: string | null
  readonly thread_id: string
  readonly condemned: string | null
}

const standings = (world: World, owner: SimulatedObject): ReadonlyMap<ThreadId, Standing> =>
  new Map(
    owner.state
      .read<Lane>(
        "SELECT thread_id, json_extract(marks, '$.condemned.author') AS condemned FROM lanes",
      )
      .flatMap((lane) => {
        const found = standingOf(world, owner, lane)
        return found === undefined ? [] : [found]
      }),
  )

/** Words of outcomes: of a failure, and of an abort. */
const outcomeWords = ["ScriptFailed", "because"] as const

/** The submissions whose settlement has a word, by id. // L3 */
const settledWith = (
  world: World,
  owner: SimulatedObject,
  threads: Iterable<ThreadId>,
  word: string,
): ReadonlySet<string> =>
  new Set(
    [...threads].flatMap((threadId) =>
      world.platform
        .object("thread", `${owner.name}/${threadId}`)
        .state.read<{ id: string }>(
          `SELECT s.id FROM journal j JOIN submissions s ON s.settledSequence = j.sequence
           WHERE instr(j.payload, ?) > 0`,
          JSON.stringify(word),
        )
        .map(({ id }) => id),
    ),
  )

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next?: string | undefined
  readonly behind?: true | undefined
}

/** All pages; undefined as long as one is behind. // L1 */
const allOf = <A, E>(
  page: (after: string | undefined) => Effect.Effect<Page<A>, E>,
  before: ReadonlyArray<A> = [],
  after?: string,
): Effect.Effect<ReadonlyArray<A> | undefined, E> =>
  Effect.flatMap(page(after), ({ behind, items, next }) => {
    const all = [...before, ...items]
    if (behind === true) return Effect.undefined
    return next === undefined ? Effect.succeed(all) : allOf(page, all, next)
  })

type State = (typeof threadConditions)[number]

/** Few a page, so that lists have several. */
const limit = 3

const listed = ({ rpcs: { owner } }: Client, ownerId: OwnerId, state: State | undefined) =>
  allOf((after) =>
    Effect.map(
      owner.listThreads({
        ownerId,
        limit,
        ...(state === undefined ? { order: "activity" as const } : { state }),
        ...(after === undefined ? {} : { after }),
      }),
      ({ behind, next, threads }) => ({ items: threads, next, behind }),
    ),
  )

const searched = ({ rpcs: { owner } }: Client, ownerId: OwnerId, query: string) =>
  allOf((after) =>
    Effect.map(
      owner.search({ ownerId, query, limit, ...(after === undefined ? {} : { after }) }),
      ({ behind, hits, next }) => ({ items: hits, next, behind }),
    ),
  )

const words = (all: Iterable<string>): string => [...all].toSorted().join(", ")

/** One owner's lists beside what its threads hold. */
const compare = (
  world: World,
  owner: SimulatedObject,
  client: Client,
  wrong: (detail: string) => void,
) =>
  Effect.gen(function* () {
    const ownerId = owner.name as OwnerId
    const searchesOutcomes = world.plan.lists === "outcomes" && world.plan.keeps === undefined
    let isBehind = false
    const same = (
      what: string,
      shown: ReadonlyArray<string> | undefined,
      truth: Iterable<string>,
    ) => {
      if (shown === undefined) isBehind = true
      else if (words(shown) !== words(truth))
        wrong(`${what} of ${ownerId}: ${words(shown)}; and it is: ${words(truth)}`)
    }
    const line = (id: ThreadId, { nonterminal, state, title }: Shown): string =>
      `${id} ${state} "${title}" ${nonterminal}`
    for (const state of [undefined, ...threadConditions]) {
      const shown = yield* listed(client, ownerId, state)
      const truth = [...standings(world, owner)].filter(
        ([, one]) => state === undefined || one.state === state,
      )
      same(
        `the list ${state ?? "by activity"}`,
        shown?.map((one) => line(one.threadId, one)),
        truth.map(([id, one]) => line(id, one)),
      ) // L2
    }
    const titled = yield* searched(client, ownerId, "about")
    same(
      "the search for titles",
      titled?.flatMap((hit) => (hit.submissionId === undefined ? [hit.threadId] : [])),
      [...standings(world, owner)].flatMap(([id, { title }]) => (title === undefined ? [] : [id])),
    ) // L3
    for (const word of searchesOutcomes ? outcomeWords : []) {
      const hits = yield* searched(client, ownerId, word)
      same(
        `the search for ${word}`,
        hits?.flatMap((hit) => hit.submissionId ?? []),
        settledWith(world, owner, standings(world, owner).keys(), word),
      ) // L3
    }
    return isBehind
  })

/** Times that somebody asks until nothing is behind. // L1 */
const asksMost = 4

/** What lists and searches show is what threads hold, in a world that is quiet. */
export const listsShowAll = (world: World, violate: Violate, settle: () => boolean): void => {
  const [client] = world.clients
  if (client === undefined) return
  const wereLost = (world.faults.counts()["list tables lost"] ?? 0) > 0
  const invariant = wereLost ? "I16" : "I20"
  for (const owner of world.platform.objects()) {
    if (!canTell(world, owner)) continue
    const ask = (times: number): void => {
      let found: ReadonlyArray<string> = []
      let isBehind = true
      const wrong = (detail: string): void => {
        found = [...found, detail]
      }
      client.run(compare(world, owner, client, wrong), (exit) => {
        if (exit._tag === "Success") isBehind = exit.value
        else wrong(`${owner.name}: a list was refused: ${String(exit.cause)}`)
      })
      if (!settle()) violate("I20", "the world does not come to rest after lists were asked for")
      if (isBehind && found.length === 0 && times < asksMost) return ask(times + 1) // L1
      if (isBehind && found.length === 0)
        violate(invariant, `lists of ${owner.name} stay behind what its threads hold`) // L1
      for (const detail of found) violate(invariant, detail)
    }
    ask(1)
  }
}
