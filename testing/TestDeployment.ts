/**
 * A deployment of a test: its agents on the product's objects, in memory, with time and crashes in the test's
 * hands.
 *
 * - D1 All that happens happens within the test's calls, one after the other: nothing runs between them, and no real
 *   timer is set.
 * - D2 The process is left alone; its time, chance and timers are replaced only if the test asks, and only
 *   while one of these calls runs.
 */
import { Layer } from "effect"
import { Principal } from "../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../contracts/Limits.ts"
import type { HostRequirements, Requirements } from "../heddle.ts"
import type { AcceptMessages } from "../owner-object/AcceptMessages.ts"
import { checkHostLanes, type HostLane } from "../owner-object/HostLane.ts"
import type { AgentLive, Agents } from "../thread-actors/Agent.ts"
import { withAmbient } from "./Ambient.ts"
import { makeCaller } from "./Caller.ts"
import { makeRandom } from "./Random.ts"
import type { LogLine } from "./RunnerContext.ts"
import { type TestCalls, testCalls } from "./TestCalls.ts"
import { makeTestClock } from "./TestClock.ts"
import { type TestControls, testControls } from "./TestControls.ts"
import type { TestKit } from "./TestKit.ts"
import { makeTestObjects } from "./TestObjects.ts"
import { type Turning, turnAll } from "./Turning.ts"
import { makeHeldCrypto } from "./WebCrypto.ts"

interface Options<Registered> {
  /** Every agent of the deployment, each name once. */
  readonly agents: Registered
  /** Overrides of the documented defaults. */
  readonly limits?: Partial<Limits>
  /** The owner of threads that are named without one. Default `owner`. */
  readonly ownerId?: string
  /** Which threads of other owners may send messages to an owner's, as `Heddle.make` takes it. None by default. */
  readonly acceptMessages?: AcceptMessages
  /** What `search` finds besides the titles of threads, as `Heddle.make` takes it. */
  readonly search?: { readonly outcomes?: boolean }
  /** Another seed is another order of what may happen at the same time, and other chance. Default 1. */
  readonly seed?: number
  /** The test clock's time at first: epoch milliseconds. */
  readonly startsAt?: number
  /**
   * Has code that knows no Effect see the test's time and chance, too: `Date.now`, `Math.random`, `performance`
   * and `crypto` are replaced while a call of this deployment runs, and timers it starts are logged and never
   * fire. Default false. // D2
   */
  readonly patchGlobals?: boolean
}

/**
 * `services` must bring all that the handlers and the host lanes require. It is built anew for each life of an object that
 * needs it.
 */
export type TestDeploymentOptions<
  Registered extends ReadonlyArray<AgentLive<unknown>>,
  Lanes extends ReadonlyArray<HostLane<unknown>> = readonly [],
> = Options<Registered> & {
  /** Work of the application's own in each owner, as `Heddle.make` takes it. */
  readonly hostLanes?: Lanes
} & ([Requirements<Registered> | HostRequirements<Lanes>] extends [never]
    ? { readonly services?: Layer.Layer<never> }
    : { readonly services: Layer.Layer<Requirements<Registered> | HostRequirements<Lanes>> })

/** A warning or an error that an object or an agent has logged. */
export interface LogEntry {
  readonly object: string
  readonly level: string
  readonly message: string
}

export interface TestDeployment extends TestCalls, TestControls {
  /** The warnings and errors so far. */
  readonly log: () => ReadonlyArray<LogEntry>
}

const register = (agents: ReadonlyArray<AgentLive<unknown>>): Agents => {
  const byName = new Map(agents.map((live) => [live.agent.name, live as AgentLive<never>]))
  if (byName.size < agents.length) throw new TypeError("Two agents have the same name")
  return byName
}

/** The host lanes, whose services the deployment brings. Throws for those that could not run. */
const hostLanesOf = (
  lanes: ReadonlyArray<HostLane<unknown>> = [],
  limits: Limits,
): ReadonlyArray<HostLane> => {
  checkHostLanes(lanes, limits)
  return lanes as ReadonlyArray<HostLane>
}

const make = <
  const Registered extends ReadonlyArray<AgentLive<unknown>>,
  const Lanes extends ReadonlyArray<HostLane<unknown>> = readonly [],
>(
  options: TestDeploymentOptions<Registered, Lanes>,
): TestDeployment => {
  const {
    ownerId = "owner",
    patchGlobals = false,
    seed = 1,
    startsAt = 1_800_000_000_000,
  } = options
  const limits = makeLimits(options.limits)
  const lines: Array<LogEntry> = []
  const onLog = ({ level, message, runner }: LogLine): void => {
    lines.push({ object: runner.name, level, message })
  }
  const services = options.services ?? Layer.empty
  const agents = register(options.agents)
  const { acceptMessages } = options
  const objects = makeTestObjects({
    agents,
    services,
    limits,
    seed,
    startsAt,
    onLog,
    acceptMessages,
    hostLanes: hostLanesOf(options.hostLanes, limits),
    searchesOutcomes: options.search?.outcomes === true,
  })
  const real = makeHeldCrypto()
  const clock = makeTestClock(objects.queue, real)
  const caller = makeCaller({ objects, clock, limits, principal: Principal.make("test") })
  const ambient = {
    random: makeRandom(seed + 1),
    now: objects.queue.now,
    onLeak: (what: string) => {
      lines.push({ object: "", level: "Warn", message: `${what} was called; it never fires` })
    },
  }
  const turning = {
    within: <A>(turn: () => A): A =>
      real.within(() => (patchGlobals ? withAmbient(ambient, turn) : turn())), // D2
    between: real.ended,
  }
  let last: Promise<unknown> = Promise.resolve()
  const inTest = <A>(work: () => Turning<A>): Promise<A> => {
    const answer = last.then(() => turnAll(work, turning)) // D1
    last = answer.catch(() => undefined)
    return answer
  }
  const kit: TestKit = { objects, clock, caller, ownerId, inTest, keys: 0 }
  return { ...testControls(kit), ...testCalls(kit), log: () => [...lines] }
}

/** Makes a deployment for a test. Throws when two agents have the same name, or a host lane could not run. */
export const TestDeployment = { make }
