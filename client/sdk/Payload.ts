/**
 * What a call sends: its payload as plain JSON, with the keys of its intents.
 *
 * - P1 What crosses is the same over both transports: what `JSON.stringify` would write.
 * - P2 What JSON cannot say is refused before anything is sent, never written as another value.
 * - P3 A key is made once per intent, before the first try.
 */

/** A value that JSON cannot say: where, and why. */
export class NotJson {
  readonly path: string
  readonly reason: string

  constructor(path: string, reason: string) {
    this.path = path
    this.reason = reason
  }
}

/** Deeper than any deployment takes, and shallow enough for every stack. */
const nestingMax = 1_000
const pathCharacters = 256

const refuse = (path: string, reason: string): never => {
  throw new NotJson(path.slice(0, pathCharacters), reason) // P2
}

const toJson = (value: unknown): unknown =>
  typeof value === "object" &&
  value !== null &&
  "toJSON" in value &&
  typeof value.toJSON === "function"
    ? (value.toJSON as () => unknown)()
    : value

const boxes: ReadonlySet<string> = new Set(
  ["Number", "String", "Boolean", "BigInt"].map((name) => `[object ${name}]`),
)

/** What `JSON.stringify` writes of an object that stands for a number, a text or a truth. // P1 */
const unboxed = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  const inner: unknown = boxes.has(Object.prototype.toString.call(value)) ? value.valueOf() : value
  return typeof inner === "object" ? value : inner
}

const plainArray = (items: ReadonlyArray<unknown>, path: string, depth: number) =>
  // A hole is undefined, too.
  Array.from(items, (item, index) => plain(item, `${path}[${index}]`, depth))

const plainObject = (value: object, path: string, depth: number) => {
  const entries = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(
      ([key, field]) => [key, plain(field, path === "" ? key : `${path}.${key}`, depth)] as const,
    )
  return Object.fromEntries(entries)
}

const plain = (given: unknown, path: string, depth: number): unknown => {
  if (depth > nestingMax) return refuse(path, "It is nested too deep, or contains itself")
  const value = unboxed(toJson(given))
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : refuse(path, "JSON has no such number")
    case "object":
      if (value === null) return null
      return Array.isArray(value)
        ? plainArray(value, path, depth + 1)
        : plainObject(value, path, depth + 1)
    default:
      return refuse(path, `JSON cannot say what is ${typeof value}`)
  }
}

/** The value as JSON has it. Throws `NotJson`. */
export const plainJson = (value: unknown): unknown => {
  try {
    return plain(value, "", 0) // P1
  } catch (error) {
    if (error instanceof NotJson) throw error
    throw new NotJson("", "It cannot be read")
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Puts a new key at the end of each way, where there is none: `submissions`, `[]`, `idempotencyKey`. */
const fill = (value: unknown, way: ReadonlyArray<string>): unknown => {
  const [step, ...rest] = way
  if (step === undefined) return value
  if (step === "[]") return Array.isArray(value) ? value.map((item) => fill(item, rest)) : value
  if (!isObject(value)) return value
  if (rest.length === 0) return { [step]: crypto.randomUUID(), ...value } // P3
  return { ...value, [step]: fill(value[step], rest) }
}

/** The payload as it is sent, at every try alike. Throws `NotJson`. */
export const payloadOf = (
  given: unknown,
  keys: ReadonlyArray<ReadonlyArray<string>> = [],
): unknown => keys.reduce(fill, plainJson(given))
