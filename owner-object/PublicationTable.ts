/** Whose records are to be published, and when: the questions that the index over `publish_at` answers. */
import { publicationColumns } from "./Idle.ts"
import { publicationSince } from "./Tables.ts"
import { makeTicketIndex, type Tables } from "./TicketIndex.ts"

const publications = makeTicketIndex({ ...publicationColumns, since: publicationSince })

/** The smallest ticket of all publications; undefined without one. */
export const earliestPublication = publications.earliest

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFuturePublication = publications.nextFuture

/** The lanes whose records are due, by ticket: of those in backoff and of the others at most `limit` each. */
export const duePublications = publications.due

/** How many lanes have records that are due and neither work nor an outbox that is, exact up to `limit`. */
export const countDuePublications = (
  tables: Tables,
  due: { readonly limit: number; readonly now: number },
): number =>
  publications.countDue(tables, {
    ...due,
    unless: "work IS NOT NULL AND next_at < ?1 OR outbox_slow IS NOT NULL AND outbox_at < ?1",
  })
