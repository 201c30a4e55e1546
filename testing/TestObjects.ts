/**
 * The objects of a test deployment: the product's own code on the simulated platform, without its misfortunes.
 *
 * - O1 Messages take no time, alarms ring on time, and what is committed is durable at once: nothing that an
 *   object sends in production leaves before, either.
 * - O2 All chance comes from one seed, in the agents' code the one that Effect's `Random` draws.
 */
import { Context, type Layer, Random } from "effect"
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { AcceptMessages } from "../owner-object/AcceptMessages.ts"
import type { HostLane } from "../owner-object/HostLane.ts"
import { makeOwnerRuntime } from "../owner-object/OwnerRuntime.ts"
import type { Agents } from "../thread-actors/Agent.ts"
import { maxRunningOf } from "../thread-actors/Agent.ts"
import { agentsDigest } from "../thread-actors/AgentsDigest.ts"
import { makeThread } from "../thread-actors/ThreadRuntime.ts"
import { type CrashPoints, makeCrashPoints } from "./CrashPoints.ts"
import { makeFaults } from "./Faults.ts"
import { type Code, type Incarnation, leaveObject } from "./Incarnation.ts"
import { makeNetwork, type Sender } from "./Network.ts"
import { makePlatform, type Platform } from "./Platform.ts"
import { makeQueue, type Pace, type Queue, type Runner } from "./Queue.ts"
import { makeRandom } from "./Random.ts"
import { type LogLine, runnerContext } from "./RunnerContext.ts"
import { built, hostOf, reaching } from "./Surroundings.ts"
import { makeTrace } from "./Trace.ts"

export interface TestObjectsOptions {
  readonly agents: Agents
  readonly services: Layer.Layer<never>
  readonly limits: Limits
  readonly seed: number
  readonly startsAt: number
  readonly onLog: (line: LogLine) => void
  readonly acceptMessages: AcceptMessages | undefined
  readonly hostLanes: ReadonlyArray<HostLane>
  readonly searchesOutcomes: boolean
}

export interface TestObjects {
  readonly queue: Queue
  readonly platform: Platform
  readonly crashPoints: CrashPoints
  /** How a sender reaches owners and threads. */
  readonly reach: (from: Sender) => Omit<ReturnType<ReturnType<typeof reaching>>, "registry">
  /** What effects of a runner run under. */
  readonly contextOf: (runner: Runner) => Context.Context<never>
}

/** Nothing lags, and chance decides only between what may run at the same time. */
const steady: Pace = { preempts: 0, shuffles: 0, bursts: 0, yields: 0, lags: 0 }

export const makeTestObjects = (options: TestObjectsOptions): TestObjects => {
  const { acceptMessages, agents, hostLanes, limits, searchesOutcomes, services } = options
  const random = makeRandom(options.seed)
  const queue = makeQueue({
    random,
    pace: steady,
    startsAt: options.startsAt,
    trace: (now) => makeTrace({ lines: 0, now }),
  })
  const { now, trace } = queue
  const faults = makeFaults({ random, trace, now, rates: {}, without: new Set() })
  const quiet = { latencyMillis: 0, strayMillis: 1 } // O1
  const nobody = { onLand: () => {}, onAnswer: () => {} }
  const network = makeNetwork({ queue, faults, ...quiet, ...nobody })
  const digest = agentsDigest(agents)

  const contextOf = (runner: Runner): Context.Context<never> => {
    const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number
    const chance = {
      nextDoubleUnsafe: random.next,
      nextIntUnsafe: () => random.between(least, most),
    }
    return Context.add(runnerContext(queue, runner, options.onLog), Random.Random, chance) // O2
  }

  const codeOf = (incarnation: Incarnation): Code => {
    const { object, runner } = incarnation
    const host = hostOf(queue, incarnation, contextOf(runner))
    const sender: Sender = { runner, leave: (send) => leaveObject(incarnation, send) }
    const { owner, thread } = reach(sender)
    const shared = {
      limits,
      codeVersion: digest,
      agentsDigest: digest,
      failpoints: crashPoints.of(incarnation),
    }
    return object.kind === "owner"
      ? built(
          makeOwnerRuntime(host, {
            ...shared,
            maxRunning: maxRunningOf(agents),
            thread,
            peer: owner,
            acceptMessages,
            hostLanes,
            searchesOutcomes,
            services,
          }),
        )
      : makeThread(host, { ...shared, agents, services, owner: (id: OwnerId) => owner(id) })
  }

  const platform = makePlatform({
    queue,
    faults,
    skewMillis: () => 0,
    flushMillis: () => 0,
    version: () => digest,
    mayYield: false,
    alarmLagMillis: 1, // O1
    code: codeOf,
    onBatch: ({ state }) => state.flushAll(), // O1
    onAlarmEnd: () => {},
  })
  const reach = reaching(network, platform)
  const crashPoints = makeCrashPoints({ now, crash: ({ object }) => platform.crash(object) })
  return { queue, platform, crashPoints, reach, contextOf }
}
