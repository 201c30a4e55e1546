/** Random mutations of valid messages: of values, and of their text. Seeded, so that a failure can be seen again. */
import type { Random } from "../../../testing/Random.ts"

const deep = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const circle = (): unknown => {
  const value: Record<string, unknown> = {}
  value["self"] = value
  return value
}

const texts = [
  "",
  " ",
  "\0",
  "a\0b",
  "\uD800",
  "\uDC00\uD800",
  "é€😀",
  "../..",
  "shop-1/order-7",
  "__proto__",
  "constructor",
  "submit",
  "forgetThread",
  "1".repeat(200),
  "x".repeat(2_000_000),
  "\u2028\r\n",
  "' OR 1=1 --",
  "%00",
  "*",
]

/** What JSON can say. */
const plain: ReadonlyArray<() => unknown> = [
  ...texts.map((text) => () => text),
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER + 2,
  () => [],
  () => ({}),
  () => Array.from({ length: 2_000 }, () => null),
  () => Array.from({ length: 300 }, () => "order-7"),
  () => deep(80),
  () => deep(10_000),
  () => JSON.parse(`{"__proto__":{"ownerId":"bank"}}`) as unknown,
]

/** What a structured clone can carry besides, and what only code in the same isolate can. */
const strange: ReadonlyArray<() => unknown> = [
  () => undefined,
  () => Number.NaN,
  () => Number.NEGATIVE_INFINITY,
  () => 10n,
  () => new Date(0),
  () => new Map([["ownerId", "bank"]]),
  () => new Set([1]),
  () => new Uint8Array(8),
  () => /x/,
  () => new Error("secret"),
  () => () => "called",
  () => Symbol("s"),
  () => Object.create(null) as unknown,
  () => Array(5),
  circle,
  () => ({
    get ownerId(): string {
      throw new Error("secret")
    },
  }),
  () => ({ toString: () => "shop-1", toJSON: () => "shop-1" }),
]

type Container = Record<string, unknown>

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" && value !== null && !ArrayBuffer.isView(value)

/** The places in a value, as far down as valid messages go: a container and a key of it. */
const placesIn = (
  value: unknown,
  levels = 8,
): ReadonlyArray<readonly [container: Container, key: string]> =>
  isContainer(value) && levels > 0
    ? Object.entries(value).flatMap(([key, inner]) => [
        [value, key] as const,
        ...placesIn(inner, levels - 1),
      ])
    : []

const mutateAt = (random: Random, [container, key]: readonly [Container, string], odd: boolean) => {
  const weird = () => random.pick(odd ? [...plain, ...strange] : plain)()
  switch (random.between(0, 5)) {
    case 0:
      delete container[key]
      return
    case 1:
      container[random.pick(texts)] = container[key]
      return
    case 2:
      container[key] = [container[key], weird()]
      return
    case 3: {
      const text = container[key]
      container[key] = typeof text === "string" ? text + random.pick(texts) : weird()
      return
    }
    default:
      container[key] = weird()
  }
}

/** The message with one to three things changed in it. `odd` also makes it what JSON cannot say. */
export const mutated = (random: Random, message: unknown, odd: boolean): unknown => {
  const whole = { message: structuredClone(message) }
  const times = random.between(1, 3)
  for (let time = 0; time < times; time++) {
    const places = placesIn(whole).slice(0, 200)
    // Mostly inside: a message that is none is refused early.
    const inside = places.slice(1)
    const place = random.pick(inside.length > 0 && random.chance(0.97) ? inside : places)
    mutateAt(random, place, odd)
    if (!isSmall(whole) || whole.message === undefined) break
  }
  return whole.message
}

/** Whether it is still something to change: neither endless nor gone. */
const isSmall = (value: unknown): boolean => {
  try {
    return JSON.stringify(value).length < 100_000
  } catch {
    return false
  }
}

const bytes = [
  "\0",
  "\\u0000",
  "\\ud800",
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\n",
  "\\",
  "9",
  "e",
  "\u00ff",
]

/** The text with one to three pieces cut out, doubled, replaced or put in. */
export const garbled = (random: Random, text: string): string => {
  let garbling = text
  const times = random.between(1, 3)
  for (let time = 0; time < times; time++) {
    const at = random.between(0, Math.max(0, garbling.length - 1))
    const end = Math.min(garbling.length, at + random.between(1, 8))
    const [head, piece, tail] = [
      garbling.slice(0, at),
      garbling.slice(at, end),
      garbling.slice(end),
    ]
    switch (random.between(0, 4)) {
      case 0:
        garbling = head + tail
        break
      case 1:
        garbling = head + piece + piece + tail
        break
      case 2:
        garbling = head + random.pick(bytes) + tail
        break
      case 3:
        garbling = head + random.pick(bytes) + piece + tail
        break
      default:
        garbling = head
    }
  }
  return garbling
}
