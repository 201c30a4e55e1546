/** The outbox of a fake thread: entries in memory, with a backoff for each target, as the thread promises. */
import type {
  MessageId,
  OwnerId,
  Principal,
  SubmissionId,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import { type AgentId, MessageId as Id, StepName } from "../../../contracts/Identifiers.ts"
import type { OutboxEntry, OutboxResult } from "../../../contracts/Outbox.ts"
import { sha256 } from "../../../platform/Digest.ts"

type Entry = Exclude<OutboxEntry, { readonly _tag: "Unrecognized" }>

export const submissionOf = (n: number): SubmissionId =>
  `01890000-0000-7000-8000-${String(n).padStart(12, "0")}` as SubmissionId

export const idOf = (name: string): MessageId => Id.make(sha256(name).slice(0, 32))

const ownerOf = (entry: Entry): string => (entry._tag === "Message" ? entry.ownerId : "own")
const targetOf = (entry: Entry): string => `${ownerOf(entry)}/${entry.threadId}`

/** A message to a thread; its input is its name. */
export const messageTo = (
  to: { readonly ownerId: OwnerId; readonly threadId: string },
  name: string,
): Entry => ({
  _tag: "Message",
  id: idOf(`${to.ownerId} ${to.threadId} ${name}`),
  ownerId: to.ownerId,
  threadId: to.threadId as ThreadId,
  agent: "agent" as AgentId,
  input: name,
  principal: "ann" as Principal,
  from: {
    ownerId: "somebody-else" as OwnerId,
    threadId: "elsewhere" as ThreadId,
    submissionId: submissionOf(1),
  },
})

export const childOf = (threadId: string, name: string): Entry => ({
  _tag: "Child",
  id: idOf(name),
  threadId: threadId as ThreadId,
  agent: "agent" as AgentId,
  input: name,
  principal: "ann" as Principal,
  parent: {
    threadId: "elsewhere" as ThreadId,
    submissionId: submissionOf(1),
    name: StepName.make(name),
    depth: 1,
  },
})

export const noticeTo = (threadId: string, name: string): Entry => ({
  _tag: "ChildNotice",
  id: idOf(name),
  threadId: threadId as ThreadId,
  submissionId: submissionOf(1),
  name: StepName.make(name),
  childId: idOf(`child ${name}`),
  settlement: {
    submissionId: submissionOf(2),
    sequence: 1,
    outcome: "completed",
    output: null,
    settledAt: 7,
    attempts: 1,
  },
})

export const abortOf = (threadId: string, name: string): Entry => ({
  _tag: "ChildAbort",
  id: idOf(name),
  threadId: threadId as ThreadId,
  childId: idOf(`child ${name}`),
  author: "ann",
  reason: "no longer wanted",
  principal: "ann" as Principal,
})

export class FakeOutbox {
  entries: Array<Entry> = []
  /** `empty`: gives nothing although something is due. */
  way: "answer" | "hang" | "fail" | "empty" | "unknown" | "idle" = "answer"
  claims = 0
  readonly acknowledgements: Array<ReadonlyArray<OutboxResult>> = []
  readonly refused: Array<string> = []
  /** How long a target is put off that was delayed, doubling. */
  backoffMillis = 5
  backoffMaxMillis = 20
  readonly #tries = new Map<string, number>()
  readonly #until = new Map<string, number>()

  /** When the first entry wants delivery. */
  at(): number | undefined {
    const times = this.entries.map((entry) => this.#until.get(targetOf(entry)) ?? 0)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  claim(limit: number, now: number): ReadonlyArray<OutboxEntry> {
    this.claims += 1
    if (this.way === "empty") return []
    if (this.way === "unknown") return [{ _tag: "Carrier pigeon" } as never]
    return this.entries
      .filter((entry) => (this.#until.get(targetOf(entry)) ?? 0) <= now)
      .slice(0, limit)
  }

  /** Takes results in. Tells whether they changed anything. */
  acknowledge(results: ReadonlyArray<OutboxResult>, now: number): boolean {
    this.acknowledgements.push(results)
    if (this.way === "idle") return false
    let changed = false
    for (const { id, result } of results) {
      const entry = this.entries.find((one) => one.id === id)
      if (entry === undefined) continue
      changed = true
      const target = targetOf(entry)
      if (result._tag === "Delayed") {
        const tries = (this.#tries.get(target) ?? 0) + 1
        this.#tries.set(target, tries)
        const wait = Math.min(this.backoffMaxMillis, this.backoffMillis * 2 ** (tries - 1))
        this.#until.set(target, now + wait)
        continue
      }
      if (result._tag === "Refused") this.refused.push(result.tag)
      this.entries = this.entries.filter((one) => one !== entry)
      this.#tries.delete(target)
      this.#until.delete(target)
    }
    return changed
  }
}
