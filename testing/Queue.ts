/**
 * The one queue of a run: every task of every object and client, every timer, every message.
 *
 * A runner is one life of an object, or a client: its fiber tasks wait in the queue, and chance says whose
 * turn it is. Time is a number that moves on when nothing can run now.
 *
 * - Q1 What a dead runner still had waiting never runs.
 * - Q2 A macrotask of a runner comes after the fiber tasks that were waiting before it.
 * - Q3 A runner's clock stands still while it computes: it moves with what reaches the runner from outside, and
 *   is never behind by more than three seconds more than its skew.
 * - Q4 After every task all microtasks are drained, before anything else is chosen.
 */
import { drainMicrotasks } from "./Microtasks.ts"
import type { Random } from "./Random.ts"
import type { Trace } from "./Trace.ts"

export interface Runner {
  readonly name: string
  /** Unique in the run, in the order of their making. */
  readonly id: number
  /** Its clock minus the true time. */
  readonly skewMillis: number
  alive: boolean
  /** What its clock shows: epoch milliseconds. // Q3 */
  clock: number
  /** Whether fibers may be made to yield between any two of their steps. */
  mayYield: boolean
  tasks: Array<() => void>
  macrotasks: Array<() => void>
  /** Whether it is among those that may be chosen. */
  listed: boolean
  /** Its machine does nothing until then. */
  stalledUntil: number
}

export interface Timer {
  cancelled: boolean
}

interface Event extends Timer {
  at: number
  readonly order: number
  readonly runner: Runner | undefined
  readonly label: string
  readonly run: () => void
}

/** How a run chooses; drawn per seed. */
export interface Pace {
  /** How often something due goes before the tasks that wait. */
  readonly preempts: number
  /** How often a runner's next task is not its oldest. */
  readonly shuffles: number
  /** How often a runner goes on without letting others in. */
  readonly bursts: number
  /** How often a fiber yields between two of its steps. */
  readonly yields: number
  /** How often time moves on although tasks wait: a machine that is slow. */
  readonly lags: number
}

export interface Queue {
  /** The true time. */
  readonly now: () => number
  readonly random: Random
  readonly pace: Pace
  readonly trace: Trace
  readonly runner: (name: string, skewMillis?: number) => Runner
  readonly kill: (runner: Runner) => void
  /** Its machine does nothing for a while; what reaches it waits. */
  readonly stall: (runner: Runner, millis: number) => void
  /** A step of a fiber. */
  readonly task: (runner: Runner, run: () => void) => void
  readonly macrotask: (runner: Runner, run: () => void) => void
  /** At a time, or as soon as may be if that has passed; reaches its runner from outside. */
  readonly at: (time: number, runner: Runner | undefined, label: string, run: () => void) => Timer
  /** Runs the next thing. False when there is none before `until`. */
  readonly step: (until: number) => boolean
  readonly steps: () => number
  /** Whether nothing can run without time, or an event, going on. */
  readonly isIdle: () => boolean
  /** Things that wait, dead ones left aside. */
  readonly waiting: () => number
}

/** Whether one event goes before another. */
const before = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** A binary heap: the earliest event is first. */
const makeHeap = () => {
  const heap: Array<Event> = []
  const up = (from: number): void => {
    let index = from
    const event = heap[index] as Event
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(event, heap[parent] as Event)) break
      heap[index] = heap[parent] as Event
      index = parent
    }
    heap[index] = event
  }
  const down = (): void => {
    const event = heap[0] as Event
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child++
      if (!before(heap[child] as Event, event)) break
      heap[index] = heap[child] as Event
      index = child
    }
    heap[index] = event
  }
  return {
    push: (event: Event): void => {
      heap.push(event)
      up(heap.length - 1)
    },
    peek: (): Event | undefined => heap[0],
    pop: (): void => {
      const last = heap.pop()
      if (last === undefined || heap.length === 0) return
      heap[0] = last
      down()
    },
    all: (): ReadonlyArray<Event> => heap,
  }
}

/** With the skews of two machines, as much as the product allows for. */
const staleMillis = 3_000

const isOver = (event: Event): boolean =>
  event.cancelled || (event.runner !== undefined && !event.runner.alive) // Q1

export interface QueueOptions {
  readonly random: Random
  readonly pace: Pace
  readonly startsAt: number
  readonly trace: (now: () => number) => Trace
}

