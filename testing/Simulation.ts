/**
 * A run from its seed to its verdict: the drawn part, the healing, the quiet, and the judging.
 *
 * - R1 A run is bounded in steps and in virtual time; what goes on beyond that is a violation, not a hang.
 * - R2 Everything that a run leaves behind in the process is put back.
 * - R3 Nobody need come for an owner whose alarm stands.
 */
import { Effect } from "effect"
import { withAmbient } from "./Ambient.ts"
import { onceThere, threadAt, threadsOf } from "./Births.ts"
import { perform, resolveAll } from "./Client.ts"
import type { Client, Doing } from "./Doing.ts"
import { occurrencesAreCounted, schedulesTick } from "./invariants/Schedules.ts"
import { answerAll, carryParked, unscheduleAll } from "./TalkClient.ts"
import { parkedRuns } from "./invariants/TalkingWaits.ts"
import type { Covered } from "./Coverage.ts"
import type { Happened } from "./Faults.ts"
import { heal, planFaults } from "./Misfortune.ts"
import { inTask } from "./Microtasks.ts"
import { judge } from "./invariants/Judge.ts"
import { ownerHoldsBack } from "./invariants/Retention.ts"
import { schedulesRunMillis } from "./invariants/Work.ts"
import { watchWorld } from "./invariants/Watch.ts"
import type { Plan } from "./Plan.ts"
import { makeRandom } from "./Random.ts"
import { makeWorld, startsAt, type World } from "./World.ts"

export interface Violation {
  readonly seed: number
  readonly invariant: string
  readonly detail: string
}

export interface Outcome {
  readonly seed: number
  readonly hash: string
  readonly violations: ReadonlyArray<Violation>
  readonly faults: Readonly<Partial<Record<string, number>>>
  readonly happened: ReadonlyArray<Happened>
  readonly covered: Covered
  readonly steps: number
  readonly submissions: number
  readonly alarms: number
  readonly lines: ReadonlyArray<string>
}

export interface RunOptions {
  /** Faults that are left out, by their places. */
  readonly without?: ReadonlySet<number>
  readonly traceLines?: number
}

const stepsMax = 400_000
const quietWithinMillis = 14 * 24 * 3_600_000

/** Runs until nothing is left to do. Tells whether that came about. // R1 */
const runToQuiet = (world: World): boolean => {
  const { queue } = world
  const until = queue.now() + quietWithinMillis
  while (queue.steps() < stepsMax)
    if (!queue.step(until))
      return queue.waiting() === 0 || world.plan.owners.some((name) => ownerHoldsBack(world, name))
  return false
}

const runUntil = ({ queue }: World, until: number): void => {
  while (queue.steps() < stepsMax && queue.step(until)) {
    // Each step does its own work.
  }
}

/** Until so much later, also if nothing happens. */
const runFor = (world: World, millis: number, what: string): void => {
  const until = world.queue.now() + millis
  world.queue.at(until, undefined, what, () => undefined)
  runUntil(world, until)
}

const hourMillis = 3_600_000

const doingOf = (world: World, violate: Doing["violate"]): Doing => ({
  plan: world.plan,
  queue: world.queue,
  faults: world.faults,
  told: world.told,
  outside: world.outside,
  talk: world.talk,
  webhook: world.webhook,
  threadsOf: (ownerId) =>
    threadsOf(world).flatMap((one) => (one.ownerId === ownerId ? [one.threadId] : [])),
  threadAt: (place) => threadAt(world, place),
  violate,
  cron: world.cron,
})

const clientOf = (world: World, index: number): Client => world.clients[index] as Client

const schedule = (world: World, doing: Doing): void => {
  for (const operation of world.plan.operations) {
    const client = clientOf(world, operation.client)
    const nth = "thread" in operation ? operation.thread - world.plan.threads.length : -1
    const { lateMillis } = operation
    world.queue.at(startsAt + operation.at, client.runner, `do ${operation._tag}`, () =>
      onceThere(world, { nth, lateMillis, runner: client.runner }, () => {
        if (nth < 0 || !world.faults.isHealed()) client.run(perform(client, operation, doing))
      }),
    )
  }
}

/** Has everything carried again that nobody has taken. */
const carryAll = (world: World, client: Client): void => {
  if (world.plan.talks !== true) return
  for (const address of threadsOf(world)) {
    const { state } = world.platform.object("thread", `${address.ownerId}/${address.threadId}`)
    const runs = parkedRuns(state)
    if (runs.length > 0) client.run(Effect.ignore(carryParked(client, address, runs)))
  }
}

