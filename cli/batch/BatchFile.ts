/**
 * A batch: a file of JSON lines, each one input to submit.
 *
 * - B1 All of it is checked before any of it is sent: one bad line, and nothing has happened yet.
 * - B2 Its digest covers all that decides what is submitted: the text and the defaults for its lines.
 */
import { createHash } from "node:crypto"
import { Effect, Result, Schema } from "effect"
import type { OwnerId } from "../../contracts/Identifiers.ts"
import { ThreadSubmission } from "../../contracts/Submission.ts"
import { parseJson, unsendable } from "../JsonText.ts"
import { plain } from "../Plain.ts"
import { attempt } from "../Session.ts"
import { type Stopped, usage } from "../Stopped.ts"
import { nameOf, readText, type TextOptions } from "../TextFile.ts"
import { momentOf } from "../Times.ts"

/** A line as it is sent, but for the key where the line has none. */
export type LineSubmission = Omit<ThreadSubmission, "idempotencyKey"> & {
  readonly idempotencyKey?: ThreadSubmission["idempotencyKey"]
}

export interface BatchLine {
  /** From 1, as an editor counts. */
  readonly line: number
  readonly submission: LineSubmission
  readonly bytes: number
}

export interface Batch {
  readonly name: string
  readonly digest: string
  readonly lines: ReadonlyArray<BatchLine>
}

/** For lines that do not say it themselves. */
export interface LineDefaults {
  readonly threadId?: string
  readonly agent?: string
}

const batchText: TextOptions = {
  bytesMax: 256 * 1024 * 1024,
  tooLarge: "Split it: split -l 100000 FILE.",
}
const problemsShown = 10

const decodeLine = Schema.decodeUnknownResult(
  Schema.Struct({
    ...ThreadSubmission.fields,
    idempotencyKey: Schema.optionalKey(ThreadSubmission.fields.idempotencyKey),
  }),
  { onExcessProperty: "error" },
)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Moments are taken as people write them, too. */
const withMoment = (fields: Record<string, unknown>): Record<string, unknown> => {
  const { notBefore } = fields
  if (typeof notBefore !== "string") return fields
  return { ...fields, notBefore: momentOf(notBefore) }
}

const oneLine = (text: string): string => plain(text.replaceAll(/\s*\n\s*/g, " "))

const readLine = (
  text: string,
  ownerId: OwnerId,
  defaults: LineDefaults,
):
  | { readonly submission: LineSubmission }
  | { readonly problem: string; readonly column?: number } => {
  const json = parseJson(text)
  if (json._tag === "NotJson") {
    return { problem: `not JSON: ${json.problem.reason}`, column: json.problem.column }
  }
  if (!isRecord(json.value)) return { problem: "not an object" }
  const why = unsendable(json.value)
  if (why !== undefined) return { problem: why }
  const { ownerId: named = ownerId, ...rest } = json.value
  if (named !== ownerId) return { problem: `it is for another owner than ${ownerId}` }
  try {
    const decoded = decodeLine(withMoment({ ...defaults, ...rest }))
    return Result.isSuccess(decoded)
      ? { submission: decoded.success }
      : { problem: oneLine(decoded.failure.message) }
  } catch (error) {
    return { problem: `notBefore is not ${error instanceof Error ? error.message : "a moment"}` }
  }
}

/** Reads the text of a batch. Blank lines are passed over. Throws a `Stopped`. */
export const parseBatch = (options: {
  readonly name: string
  readonly text: string
  readonly ownerId: OwnerId
  readonly defaults: LineDefaults
}): Batch => {
  const { defaults, name, ownerId, text } = options
  const lines: Array<BatchLine> = []
  const problems: Array<string> = []
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .entries()) {
    if (raw.trim() === "") continue
    const line = index + 1
    const read = readLine(raw, ownerId, defaults)
    if ("submission" in read) {
      lines.push({ line, submission: read.submission, bytes: Buffer.byteLength(raw) })
    } else {
      problems.push(`${name}:${line}:${read.column ?? 1}: ${read.problem}`)
    }
  }
  if (problems.length > 0) {
    const more = problems.length - problemsShown
    throw usage(
      [...problems.slice(0, problemsShown), ...(more > 0 ? [`… and ${more} more`] : [])].join("\n"),
      'Nothing was sent. A line is such as {"threadId":"order-12","agent":"refund","input":{}}.',
    ) // B1
  }
  if (lines.length === 0) throw usage(`${name} has no lines`)
  const digest = createHash("sha256")
    .update(JSON.stringify([ownerId, defaults]))
    .update(text)
    .digest("hex") // B2
  return { name, digest, lines }
}

/** Reads a batch; `-` is standard input. */
export const readBatch = (path: string, ownerId: OwnerId, defaults: LineDefaults) =>
  Effect.gen(function* () {
    const text = yield* Effect.tryPromise({
      try: () => readText(path, batchText),
      catch: (error) => error as Stopped,
    })
    return yield* attempt(() => parseBatch({ name: nameOf(path), text, ownerId, defaults }))
  })
