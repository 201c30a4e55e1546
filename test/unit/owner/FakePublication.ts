/** What a fake thread publishes: records in memory and a cursor, as the thread promises. */
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { FullRecord, HeddleSink, PublishedBatch } from "../../../contracts/Publication.ts"

export class FakePublication {
  /** Whether the thread's deployment publishes. */
  isOn = false
  readonly records: Array<FullRecord> = []
  published = 0
  claims = 0
  /** `idle`: takes the word and changes nothing; `empty`: gives nothing although something is due. */
  way: "answer" | "hang" | "idle" | "empty" = "answer"

  get owes(): boolean {
    return this.isOn && this.published < this.records.length
  }

  record(submissionId: SubmissionId, kind: string): void {
    const sequence = this.records.length + 1
    this.records.push({ sequence, submissionId, kind, epoch: 1, recordedAt: 7, payload: null })
  }

  claim(limit: number): ReadonlyArray<FullRecord> {
    this.claims += 1
    return this.way === "empty" ? [] : this.records.slice(this.published, this.published + limit)
  }

  /** Whether the word moved the cursor. */
  acknowledge(through: number): boolean {
    if (this.way === "idle" || through <= this.published) return false
    this.published = through
    return true
  }

  /** A report as it is while the sink lacks records. */
  told(report: LaneReport): LaneReport {
    if (!this.owes) return report
    const { dueAt: _d, ...rest } = report
    const waits =
      report.head === undefined || report.dueAt === undefined
        ? report.waits
        : [
            { submissionId: report.head.submissionId, blocker: "publication" as const, sinceAt: 7 },
            ...report.waits,
          ]
    return { ...rest, publishAt: 0, waits }
  }
}

/** A sink that keeps what it was given, and does with each batch what a test says. */
export const makeSink = () => {
  const batches: Array<PublishedBatch> = []
  const taken = {
    batches,
    /** Resolves for a batch that is taken. */
    take: (_batch: PublishedBatch): Promise<unknown> => Promise.resolve(),
    sequencesOf: (threadId: string) =>
      batches
        .filter((batch) => batch.threadId === threadId)
        .flatMap(({ records }) => records.map(({ sequence }) => sequence)),
  }
  const sink: HeddleSink = {
    publish: async (batch) => {
      await taken.take(batch)
      batches.push(batch)
    },
  }
  return { ...taken, sink, setTake: (take: typeof taken.take) => void (taken.take = take) }
}
