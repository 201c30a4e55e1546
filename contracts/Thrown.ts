/**
 * What was thrown, as a log may have it: by its name and where it came from, never by its words.
 *
 * - T1 Whatever was thrown, looking at it throws nothing.
 * - T2 No message, property or stack is told: they quote inputs, results, SQL and secrets. A name is told where it looks
 *   like one, and a frame as function, file and line, past the message that stands before it.
 * - T3 It is bounded: a few reasons, causes and frames of bounded names.
 */
import { Cause } from "effect"

const reasonsMax = 3
const causesMax = 3
const framesMax = 4

const name = /^[A-Za-z_$][\w$./@-]{0,63}$/
/** What stands before the message. */
const heading = /^[\w$.[\] -]{0,128}(: )?$/
const frame =
  /^\s+at (?:(?:async )?(?:new )?([\w$.<>]{1,80})(?: \[as [\w$.<>]{1,80}\])? \()?([^()\s]{1,1024}):(\d{1,7}):\d{1,7}\)?$/

const read = (thrown: unknown, key: string): unknown =>
  (typeof thrown === "object" && thrown !== null) || typeof thrown === "function"
    ? (thrown as Record<string, unknown>)[key]
    : undefined

/** Its tag or name, if it looks like one; else what type of thing it is. // T2 */
const nameOf = (thrown: unknown): string => {
  const named = [read(thrown, "_tag"), read(thrown, "name")].find(
    (text) => typeof text === "string" && name.test(text),
  )
  return typeof named === "string" ? named : `a thrown ${typeof thrown}`
}

/** The name of what was thrown. // T1 */
export const nameThrown = (thrown: unknown): string => {
  try {
    return nameOf(thrown)
  } catch {
    return "unknown"
  }
}

const fileOf = (path: string): string | undefined => {
  if (path.startsWith("node:") || path.includes("/node_modules/")) return undefined
  const file = path.split("/").at(-1) ?? ""
  return name.test(file) ? file : undefined
}

const frameOf = (line: string): string | undefined => {
  const [, called, path = "", at] = frame.exec(line) ?? []
  const file = fileOf(path)
  if (file === undefined) return undefined
  return called === undefined ? `${file}:${at}` : `${called} (${file}:${at})`
}

/** The frames of our own and the application's code. None where the message cannot be told from them. // T2 */
const framesOf = (thrown: unknown): ReadonlyArray<string> => {
  const [stack, message] = [read(thrown, "stack"), read(thrown, "message")]
  if (typeof stack !== "string" || typeof message !== "string") return []
  const start = message === "" ? stack.search(/$/m) : stack.indexOf(message)
  if (start < 0 || !heading.test(stack.slice(0, start))) return []
  return stack
    .slice(start + message.length)
    .slice(0, 16_384)
    .split("\n")
    .flatMap((line) => frameOf(line) ?? [])
    .slice(0, framesMax) // T3
}

const told = (thrown: unknown, depth: number): string => {
  const frames = framesOf(thrown)
  const where = frames.length === 0 ? "" : ` at ${frames.join(", ")}`
  const cause = read(thrown, "cause")
  const because =
    cause === undefined || depth >= causesMax ? "" : ` because of ${told(cause, depth + 1)}`
  return `${nameOf(thrown)}${where}${because}`
}

const reasonsOf = (thrown: unknown): ReadonlyArray<unknown> =>
  Cause.isCause(thrown)
    ? thrown.reasons.map((reason) => {
        if (reason._tag === "Fail") return reason.error
        return reason._tag === "Die" ? reason.defect : { _tag: "Interrupt" }
      })
    : [thrown]

/** A thrown value, an error or a cause in words of ours. */
export const describeThrown = (thrown: unknown): string => {
  try {
    return reasonsOf(thrown)
      .slice(0, reasonsMax) // T3
      .map((reason) => told(reason, 1))
      .join("; ")
  } catch {
    return "what cannot be looked at" // T1
  }
}