/** Resumes everything, says about each call what happened to it, and gives runs what they wait for. */
const operate = (world: World, doing: Doing): void => {
  const client = clientOf(world, 0)
  carryAll(world, client)
  threadsOf(world).forEach((address, thread) => {
    const { state } = world.platform.object("thread", `${address.ownerId}/${address.threadId}`)
    const waits = "SELECT 1 FROM submissions WHERE state <> 'settled' LIMIT 1"
    if (!state.hasTable("submissions") || state.read(waits).length === 0) return
    const resumed =
      thread < world.plan.threads.length || world.told.paused.has(thread)
        ? perform(client, { _tag: "Resume", at: 0, client: 0, thread }, doing)
        : Effect.void
    const resolved = Effect.andThen(resumed, Effect.ignore(resolveAll(client, address, doing)))
    client.run(
      world.plan.talks === true
        ? Effect.andThen(resolved, Effect.ignore(answerAll(client, address, doing)))
        : resolved,
    )
  })
}

/** Comes to every owner that had lost its alarm, or rows, when the world healed: whatever it owes, any call has it go on. // R3 */
const visitBlind = (world: World, doing: Doing): void =>
  world.plan.owners.forEach((ownerId, owner) => {
    if (!world.blind.has(ownerId)) return
    const visit = { _tag: "Maintenance", at: 0, client: 0, owner } as const
    clientOf(world, 0).run(perform(clientOf(world, 0), visit, doing))
  })

/** How often operators and the cron may be needed before all is done. */
const roundsMax = 8
/** A run may wait for one after another. */
const talkingRoundsMax = 40

const isSettled = (world: World): boolean =>
  world.platform
    .objects()
    .every(
      ({ kind, state }) =>
        kind !== "thread" ||
        !state.hasTable("submissions") ||
        state.read("SELECT 1 FROM submissions WHERE state <> 'settled' LIMIT 1").length === 0,
    )

/** Lets the clocks tick on in a world that has healed, looks whether they do, and cancels them: then it can come to rest. */
const endSchedules = (world: World, doing: Doing, violate: Doing["violate"]): void => {
  if (world.told.scheduled.size === 0) return
  operate(world, doing)
  clientOf(world, 0).run(Effect.ignore(world.cron()))
  runFor(world, schedulesRunMillis, "schedules have run")
  schedulesTick(world, violate)
  occurrencesAreCounted(world, violate)
  clientOf(world, 0).run(unscheduleAll(clientOf(world, 0), doing))
}

const carryOn = (world: World, doing: Doing, violate: Doing["violate"]): boolean => {
  endSchedules(world, doing, violate)
  const rounds = world.plan.talks === true ? talkingRoundsMax : roundsMax
  for (let round = 0; round < rounds; round++) {
    if (!runToQuiet(world)) {
      violate("I20", "the world does not come to rest")
      return false
    }
    judge.whenQuiet(world, doing, violate, () => runToQuiet(world))
    if (round > 0 && isSettled(world)) return true
    operate(world, doing)
    if (round === 0) visitBlind(world, doing)
    if (round % 2 === 1) clientOf(world, 0).run(Effect.ignore(world.cron()))
    runFor(world, hourMillis, "an hour later")
  }
  return runToQuiet(world)
}

/** A storm of one invariant hides no other. */
const perInvariantMax = 20

const run = (plan: Plan, options: RunOptions): Outcome => {
  const violations: Array<Violation> = []
  const violate = (invariant: string, detail: string): void => {
    const told = violations.filter((one) => one.invariant === invariant).length
    if (told < perInvariantMax) violations.push({ seed: plan.seed, invariant, detail })
  }
  let world: World | undefined
  const ambient = {
    random: makeRandom(plan.seed + 1),
    now: () => world?.queue.now() ?? startsAt,
    onLeak: (what: string) => violate("determinism", `${what} was called behind the queue's back`),
  }
  return withAmbient(ambient, () => {
    const made = makeWorld(plan, {
      without: options.without ?? new Set(),
      traceLines: options.traceLines ?? 0,
      watching: (watched) => watchWorld(watched, violate),
    })
    world = made
    const doing = doingOf(made, violate)
    schedule(made, doing)
    planFaults(made, doing)
    runUntil(made, startsAt + plan.healsAt)
    judge.beforeHealing(made, violate)
    heal(made)
    if (carryOn(made, doing, violate)) judge.atTheEnd(made, doing, violate, () => runToQuiet(made))
    for (const { state } of made.platform.objects()) state.close() // R2
    return {
      seed: plan.seed,
      hash: made.queue.trace.hash(),
      violations,
      faults: made.faults.counts(),
      happened: made.faults.happened(),
      covered: made.coverage.covered,
      steps: made.queue.steps(),
      submissions: made.told.intents.size,
      alarms: made.platform.alarms(),
      lines: made.queue.trace.lines(),
    }
  })
}

/** Runs a plan to its verdict. */
export const runPlan = (plan: Plan, options: RunOptions = {}): Promise<Outcome> =>
  inTask(() => run(plan, options))