export const makeQueue = ({ pace, random, startsAt, trace: makeTrace }: QueueOptions): Queue => {
  let now = startsAt
  let steps = 0
  let runners = 0
  const heap = makeHeap()
  const ready: Array<Runner> = []
  const trace = makeTrace(() => now)

  const list = (runner: Runner): void => {
    if (runner.listed || !runner.alive || runner.stalledUntil > now) return
    runner.listed = true
    ready.push(runner)
  }
  const unlist = (index: number): void => {
    const runner = ready[index] as Runner
    runner.listed = false
    const last = ready.pop()
    if (last !== undefined && last !== runner) ready[index] = last
  }

  const at: Queue["at"] = (time, runner, label, run) => {
    const event: Event = {
      at: Math.ceil(time),
      order: random.below(0x40000000),
      runner,
      label,
      run,
      cancelled: false,
    }
    heap.push(event)
    return event
  }

  const earliest = (): Event | undefined => {
    for (;;) {
      const event = heap.peek()
      if (event === undefined || !isOver(event)) return event
      heap.pop()
    }
  }

  const runEvent = (event: Event): void => {
    heap.pop()
    now = Math.max(now, event.at)
    if (event.runner !== undefined && event.runner.stalledUntil > now) {
      event.at = event.runner.stalledUntil
      heap.push(event)
      return
    }
    if (event.runner !== undefined) event.runner.clock = now + event.runner.skewMillis // Q3
    trace.note("event", event.label, event.runner?.id ?? -1)
    event.run()
    drainMicrotasks() // Q4
  }

  const taken = (waiting: Array<() => void>): (() => void) | undefined => {
    if (waiting.length > 1 && random.chance(pace.shuffles))
      return waiting.splice(random.below(waiting.length), 1)[0]
    return waiting.shift()
  }

  const runTask = (): void => {
    const index = ready.length === 1 ? 0 : random.below(ready.length)
    const runner = ready[index] as Runner
    runner.clock = Math.max(runner.clock, now + runner.skewMillis - staleMillis) // Q3
    const oneMacrotask = runner.tasks.length === 0
    for (;;) {
      const run = oneMacrotask ? runner.macrotasks.shift() : taken(runner.tasks) // Q2
      steps += 1
      trace.note(oneMacrotask ? "macrotask" : "task", runner.id)
      run?.()
      drainMicrotasks() // Q4
      if (oneMacrotask || runner.tasks.length === 0 || !random.chance(pace.bursts)) break
    }
    const place = ready.indexOf(runner)
    if (place >= 0 && runner.tasks.length === 0 && runner.macrotasks.length === 0) unlist(place)
  }

  const step = (until: number): boolean => {
    const event = earliest()
    if (ready.length > 0) {
      const isDue = event !== undefined && event.at <= now
      if (isDue && random.chance(pace.preempts)) runEvent(event)
      else if (event !== undefined && event.at < now + 50 && random.chance(pace.lags))
        runEvent(event)
      else runTask()
      return true
    }
    if (event === undefined || event.at > until) return false
    steps += 1
    runEvent(event)
    return true
  }

  return {
    now: () => now,
    random,
    pace,
    trace,
    runner: (name, skewMillis = 0) => ({
      name,
      id: runners++,
      skewMillis,
      alive: true,
      clock: now + skewMillis,
      mayYield: false,
      tasks: [],
      macrotasks: [],
      listed: false,
      stalledUntil: 0,
    }),
    kill: (runner) => {
      runner.alive = false // Q1
      runner.tasks = []
      runner.macrotasks = []
      const index = ready.indexOf(runner)
      if (index >= 0) unlist(index)
    },
    stall: (runner, millis) => {
      runner.stalledUntil = now + millis
      const index = ready.indexOf(runner)
      if (index >= 0) unlist(index)
      at(runner.stalledUntil, undefined, "goes on", () => {
        if (runner.tasks.length + runner.macrotasks.length > 0) list(runner)
      })
    },
    task: (runner, run) => {
      if (!runner.alive) return // Q1
      runner.tasks.push(run)
      list(runner)
    },
    macrotask: (runner, run) => {
      if (!runner.alive) return // Q1
      runner.macrotasks.push(run)
      list(runner)
    },
    at,
    step,
    steps: () => steps,
    isIdle: () => ready.length === 0,
    waiting: () => ready.length + heap.all().filter((event) => !isOver(event)).length,
  }
}
