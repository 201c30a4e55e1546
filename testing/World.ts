/**
 * The world of a run: owners, threads, a registry, clients and the outside, as a plan has them, on one queue.
 *
 * The objects are the product's own code; all around them is the platform as it behaves.
 *
 * - W1 Everything random comes from the plan's seed, and everything that happens is in the trace.
 */
import { Context, Effect, Layer } from "effect"
import { runScheduled } from "../client/Scheduled.ts"
import type { Authorizer } from "../contracts/Authorization.ts"
import { callbackPrincipal } from "../contracts/Callback.ts"
import type { OwnerId } from "../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../contracts/Limits.ts"
import type { WireExit, WireMessage, WireTarget } from "../contracts/transport/Wire.ts"
import { makeOwnerRuntime } from "../owner-object/OwnerRuntime.ts"
import { makeRegistryRuntime } from "../owner-object/RegistryRuntime.ts"
import type { Failpoints } from "../platform/Failpoint.ts"
import { agentsDigest } from "../thread-actors/AgentsDigest.ts"
import { makeThread } from "../thread-actors/ThreadRuntime.ts"
import { deployments, Reach } from "./Agents.ts"
import { type AtWork, makeAtWork, type Working } from "./AtWork.ts"
import { type Beside, besideOf, type BesideOptions, ownersOf, threadsHave } from "./Beside.ts"
import { type Births, makeBirths, objectNameAt, tellingOf } from "./Births.ts"
import { askAfter, breaksOf } from "./BrokenBlocks.ts"
import { type Client, type Doing, makeClient } from "./Doing.ts"
import { type Coverage, makeCoverage } from "./Coverage.ts"
import { type Ends, makeEnds } from "./Ends.ts"
import { type Faults, makeFaults } from "./Faults.ts"
import { type Code, type Incarnation, leaveObject, type SimulatedObject } from "./Incarnation.ts"
import { makeNetwork, type Network, type Said, type Sender } from "./Network.ts"
import { makeOutside, type Outside, type OutsideOptions } from "./Outside.ts"
import { Again } from "./Persist.ts"
import type { Plan } from "./Plan.ts"
import { policyOf, principalOf, stranger } from "./Policy.ts"
import { makePlatform, type OnWrite, type Platform } from "./Platform.ts"
import { makeQueue, type Queue } from "./Queue.ts"
import type { Lost } from "./Lost.ts"
import { makeRandom } from "./Random.ts"
import { type LogLine, runnerContext } from "./RunnerContext.ts"
import type { Reconciling } from "./Script.ts"
import { makeStrikes, type PointDoes, type Strikes } from "./Strikes.ts"
import { built, hostOf, reaching } from "./Surroundings.ts"
import { makeTalk, type Talk } from "./Talk.ts"
import { makeTimes, type Times } from "./Times.ts"
import { makeTold, type Told } from "./Told.ts"
import { makeTrace } from "./Trace.ts"

/** The start of every run: epoch milliseconds. */
export const startsAt = 1_800_000_000_000

const digests = Object.fromEntries(
  Object.entries(deployments).map(([version, agents]) => [version, agentsDigest(agents)]),
)

/** What is looked at while a run goes on. */
export interface Watching
  extends
    Pick<OutsideOptions, "onStart" | "onLeft" | "onDone" | "onDiffers" | "onKey">,
    Pick<BesideOptions, "onGiven" | "onTaken" | "onWave" | "onWaveEnd"> {
  readonly onWrite: OnWrite
  readonly onBatch: (object: SimulatedObject) => void
  readonly onUndone: (object: SimulatedObject) => void
  /** Told of each call of a thread that an owner makes, before it leaves. */
  readonly onCall: (owner: Incarnation, threadId: string, tag: string) => void
  readonly onAlarmEnd: (object: SimulatedObject) => void
  /** Told of each handler that is entered. */
  readonly onWork: (working: Working) => void
  readonly onAlarmFailed: (object: SimulatedObject) => void
  /** Told of each answer as its object gave it. */
  readonly onAnswer: (message: WireMessage, exit: WireExit) => void
  /** Told of each answer as soon as its object has it. */
  readonly onSaid: (said: Said) => void
  readonly onLog: (line: LogLine) => void
}

