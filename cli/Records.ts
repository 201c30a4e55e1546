/** Records of a journal at a terminal: as a table, and as lines that come one by one. */
import type { JournalRecord, ObserveFrame } from "../contracts/JournalRecord.ts"
import { jsonLine, plain, shortened } from "./Plain.ts"
import { listTable } from "./Table.ts"
import { isoOf } from "./Times.ts"

/** What the columns before a payload take at most, roughly. */
const columnsBefore = 110
const payloadCharactersMin = 24

const payloadRoom = (columns: number | undefined): number =>
  columns === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(columns - columnsBefore, payloadCharactersMin)

export const recordTable = (
  records: ReadonlyArray<JournalRecord>,
  columns: number | undefined,
): string =>
  listTable(
    ["seq", "recorded", "kind", "name", "submission", "payload"],
    records.map((record) => [
      record.sequence,
      isoOf(record.recordedAt),
      record.kind,
      record.name,
      record.submissionId,
      shortened(jsonLine(record.payload), payloadRoom(columns)),
    ]),
  )

const kindCharacters = 18

const recordLine = (record: JournalRecord, columns: number | undefined): string => {
  const head = [
    String(record.sequence).padStart(6),
    isoOf(record.recordedAt),
    record.kind.padEnd(kindCharacters),
    ...(record.name === undefined ? [] : [plain(record.name)]),
  ].join("  ")
  const room =
    columns === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(columns - head.length - 2, payloadCharactersMin)
  return `${head}  ${shortened(jsonLine(record.payload), room)}`
}

/** The lines of a frame, or none. `shown` is the submission whose records stand above. */
export const frameLines = (
  frame: ObserveFrame,
  shown: string | undefined,
  columns: number | undefined,
): ReadonlyArray<string> => {
  if (frame._tag !== "Record" && frame._tag !== "Emitted") return []
  const { submissionId } = frame._tag === "Record" ? frame.record : frame
  const heading = submissionId === shown ? [] : [`-- ${submissionId}`]
  const line =
    frame._tag === "Record"
      ? recordLine(frame.record, columns)
      : `${" ".repeat(6)}  ${shortened(jsonLine(frame.chunk), columns ?? Number.POSITIVE_INFINITY)}`
  return [...heading, line]
}
