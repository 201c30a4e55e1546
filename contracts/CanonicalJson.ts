/**
 * The one text of a JSON value (RFC 8785): what is stored, measured and digested.
 *
 * Invariants
 * - J1 Equal values have equal text: keys in order of their UTF-16 units, numbers in shortest form.
 * - J2 What cannot be stored as given is refused with its place, never repaired: NUL, lone surrogates
 *   (in keys too), numbers that are not finite, values that JSON cannot say.
 * - J3 The work is bounded by the limits, also for values that share or contain themselves.
 * - J4 Nothing is thrown: a value whose own code throws (a getter, a proxy) is refused like the rest.
 */
import { Result } from "effect"
import { AdmissionLimitExceeded, InvalidInput } from "./Errors.ts"

export interface CanonicalJsonLimits {
  /** UTF-8 bytes of the text. */
  readonly maxBytes: number
  /** Arrays and objects inside each other; a scalar has none. */
  readonly maxNesting: number
  /** The field of `Limits` that `AdmissionLimitExceeded` names. Default `inputBytes`. */
  readonly limitName?: string
}

export interface CanonicalText {
  readonly text: string
  /** Length of `text` in UTF-8. */
  readonly bytes: number
}

type Refusal = InvalidInput | AdmissionLimitExceeded

/** The way to the value in hand; joined only when it must be told. */
type Path = { readonly parent: Path; readonly key: string | number } | undefined

interface Writer {
  readonly limits: CanonicalJsonLimits
  text: string
  refusal: Refusal | undefined
  /** Where the work is. */
  at: Path
}

const encoder = new TextEncoder()

const pathText = (path: Path): string => {
  let text = ""
  for (let at = path; at !== undefined; at = at.parent)
    text = (typeof at.key === "number" ? `[${at.key}]` : `.${at.key}`) + text
  // A key may hold the very hazard that is being reported.
  return text
    .replace(/^\./, "")
    .slice(0, 256)
    .replaceAll(/\p{Cc}/gu, "\ufffd")
    .toWellFormed()
}

const invalid = (writer: Writer, path: Path, reason: string): false => {
  writer.refusal = new InvalidInput({ path: pathText(path), reason }) // J2
  return false
}

/** Appends; the UTF-16 length never exceeds the UTF-8 length, so it may end the work early. */
const append = (writer: Writer, text: string): boolean => {
  writer.text += text
  if (writer.text.length <= writer.limits.maxBytes) return true
  writer.refusal = tooLarge(writer.limits, writer.text.length) // J3
  return false
}

const tooLarge = (limits: CanonicalJsonLimits, actual: number): AdmissionLimitExceeded =>
  new AdmissionLimitExceeded({
    limit: limits.limitName ?? "inputBytes",
    actual,
    maximum: limits.maxBytes,
  })

const writeText = (writer: Writer, value: string, path: Path, what: string): boolean => {
  if (value.includes("\0")) return invalid(writer, path, `${what} contains NUL`)
  if (!value.isWellFormed()) return invalid(writer, path, `${what} contains a lone surrogate`)
  return append(writer, JSON.stringify(value))
}

const writeArray = (
  writer: Writer,
  value: ReadonlyArray<unknown>,
  path: Path,
  depth: number,
): boolean => {
  if (!append(writer, "[")) return false
  for (let index = 0; index < value.length; index++) {
    if (index > 0 && !append(writer, ",")) return false
    if (!write(writer, value[index], { parent: path, key: index }, depth)) return false
  }
  return append(writer, "]")
}

/** A property whose value is `undefined` is absent, as `JSON.stringify` has it. */
const writeObject = (writer: Writer, value: object, path: Path, depth: number): boolean => {
  if (!append(writer, "{")) return false
  let first = true
  for (const key of Object.keys(value).sort()) {
    const here = { parent: path, key }
    writer.at = here
    const member = (value as Record<string, unknown>)[key]
    if (member === undefined) continue
    if (!first && !append(writer, ",")) return false
    first = false
    if (!writeText(writer, key, here, "a key") || !append(writer, ":")) return false
    if (!write(writer, member, here, depth)) return false
  }
  return append(writer, "}")
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Realm-independent: `Object.prototype` is the prototype without a prototype.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const write = (writer: Writer, value: unknown, path: Path, depth: number): boolean => {
  writer.at = path
  switch (typeof value) {
    case "string":
      return writeText(writer, value, path, "the text")
    case "number":
      return Number.isFinite(value)
        ? append(writer, JSON.stringify(value)) // J1
        : invalid(writer, path, "the number is not finite")
    case "boolean":
      return append(writer, String(value))
    case "object": {
      if (value === null) return append(writer, "null")
      if (depth >= writer.limits.maxNesting)
        return invalid(writer, path, `nested deeper than ${writer.limits.maxNesting}`) // J3
      if (Array.isArray(value)) return writeArray(writer, value, path, depth + 1)
      if (isPlain(value)) return writeObject(writer, value, path, depth + 1)
      return invalid(writer, path, "not a plain JSON value")
    }
    default:
      return invalid(writer, path, "not a plain JSON value")
  }
}

/**
 * The canonical text of a value, or why it cannot be stored. `actual` of `AdmissionLimitExceeded`
 * is where the work stopped: at least so many bytes. Pure.
 */
export const canonicalJson = (
  value: unknown,
  limits: CanonicalJsonLimits,
): Result.Result<CanonicalText, Refusal> => {
  const writer: Writer = { limits, text: "", refusal: undefined, at: undefined }
  try {
    write(writer, value, undefined, 0)
  } catch {
    invalid(writer, writer.at, "cannot be read") // J4
  }
  if (writer.refusal !== undefined) return Result.fail(writer.refusal)
  const bytes = encoder.encode(writer.text).length
  if (bytes > limits.maxBytes) return Result.fail(tooLarge(limits, bytes))
  return Result.succeed({ text: writer.text, bytes })
}