export interface WorldOptions {
  readonly without: ReadonlySet<number>
  readonly traceLines: number
  readonly watching: (world: World) => Watching
}

export interface World extends Beside {
  readonly plan: Plan
  readonly queue: Queue
  readonly faults: Faults
  readonly platform: Platform
  readonly network: Network
  readonly outside: Outside
  readonly talk: Talk
  readonly ends: Ends
  readonly times: Times
  readonly atWork: AtWork
  readonly told: Told
  readonly coverage: Coverage
  readonly births: Births
  readonly strikes: Strikes
  readonly limits: Limits
  /** The application's policy; everything is allowed without one. */
  readonly policy: Authorizer | undefined
  readonly clients: ReadonlyArray<Client>
  /** A client whom a policy, if there is one, denies everything. */
  readonly stranger: Client
  readonly webhook: Client | undefined
  readonly cron: Doing["cron"]
  /** The deployments that new incarnations may run. */
  versions: ReadonlyArray<string>
  /** How often each submission has killed its object. */
  readonly killed: Map<string, number>
  /** How often owners have called their threads, and clients have sent something again. */
  readonly calls: { made: number; again: number }
  /** Owners that were lost, and threads whose lanes were; not reconciled yet. */
  readonly lost: Map<string, Lost>
  /** Owners whose alarm, or rows, were lost when the world healed; and threads whose lanes were. */
  readonly blind: Set<string>
  /** Threads whose lanes had a fault, or were stalled, when the world healed. */
  readonly resting: Set<string>
  /** Threads whose owner was made to forget something of them. */
  readonly forgotten: Set<string>
}

/** What a strike does to an object at a failpoint. */
const struckAt = (
  world: World,
  object: SimulatedObject,
  point: string,
  does: PointDoes,
): Effect.Effect<void> => {
  switch (does._tag) {
    case "Waits":
      return Effect.sleep(does.millis)
    case "IsReplaced":
      world.platform.replace(object)
      return Effect.void
    case "CrashesWith":
    case "Crashes":
      world.coverage.crash(object, point)
      if (does._tag === "CrashesWith")
        for (const place of does.others) world.platform.crash(objectAt(world, place))
      world.platform.crash(object)
      return Effect.never
  }
}

/** The object at a place of the plan: owners first, then threads, then children's. */
export const objectAt = (world: World, place: number): SimulatedObject =>
  world.platform.object(
    place < world.plan.owners.length ? "owner" : "thread",
    objectNameAt(world, place),
  )

const failpointsOf = (world: World, incarnation: Incarnation): Failpoints => ({
  reach: (point) =>
    Effect.suspend(() => {
      const { object } = incarnation
      world.coverage.point(object.kind, point)
      if (!incarnation.holdsStorage) return Effect.void
      const struck = world.strikes.atPoint(object.name, point)
      if (struck !== undefined) return struckAt(world, object, point, struck)
      const where = () => `${object.name} at ${point}`
      if (world.faults.strike("replaced, the old one runs on", where)) {
        world.platform.replace(object)
        return Effect.void
      }
      if (!world.faults.strike("crash at a failpoint", where)) return Effect.void
      world.coverage.crash(object, point)
      world.platform.crash(object)
      return Effect.never
    }),
})

const reconciling = ({ faults, plan, queue }: World): Reconciling =>
  faults.isHealed()
    ? "looks"
    : (plan.reconciling ??
      queue.random.weighted([
        [12, "looks"],
        [2, "fails"],
        [1, "hangs"],
        [1, "is uncertain"],
      ] as const))

