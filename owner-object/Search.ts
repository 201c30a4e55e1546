/**
 * `search`: full text over titles and outcomes, from the index alone.
 *
 * Invariants
 * - K1 What a person types is words, never syntax: each is quoted before the index is asked.
 * - K2 A page goes on behind the last hit of the one before; an index that was built anew since is said so.
 * - K3 An index that fails tells nothing, and is built anew; nobody else is touched.
 */
import { Effect } from "effect"
import { InvalidInput } from "../contracts/Errors.ts"
import type { SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { SearchHit, SearchPage } from "../contracts/Search.ts"
import type { Outcome } from "../contracts/Submission.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import { type Sql, StorageFailure } from "../platform/ObjectStorage.ts"
import type { Life } from "./Life.ts"
import { failed } from "./Projected.ts"
import { isBuilt, isUsable } from "./Projections.ts"

export interface SearchQuery {
  readonly query: string
  readonly after?: string
  readonly limit?: number
}

const invalid = (path: string, reason: string) => Effect.fail(new InvalidInput({ path, reason }))

/** More words than these are no search. */
const termsMax = 32

const quoted = (words: string): string => `"${words.replaceAll('"', '""')}"`

/** What can be found at all: letters and digits, as the index takes texts apart. */
const isFindable = (words: string): boolean => /[\p{L}\p{N}\p{Co}]/u.test(words)

/**
 * What the index is asked for; undefined where nothing can be found by it. Each run of text without space is one
 * term, and so is what stands between two double quotes; the last term may go on. Pure. // K1
 */
export const expressionOf = (query: string): string | undefined => {
  const terms: Array<string> = []
  let last = ""
  query
    .replaceAll("\0", " ")
    .split('"')
    .forEach((text, index, all) => {
      const isPhrase = index % 2 === 1 && index < all.length - 1
      for (const words of isPhrase ? [text] : text.split(/\s+/u)) {
        if (!isFindable(words)) continue
        terms.push(quoted(words))
        last = isPhrase || index < all.length - 1 ? "" : "*"
      }
    })
  if (terms.length === 0 || terms.length > termsMax) return undefined
  return `${terms.join(" ")}${last}`
}

/** The hit behind which a page goes on, and of which index. */
const placeOf = (cursor: string) => {
  const [, built, id] = /^(\d{1,15})\.(\d{1,15})$/u.exec(cursor) ?? []
  return built === undefined || id === undefined
    ? undefined
    : { built: Number(built), id: Number(id) }
}

/** Refuses what cannot be searched for, and a cursor of an index that is no more. // K2 */
export const checkSearch = (
  { maintenance }: Life,
  { after, query }: SearchQuery,
): Effect.Effect<void, InvalidInput> => {
  if (expressionOf(query) === undefined)
    return invalid("query", `it needs one word of letters or digits, and at most ${termsMax}`)
  if (after === undefined) return Effect.void
  const place = placeOf(after)
  if (place === undefined) return invalid("after", "it is not the `next` of a search")
  return place.built === maintenance.projections.built
    ? Effect.void
    : invalid("after", "the index was built anew since: search again from the beginning")
}

interface StoredHit {
  readonly [column: string]: string | number | null
  readonly id: number
  readonly thread_id: string
  readonly submission_id: string | null
  readonly outcome: string | null
  readonly at: number | null
  readonly title: string | null
  readonly snippet: string
}

const hitOf = (row: StoredHit): SearchHit => ({
  threadId: row.thread_id as ThreadId,
  ...(row.submission_id === null ? {} : { submissionId: row.submission_id as SubmissionId }),
  ...(row.title === null ? {} : { title: row.title }),
  ...(row.outcome === null ? {} : { outcome: row.outcome as Outcome }),
  snippet: row.snippet,
  ...(row.at === null ? {} : { at: row.at }),
})

const find = (sql: Sql, expression: string, below: number, limit: number) =>
  sql.all<StoredHit>(
    `SELECT e.id, e.thread_id, e.submission_id, e.outcome, e.at, d.title, f.snippet FROM
      (SELECT rowid AS id, snippet(search_text, 0, '[', ']', '…', 24) AS snippet FROM search_text
       WHERE search_text MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT +?) f
     JOIN search_entries e ON e.id = f.id JOIN directory d ON d.thread_id = e.thread_id
     ORDER BY e.id DESC`,
    expression,
    below,
    limit,
  )

/** Whether outcomes are still to be read from their threads. */
const hasUnread = (sql: Sql): boolean =>
  sql.all("SELECT 1 FROM directory WHERE unread_at IS NOT NULL LIMIT 1").length > 0

const behind = { behind: true } as const

/** A page of hits; at most `pageHits`. The query has been checked. */
export const search = (
  host: ObjectHost,
  life: Life,
  limits: Limits,
  { after, limit: asked, query }: SearchQuery,
): SearchPage => {
  if (life.version === 0) return { hits: [] }
  const { projections } = life.maintenance
  if (!isUsable(projections, life.projecting)) return { hits: [], ...behind }
  const limit = Math.max(1, Math.min(asked ?? limits.pageHits, limits.pageHits))
  const below = (after === undefined ? undefined : placeOf(after)?.id) ?? Number.MAX_SAFE_INTEGER
  const { sql } = host.storage
  try {
    const rows = find(sql, expressionOf(query) ?? '""', below, limit + 1)
    const hits = rows.slice(0, limit)
    const last = rows.length > limit ? hits.at(-1) : undefined
    return {
      hits: hits.map(hitOf),
      ...(last === undefined ? {} : { next: `${projections.built}.${last.id}` }),
      ...(isBuilt(projections, life.projecting) && !hasUnread(sql) ? {} : behind),
    }
  } catch (cause) {
    if (!(cause instanceof StorageFailure)) throw cause
    failed(life, cause, { limits, now: host.now() })
    return { hits: [], ...behind } // K3
  }
}
