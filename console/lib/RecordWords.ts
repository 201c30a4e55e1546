/**
 * What a record says, in a line. Pure.
 *
 * - D1 Payloads are the application's: whatever is in one, or is not, there is a line.
 */
import type { JournalRecord } from "../../client/sdk/index.ts"
import { clip, previewOf, stampOf } from "./Format.ts"

type Fields = Readonly<Record<string, unknown>>

/** The payload's fields; none where it is no object. */
export const fieldsOf = ({ payload }: JournalRecord): Fields =>
  typeof payload === "object" && payload !== null && !Array.isArray(payload)
    ? (payload as Fields)
    : {}

const textOf = (value: unknown): string => (typeof value === "string" ? value : previewOf(value))

const authorOf = (fields: Fields): string => {
  const by = fields["by"]
  const named = typeof by === "object" && by !== null ? (by as Fields) : fields
  const { author, reason } = named
  if (typeof author !== "string") return ""
  return typeof reason === "string" && reason !== "" ? `${author}: “${reason}”` : author
}

const timeOf = (value: unknown): string => (typeof value === "number" ? stampOf(value) : "")

/** The names of kinds for people. */
const titles: Readonly<Record<string, string>> = {
  InputApplied: "Input",
  StepCompleted: "Step",
  StepFailed: "Step failed",
  ToolPrepared: "Tool call",
  ToolSettled: "Tool answered",
  ToolUnknown: "Outcome unknown",
  ToolResolved: "Outcome decided",
  ApprovalRequested: "Approval",
  ApprovalDecided: "Decision",
  SignalAwaited: "Signal awaited",
  SignalReceived: "Signal",
  TimerSet: "Timer",
  TimerFired: "Timer fired",
  WaitWithdrawn: "Wait withdrawn",
  ChildRequested: "Child",
  ChildSettled: "Child settled",
  MessageQueued: "Message",
  InputsTaken: "Inputs taken",
  StateRead: "State read",
  StateChanged: "State changed",
  VersionChosen: "Version",
  ValueDrawn: "Value drawn",
  Progress: "Progress",
  AttemptInterrupted: "Attempt lost",
  AbortRequested: "Abort asked for",
  Recovered: "Recovered",
  Resubmitted: "Resubmitted",
  ResultReached: "Result reached",
  Settled: "Settled",
}

export const titleOfKind = (kind: string): string => titles[kind] ?? kind

const settledWords = (fields: Fields): string => {
  const { abort, failure, outcome, output } = fields
  if (typeof failure === "object" && failure !== null) {
    const { error, message, tag } = failure as Fields
    const why = message === "" || message === undefined ? previewOf(error) : textOf(message)
    return why === "" ? textOf(tag) : `${textOf(tag)}: ${why}`
  }
  if (typeof abort === "object" && abort !== null) return authorOf(abort as Fields)
  return output === undefined ? textOf(outcome) : previewOf(output)
}

const decided = (fields: Fields): string => {
  const word = fields["approved"] === true ? "approved" : "denied"
  const who = authorOf(fields)
  return who === "" ? word : `${word} by ${who}`
}

/** By kind; the others show their payload. */
const lines: Readonly<Record<string, (fields: Fields) => string>> = {
  InputApplied: ({ input, agent }) => previewOf(input ?? agent),
  StepCompleted: ({ result }) => previewOf(result),
  StepFailed: (fields) =>
    typeof fields["timeoutMillis"] === "number"
      ? `took longer than ${fields["timeoutMillis"]} ms`
      : previewOf(fields["message"] ?? fields),
  ToolPrepared: ({ request, tool }) =>
    request === undefined ? textOf(tool) : `${textOf(tool)} ${previewOf(request)}`,
  ToolSettled: (fields) => previewOf(fields["result"] ?? fields["message"] ?? fields["tag"]),
  ToolUnknown: ({ tool, why }) => `${textOf(tool)} may have happened (${textOf(why)})`,
  ToolResolved: (fields) => {
    const who = authorOf(fields)
    return who === "" ? textOf(fields["resolution"]) : `${textOf(fields["resolution"])}, ${who}`
  },
  ChildRequested: ({ agent, input }) =>
    input === undefined ? textOf(agent) : `${textOf(agent)} ${previewOf(input)}`,
  ChildSettled: settledWords,
  ApprovalRequested: ({ summary }) => textOf(summary),
  ApprovalDecided: decided,
  AbortRequested: authorOf,
  SignalReceived: (fields) => previewOf(fields["payload"] ?? fields),
  TimerSet: (fields) => {
    const at = timeOf(fields["dueAt"] ?? fields["at"])
    return at === "" ? previewOf(fields) : `until ${at}`
  },
  Progress: (fields) => previewOf(fields["data"] ?? fields),
  StateChanged: (fields) => previewOf(fields["value"] ?? fields),
  ValueDrawn: (fields) => previewOf(fields["value"] ?? fields),
  Settled: settledWords,
}

const lineCharacters = 240

/** What the record says, in one line. // D1 */
export const lineOf = (record: JournalRecord): string => {
  if (record.pruned === true) return "was pruned"
  const fields = fieldsOf(record)
  const line = lines[record.kind]
  if (line !== undefined) return clip(line(fields), lineCharacters)
  return Object.keys(fields).length === 0 ? "" : previewOf(record.payload)
}