const codeOf = (
  world: World,
  incarnation: Incarnation,
  { onCall: called, onLog }: Pick<Watching, "onCall" | "onLog">,
): Code => {
  const { object, runner, version } = incarnation
  const context = runnerContext(world.queue, runner, onLog)
  const host = hostOf(world.queue, incarnation, context)
  const sender: Sender = { runner, leave: (send) => leaveObject(incarnation, send) }
  const reach = reaching(world.network, world.platform)(sender)
  const shared = {
    limits: world.limits,
    ...(world.policy === undefined ? {} : { authorizer: world.policy }),
    codeVersion: version,
    agentsDigest: digests[version] as string,
    failpoints: failpointsOf(world, incarnation),
  }
  switch (object.kind) {
    case "owner": {
      const { owner, registry, thread } = reach
      const watched = (ownerId: string, threadId: string): WireTarget => {
        const target = thread(ownerId, threadId)
        return {
          call: (message, sink) => {
            if (message._tag === "Request") {
              world.calls.made += 1
              called(incarnation, threadId, message.tag)
            }
            return target.call(message, sink)
          },
        }
      }
      return built(
        makeOwnerRuntime(host, {
          ...shared,
          thread: watched,
          peer: owner,
          registry: registry(),
          ...ownersOf(world, incarnation),
        }),
      )
    }
    case "thread":
      return makeThread(host, {
        ...shared,
        ...threadsHave(world.plan, version),
        services: Layer.succeed(Reach, {
          outside: world.outside,
          incarnation,
          talk: world.talk,
          ends: world.ends,
          times: world.times,
          atWork: world.atWork,
          threads: world.plan.threads,
          reconciles: () => reconciling(world),
          kill: (submissionId) => {
            if (world.faults.isHealed()) return false
            world.killed.set(submissionId, (world.killed.get(submissionId) ?? 0) + 1)
            for (const place of world.plan.killsTake ?? [])
              world.platform.crash(objectAt(world, place))
            world.platform.crash(object)
            return true
          },
        }) as never,
        owner: (ownerId: OwnerId) => reach.owner(ownerId),
      })
    case "registry":
      return built(makeRegistryRuntime(host, shared))
  }
}

const clientsOf = (world: World, onLog: (line: LogLine) => void) => {
  const { limits, network, plan, platform, queue } = world
  const reachFrom = reaching(network, platform)
  const make = (name: string) => {
    const runner = queue.runner(name)
    const sender: Sender = { runner, leave: (send) => send() }
    const context = Context.add(runnerContext(queue, runner, onLog), Again, world.calls)
    return { runner, context, reach: reachFrom(sender) }
  }
  let requests = 0
  const clientNamed = (name: string, principal: string) => {
    const { context, reach, runner } = make(name)
    const requestId = () => `${name}-${requests++}`
    return makeClient({ principal, runner, context, ...reach, requestId })
  }
  const clients = Array.from({ length: plan.clients }, (_, index) =>
    clientNamed(`client ${index}`, principalOf(index)),
  )
  const cron = make("cron")
  return {
    clients,
    stranger: clientNamed(stranger, stranger),
    webhook: plan.callbacks === true ? clientNamed("webhook", callbackPrincipal) : undefined,
    cron: () => Effect.scoped(runScheduled(cron.reach, cron.reach.registry, limits)),
  }
}

