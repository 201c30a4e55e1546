/**
 * What will be submitted: one thread for each document, one submission for each of its revisions,
 * every one with the idempotency key that all of its tries share.
 */
import { createHash } from "node:crypto"
import { Result } from "effect"
import { IdempotencyKey, ThreadId } from "../../contracts/Identifiers.ts"
import { documentOf, type DemoDocument } from "./Documents.ts"
import { revisionsOf } from "./Revisions.ts"

export interface PlannedSubmission {
  /** Counts from 1. It is also the sequence that the thread must give. */
  readonly revision: number
  readonly idempotencyKey: IdempotencyKey
  readonly input: { readonly name: string; readonly text: string }
}

export interface PlannedThread {
  readonly threadId: ThreadId
  readonly name: string
  readonly submissions: ReadonlyArray<PlannedSubmission>
}

/** Every so many documents, the first included, one is submitted in three revisions. */
const revisedEvery = 4

const slugCharactersMax = 100

/**
 * The thread of a document: its path in safe characters, and a hash that tells two paths apart whose
 * safe characters are the same.
 */
export const threadIdOf = (path: string): ThreadId => {
  const slug = path.replace(/[^A-Za-z0-9._-]+/g, "-").slice(-slugCharactersMax)
  return ThreadId.make(`${slug}:${createHash("sha256").update(path).digest("hex").slice(0, 12)}`)
}

/** An edit may push a document over a limit; then its revisions end before it. */
const fits = (name: string, text: string): boolean =>
  Result.isSuccess(documentOf(name, new TextEncoder().encode(text)))

const planThread = (document: DemoDocument, index: number): PlannedThread => {
  const threadId = threadIdOf(document.name)
  const texts = index % revisedEvery === 0 ? revisionsOf(document) : [document.text]
  const unfit = texts.findIndex((text) => !fits(document.name, text))
  return {
    threadId,
    name: document.name,
    submissions: texts.slice(0, unfit < 0 ? texts.length : unfit).map((text, before) => ({
      revision: before + 1,
      idempotencyKey: IdempotencyKey.make(`demo:${threadId}:${before + 1}`),
      input: { name: document.name, text },
    })),
  }
}

/** The plan for these documents, in their order. */
export const planOf = (documents: ReadonlyArray<DemoDocument>): ReadonlyArray<PlannedThread> =>
  documents.map(planThread)
