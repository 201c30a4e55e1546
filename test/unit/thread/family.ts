/**
 * A parent and its child in two real threads, and their owner by hand: each thing that can happen to them is an event
 * of its own, so that a test has them happen in every order.
 */
import { Effect, Schema } from "effect"
import type { MessageId, SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { OutboxEntry } from "../../../contracts/Outbox.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"
import { outside, rowOf } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }

const Kid = Agent.make("kid", io)
const KidLive = Kid.handler((_, run) => Effect.as(run.approval("go", { summary: "?" }), "grown"))

class Enough extends Schema.TaggedError<Enough>()("Enough", {}) {}

const ask = (run: Pick<Agent.Run<never>, "approval">) => run.approval("go", { summary: "?" })

/** How a parent may have to do with its child. */
const parents = {
  /** Waits for it, and tells how it ended. */
  waits: Agent.make("waits", io).handler((_, run) =>
    Effect.match(run.child("kid", Kid, 1), {
      onFailure: (error) => ("outcome" in error ? error.outcome : error.limit),
      onSuccess: () => "completed",
    }),
  ),
  /** Ends without it. */
  leaves: Agent.make("leaves", io).handler((_, run) =>
    Effect.gen(function* () {
      yield* Effect.forkChild(Effect.ignore(run.child("kid", Kid, 1)), { startImmediately: true })
      yield* ask(run)
      return "left"
    }),
  ),
  /** Fails beside it. */
  fails: Agent.make("fails", { ...io, error: Enough }).handler((_, run) =>
    Effect.as(
      Effect.all(
        [
          Effect.ignore(run.child("kid", Kid, 1)),
          Effect.andThen(ask(run), Effect.fail(new Enough())),
        ],
        { concurrency: "unbounded" },
      ),
      "never",
    ),
  ),
  /** Takes what comes first. */
  races: Agent.make("races", io).handler((_, run) =>
    Effect.map(
      run.race("first", { kid: Effect.ignore(run.child("kid", Kid, 1)), own: ask(run) }),
      ({ branch }) => branch,
    ),
  ),
  /** Leaves it to itself. */
  detached: Agent.make("detached", io).handler((_, run) =>
    Effect.as(
      Effect.andThen(Effect.orDie(run.child("kid", Kid, 1, { detached: true })), ask(run)),
      "left",
    ),
  ),
}
export type Kind = keyof typeof parents
export const kinds = Object.keys(parents) as ReadonlyArray<Kind>

export const agents = [KidLive, ...Object.values(parents)] as unknown as ReadonlyArray<
  Agent.AgentLive<never>
>

/** What can happen. Each is one word that arrives, and what the thread does of itself after that. */
export const events = [
  "the child is admitted",
  "the child settles",
  "the child is aborted",
  "the parent's handler ends",
  "the parent is aborted",
  "the parent's word arrives",
  "the child's notice arrives",
] as const
export type Event = (typeof events)[number]

/**
 * Whether anything can come of an event after these; one that nothing comes of is the same as none. What is refused
 * because its time is over is said once, behind that which ended it.
 */
const mayFollow = (event: Event, done: ReadonlyArray<Event>, kind: Kind): boolean => {
  const had = (...some: ReadonlyArray<Event>) => some.some((one) => done.includes(one))
  const last = done.at(-1)
  const hasChild = had("the child is admitted")
  const childEnds: ReadonlyArray<Event> = [
    "the child settles",
    "the child is aborted",
    "the parent's word arrives",
  ]
  const parentEnds: ReadonlyArray<Event> = ["the parent's handler ends", "the parent is aborted"]
  const isHeard = had("the child's notice arrives")
  const isOver = had(...parentEnds) && (kind === "detached" || isHeard)
  switch (event) {
    case "the child is admitted":
      return true
    case "the parent is aborted":
      return (
        !isOver || last === "the child's notice arrives" || last === "the parent's handler ends"
      )
    case "the parent's handler ends":
      return kind !== "waits" && !isOver // One that waits ends with the notice.
    case "the child settles":
      return hasChild && !had(...childEnds)
    case "the child is aborted":
      return hasChild && (!had(...childEnds) || childEnds.some((end) => end === last))
    case "the parent's word arrives":
      return hasChild && kind !== "detached" && had(...parentEnds) && !isHeard
    case "the child's notice arrives":
      return had(...childEnds)
  }
}

/** Every order in which all of it happens that can. */
export const ordersOf = (kind: Kind): ReadonlyArray<ReadonlyArray<Event>> => {
  const grow = (done: ReadonlyArray<Event>): ReadonlyArray<ReadonlyArray<Event>> => {
    const next = events.filter((event) => !done.includes(event) && mayFollow(event, done, kind))
    return next.length === 0 ? [done] : next.flatMap((event) => grow([...done, event]))
  }
  return grow([])
}

/** Whether objects die, and where. */
export type Weather =
  | { readonly _tag: "Calm" }
  /** Both die before each event and between the two halves of each; every word arrives twice. */
  | { readonly _tag: "Stormy" }
  /** Each dies once where it first comes to a failpoint. */
  | { readonly _tag: "DiesAt"; readonly point: string }
  /** The word that ends a child comes before the child wherever both are on their way. */
  | { readonly _tag: "Overtaken" }

export interface Member {
  readonly world: World
  readonly submissionId: SubmissionId
}

/** Whether a command was taken; none where it could not be given. */
export interface Taken {
  parentAbort?: boolean
  childAbort?: boolean
}

