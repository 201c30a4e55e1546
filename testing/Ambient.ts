/**
 * What surrounds a run: time, chance and timers of the process, replaced for its length.
 *
 * - A1 Chance and time come from the seed, also where no host gives them.
 * - A2 A real timer that somebody starts is a leak: it is told, and never fires.
 * - A3 Everything is put back, whatever the run comes to.
 */
import type { Random } from "./Random.ts"

export interface AmbientOptions {
  readonly random: Random
  readonly now: () => number
  /** Told once for each timer that was started behind the queue's back. */
  readonly onLeak: (what: string) => void
}

type Replaced = ReadonlyArray<readonly [owner: object, name: string, value: unknown]>

const hex = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => random.below(16).toString(16)).join("")

const uuid = (random: Random): string =>
  `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`

const replacements = ({ now, onLeak, random }: AmbientOptions): Replaced => {
  const leak = (what: string) => () => {
    onLeak(what) // A2
    return 0
  }
  const nanos = () => BigInt(now()) * 1_000_000n
  return [
    // A1
    [Math, "random", random.next],
    [Date, "now", now],
    [globalThis, "Date", dateAt(now)],
    [performance, "now", now],
    [process.hrtime, "bigint", nanos],
    [crypto, "randomUUID", () => uuid(random)],
    [
      crypto,
      "getRandomValues",
      (bytes: Uint8Array) => bytes.map((_, index, all) => (all[index] = random.below(256))),
    ],
    // Nobody reads the stacks of errors that are answers.
    [Error, "stackTraceLimit", 0],
    [globalThis, "setTimeout", leak("setTimeout")],
    [globalThis, "setInterval", leak("setInterval")],
    [globalThis, "setImmediate", leak("setImmediate")],
  ]
}

/** Tells the given time to whoever makes a date of now; every other date is what it was. */
const dateAt = (now: () => number): DateConstructor =>
  new Proxy(Date, {
    construct: (target, given: ReadonlyArray<unknown>, made) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, made) as Date,
    apply: (target) => new target(now()).toString(),
  })

/** Runs work with everything replaced. Synchronous: nothing else of the process runs meanwhile. */
export const withAmbient = <A>(options: AmbientOptions, work: () => A): A => {
  const saved = replacements(options).map(([owner, name, value]) => {
    const before = Object.getOwnPropertyDescriptor(owner, name)
    Object.defineProperty(owner, name, { value, configurable: true, writable: true })
    return () => {
      if (before === undefined) Reflect.deleteProperty(owner, name)
      else Object.defineProperty(owner, name, before)
    }
  })
  try {
    return work()
  } finally {
    for (const restore of saved) restore() // A3
  }
}