/** Makes the world of a plan. Nothing has happened in it yet. */
export const makeWorld = (plan: Plan, options: WorldOptions): World => {
  const random = makeRandom(plan.seed ^ 0x5eed) // W1
  const limits = makeLimits(plan.limits)
  const queue = makeQueue({
    random,
    pace: plan.pace,
    startsAt,
    trace: (now) => makeTrace({ lines: options.traceLines, now }),
  })
  const faults = makeFaults({
    random,
    trace: queue.trace,
    now: queue.now,
    rates: plan.rates,
    without: options.without,
  })
  const coverage = makeCoverage(() => Object.keys(faults.counts()))
  const births = makeBirths()
  const strikes = makeStrikes(
    plan.strikes ?? [],
    (place) => objectNameAt({ plan, births }, place),
    faults.planned,
  )
  const network = makeNetwork({
    queue,
    faults,
    latencyMillis: plan.latencyMillis,
    strayMillis: plan.strayMillis ?? 40,
    strikes: (name, tag) => strikes.ofRequest(name, tag),
    onSaid: (said) => watching.onSaid(said),
    onLand: (_name, message) => coverage.land(message),
    onAnswer: (name, message, exit) => {
      watching.onAnswer(message, exit)
      const mistake = coverage.answer(name, message, exit)
      if (mistake !== undefined)
        watching.onLog({ runner: outsider, level: "Error", message: `${name}: ${mistake}` })
    },
  })
  const outsider = queue.runner("network")
  const platform: Platform = makePlatform({
    queue,
    faults,
    skewMillis: () => random.between(-plan.skewMillis, plan.skewMillis),
    flushMillis: () =>
      faults.strike("flush slow") ? random.between(50, 4_000) : random.below(plan.flushMillis + 1),
    version: () => random.pick(world.versions),
    mayYield: plan.pace.yields > 0,
    alarmLagMillis: plan.alarmLagMillis ?? 10,
    strikes: ({ name }) => strikes.ofAlarm(name),
    code: (incarnation) => codeOf(world, incarnation, watching),
    onWrite: (object, text, bindings) => watching.onWrite(object, text, bindings),
    onMade: tellingOf({ plan, births }),
    onBatch: (object) => watching.onBatch(object),
    onUndone: (object) => watching.onUndone(object),
    onAlarmEnd: (object) => watching.onAlarmEnd(object),
    onAlarmFailed: (object) => watching.onAlarmFailed(object),
    breaks: breaksOf({ queue, faults, rates: plan.rates, strikes }),
    onBroken: (object) => askAfter(world, object),
  })
  const outside = makeOutside({
    queue,
    isHealed: faults.isHealed,
    latency: network.latency,
    onStart: (started) => watching.onStart(started),
    onLeft: (call) => watching.onLeft(call),
    onDone: (call) => watching.onDone(call),
    onDiffers: (submissionId, name, values) => watching.onDiffers(submissionId, name, values),
    onKey: (what) => watching.onKey(what),
  })
  const parts: Omit<World, "stranger"> = {
    plan,
    limits,
    policy: policyOf(plan, faults),
    queue,
    faults,
    platform,
    network,
    outside,
    talk: makeTalk(),
    ends: makeEnds(),
    times: makeTimes(queue.now),
    atWork: makeAtWork((working) => watching.onWork(working)),
    told: makeTold(),
    ...besideOf(plan, {
      queue,
      startsAt,
      isHealed: faults.isHealed,
      latency: network.latency,
      kill: (incarnation) => {
        if (incarnation.object.incarnation === incarnation) platform.crash(incarnation.object)
      },
      onGiven: (batch, published) => watching.onGiven(batch, published),
      onTaken: (batch, published) => watching.onTaken(batch, published),
      onWave: (wave, others) => watching.onWave(wave, others),
      onWaveEnd: (wave) => watching.onWaveEnd(wave),
    }),
    coverage,
    births,
    strikes,
    versions: plan.faults.some(({ kind }) => kind === "deployment") ? ["v1"] : ["v2"],
    killed: new Map<string, number>(),
    calls: { made: 0, again: 0 },
    lost: new Map<string, Lost>(),
    blind: new Set<string>(),
    resting: new Set<string>(),
    forgotten: new Set<string>(),
    clients: [],
    webhook: undefined,
    cron: () => Effect.void,
  }
  const world = parts as World
  Object.assign(
    world,
    clientsOf(world, (line) => watching.onLog(line)),
  )
  const watching = options.watching(world)
  return world
}
