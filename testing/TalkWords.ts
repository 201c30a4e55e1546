/** What waits and talks, in words. */
import type { OneOp, Op, Script, TalkOp } from "./Script.ts"

const within = (millis: number | undefined): string =>
  millis === undefined ? "" : ` within ${millis} ms`

const all = (script: Script, words: (op: Op) => string): string =>
  `[${script.ops.map(words).join("; ")}]${script.ends === "well" ? "" : ` that ${script.ends}`}`

export const talkWords = (op: TalkOp, words: (op: Op | OneOp) => string): string => {
  switch (op._tag) {
    case "Approval":
      return `ask for ${op.name}${within(op.expiresMillis)}`
    case "Sleep":
      return `sleep ${op.name} for ${op.millis} ms`
    case "Await":
      return `wait for ${op.name}${within(op.timeoutMillis)}${op.callback === true ? ", with a token" : ""}`
    case "Take":
      return `take at most ${op.max} inputs as ${op.name}`
    case "Deep":
      return `child ${op.name} with ${op.left} more levels`
    case "Hop":
      return `message ${op.name} to the next thread and ${op.left} more`
    case "Race":
      return `race ${op.name} [${op.branches.map(words).join("; ")}]`
    case "Child":
      return `${op.detached ? "detached " : ""}child ${op.name} of ${op.agent} ${all(op.script, words)}`
    case "Send":
      return `send ${op.name} to thread ${op.thread} for ${op.agent}${op.joins ? ", to join" : ""} ${all(op.script, words)}`
  }
}
