/**
 * What is watched while a run goes on: the invariants that hold between any two events.
 *
 * - W1 I7: the alarm of an owner is looked at after each of its commits, and after each end of its handler.
 * - W2 I8: a lane is looked at after each commit of its owner and of its thread.
 * - W5 I10 and I19: an owner's call is looked at as it is made, by what its commits said of its lanes.
 * - W4 I17: an answer is looked at where it leaves its object.
 * - W6 I18: an object that commits without end while time stands still is stopped, or the run would not end.
 * - W7 I13: a parent is looked at where it settles, a child where it starts a body.
 * - W8 A sink is looked at where it is given something, where it takes it, and where a body starts.
 * - W9 A thread is looked at after each of its commits for what it has pruned.
 * - W11 An attempt of an agent with a limit is looked at where its owner calls for it, and where its handler is entered.
 * - W10 A wave of a host lane is looked at where it begins and ends.
 * - W12 An answer is looked at as soon as its object has it, beside the rows that the object has then.
 * - W3 I3 and I6: a body is looked at before it starts, an ordinary call where it leaves its object, and at each
 *   commit of its thread until its end.
 */
import { ownerIdOf, type SimulatedObject } from "../Incarnation.ts"
import type { LogLine } from "../RunnerContext.ts"
import type { Watching, World } from "../World.ts"
import { isWithinLimit, mayStartOne } from "./AgentLimits.ts"
import { alarmCovers } from "./AlarmCoverage.ts"
import { mayLeave, mayStart, paidOnce } from "./Bodies.ts"
import { policyIsKept } from "./Denied.ts"
import { childMayStart, makeParents } from "./Children.ts"
import { endsInTime, oneAtATime } from "./HostLanes.ts"
import { laneKnows, lanesKnow } from "./LaneAccounts.ts"
import { memoryIsTrue } from "./Memory.ts"
import { callsGoOn } from "./OpenCalls.ts"
import { batchFits, batchRepeats, sinkIsAhead } from "./Publication.ts"
import { prunesOnlyOld } from "./Retention.ts"
import { makeTurns, type Turns } from "./Turns.ts"
import type { Violate } from "./Violate.ts"

/** Lines of our own log that only a mistake of ours writes. */
const mistakes = /mistake of ours|answered with a defect|^Defect \S+ in (?!agent)/

const ownerOf = (world: World, thread: SimulatedObject): SimulatedObject =>
  world.platform.object("owner", ownerIdOf(thread.name))

/** Far above what any object commits at one time. */
const commitsAtOnceMost = 2_000

/** Throws, as the storage of an object that must not go on. // W6 */
const makeBrake = ({ queue }: World, violate: Violate) => {
  const counts = new Map<string, { at: number; commits: number }>()
  return ({ name }: SimulatedObject): void => {
    const at = queue.now()
    const last = counts.get(name)
    const commits = last?.at === at ? last.commits + 1 : 1
    counts.set(name, { at, commits })
    if (commits < commitsAtOnceMost) return
    if (commits === commitsAtOnceMost) violate("I18", `${name} commits without end at one time`)
    throw new Error("too many commits at one time")
  }
}

export const watchWorld = (world: World, violate: Violate): Watching =>
  watching(world, violate, {
    turns: makeTurns(world, violate),
    brake: makeBrake(world, violate),
    parents: makeParents(world, violate),
  })

/** Messages that wait for somebody's word come when they come. */
const noteParked = ({ talk }: World, { state }: SimulatedObject): void => {
  if (talk.asked.size === 0 || !state.hasTable("outbox")) return
  for (const { id } of state.read<{ id: string }>(
    "SELECT id FROM outbox WHERE parkedAt IS NOT NULL",
  ))
    talk.parked.add(id)
}

const watching = (
  world: World,
  violate: Violate,
  {
    brake,
    parents,
    turns,
  }: {
    readonly turns: Turns
    readonly brake: (object: SimulatedObject) => void
    readonly parents: (object: SimulatedObject) => void
  },
): Watching => ({
  onWrite: turns.onWrite,
  onUndone: turns.onUndone,
  onCall: (owner, threadId, tag) => {
    turns.onCall(owner, threadId, tag) // W5
    mayStartOne(world, owner, { tag, threadId }, violate) // W11
  },
  onWork: (working) => isWithinLimit(world, working, violate), // W11
  onBatch: (object) => {
    brake(object) // W6
    if (object.kind === "owner") {
      alarmCovers(world, object, violate) // W1
      lanesKnow(world, object, violate) // W2
      turns.onBatch(object) // W5
    }
    if (object.kind === "thread") {
      laneKnows(world, ownerOf(world, object), object, violate) // W2
      callsGoOn(world, object, violate) // W3
      prunesOnlyOld(world, object, violate) // W9
      if (world.plan.talks === true) {
        parents(object) // W7
        noteParked(world, object)
      }
    }
  },
  onAlarmEnd: (object) => {
    alarmCovers(world, object, violate) // W1
    turns.onAlarmEnd(object) // W5
  },
  onSaid: (said) => memoryIsTrue(said, violate), // W12
  onAlarmFailed: turns.onAlarmFailed,
  onAnswer: (message, exit) => policyIsKept(world, message, exit, violate), // W4
  onStart: (started) => {
    mayStart(started, violate) // W3
    childMayStart(world, started, violate) // W7
    sinkIsAhead(world, started, violate) // W8
  },
  onWave: (wave, others) => oneAtATime(wave, others, violate), // W10
  onWaveEnd: (wave) => endsInTime(world, wave, violate), // W10
  onGiven: (batch, published) => batchFits(batch, published, violate), // W8
  onTaken: (batch, published) => {
    batchFits(batch, published, violate) // W8
    batchRepeats(world, batch, published, violate)
  },
  onLeft: (call) => mayLeave(call, violate), // W3
  onDone: (call) => paidOnce(call, violate),
  onDiffers: (submissionId, name, values) =>
    violate("I5", `the handler of ${submissionId} was given for ${name}: ${values}`),
  onKey: (what) => violate("I6", what),
  onLog: ({ level, message, runner }: LogLine) => {
    world.queue.trace.note("log", level, message)
    if (mistakes.test(message)) violate("no mistakes of ours", `${runner.name}: ${message}`)
  },
})