export const makeFamily = async (kind: Kind, weather: Weather) => {
  const dies = weather._tag === "DiesAt" ? { stopAt: weather.point } : {}
  const taken: Taken = {}
  const deaths = { count: 0 }
  const world = makeWorld({ agents, threadId: "parent" as ThreadId })
  const { submissionId } = await accepted(world.admit(kind, 1))
  await drain(world)
  world.crash(dies)
  const parent: Member = { world, submissionId }
  /** The child's thread, from the first call of it on; the child, once it is admitted. */
  const family: { place: World | undefined; child: Member | undefined } = {
    place: undefined,
    child: undefined,
  }
  const placeOf = (threadId: ThreadId): World => {
    family.place ??= makeWorld({ agents, threadId, ...dies })
    return family.place
  }

  const members = (): ReadonlyArray<Member> =>
    family.child === undefined ? [parent] : [parent, family.child]

  const storm = (): void => {
    if (weather._tag === "Stormy") for (const member of members()) member.world.crash()
  }

  /** Says it until an object has answered that did not die of it. */
  const say = async <A>(
    { world: of }: Pick<Member, "world">,
    what: () => Promise<A>,
  ): Promise<A> => {
    if (weather._tag !== "DiesAt") return what()
    const said = what()
    said.catch(() => undefined)
    const died = of.stopped().then(() => undefined)
    const first = await Promise.race([said.then((answer) => ({ answer })), died])
    if (first !== undefined) return first.answer
    deaths.count += 1
    of.crash()
    return what()
  }

  /** The thread does what it owes. */
  const turn = (member: Pick<Member, "world">) => say(member, () => drain(member.world))

  const call = ({ world: of }: Pick<Member, "world">) => ({
    ...of.address,
    generation: of.generation(),
    now: of.time.now,
  })

  const claimed = async (from: Member): Promise<ReadonlyArray<OutboxEntry>> => {
    const { result } = await go(from.world.asOwner.claimOutbox({ ...call(from), limit: 8 }))
    if (result._tag === "Failure") throw result.error
    return result.value
  }

  const acknowledged = (from: Member, id: MessageId) =>
    say(from, () =>
      go(
        from.world.asOwner.acknowledgeOutbox({
          ...call(from),
          results: [{ id, result: { _tag: "Taken" } }],
        }),
      ),
    )

  const admitted = async (entry: Extract<OutboxEntry, { readonly _tag: "Child" }>) => {
    const { _tag, id, threadId, ...work } = entry
    const made = placeOf(threadId)
    const receipt = await say({ world: made }, () =>
      accepted(made.admit(work.agent, work.input, { ...work, idempotencyKey: id })),
    )
    family.child = { world: made, submissionId: receipt.submissionId }
    await turn(family.child)
  }

  /** Takes an entry to its target, as the owner does. */
  const carried = async (entry: OutboxEntry): Promise<void> => {
    switch (entry._tag) {
      case "Child":
        return admitted(entry)
      case "ChildAbort": {
        const { _tag, id: _id, ...words } = entry
        const target = { world: placeOf(entry.threadId) }
        await say(target, () => go(target.world.asOwner.abortChild({ ...words, ...call(target) })))
        return void (await turn(target))
      }
      case "ChildNotice": {
        const { _tag, id: _id, ...notice } = entry
        await say(parent, () => go(world.asOwner.settleChild({ ...notice, ...call(parent) })))
        return void (await turn(parent))
      }
      default:
        throw new Error(`nobody has sent a ${entry._tag}`)
    }
  }

  /** Carries the first entry, if it is of this kind. */
  const carry = async (from: Member | undefined, tag: OutboxEntry["_tag"]): Promise<boolean> => {
    if (from === undefined) return false
    const [entry] = await claimed(from)
    if (entry?._tag !== tag || !("id" in entry)) return false
    await carried(entry)
    storm()
    if (weather._tag === "Stormy") await carried(entry) // Its acknowledgement was lost.
    await acknowledged(from, entry.id)
    return true
  }

  const approve = async (member: Member) => {
    await say(member, () => outside(member.world).decide(member.submissionId, "go", true))
    storm()
    await turn(member)
  }

  const abort = async (member: Member, author: string): Promise<boolean> => {
    const reply = await say(member, () => go(member.world.abort(member.submissionId, { author })))
    storm()
    await turn(member)
    return reply.result._tag === "Success"
  }

  const happens = async (event: Event): Promise<void> => {
    storm()
    const { child } = family
    switch (event) {
      case "the child is admitted": {
        const word = (await claimed(parent)).find(({ _tag }) => _tag === "ChildAbort")
        if (weather._tag === "Overtaken" && word !== undefined) await carried(word)
        return void (await carry(parent, "Child"))
      }
      case "the parent's word arrives":
        return void (await carry(parent, "ChildAbort"))
      case "the child's notice arrives":
        return void (await carry(child, "ChildNotice"))
      case "the child settles":
        return child && approve(child)
      case "the parent's handler ends":
        return approve(parent)
      case "the parent is aborted":
        taken.parentAbort = await abort(parent, "of the parent")
        return
      case "the child is aborted":
        if (child !== undefined) taken.childAbort = await abort(child, "of the child")
        return
    }
  }

  const isSettled = (member: Member): boolean => rowOf(member.world)?.state === "settled"

  /** Whatever is left comes to its end. */
  const finish = async (): Promise<void> => {
    for (let round = 0; round < 10; round++) {
      const hadWord =
        (await carry(parent, "Child")) ||
        (await carry(parent, "ChildAbort")) ||
        (await carry(family.child, "ChildNotice"))
      if (hadWord) continue
      const last = members().findLast((member) => !isSettled(member))
      if (last === undefined) return
      await approve(last)
    }
    throw new Error("the family does not come to rest")
  }

  return { parent, child: () => family.child, taken, deaths, happens, finish, isSettled, members }
}

export type Family = Awaited<ReturnType<typeof makeFamily>>
