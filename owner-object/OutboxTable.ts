/** Whose outbox is to be carried, and when: the questions that the index over `outbox_at` answers. */
import { outboxColumns } from "./Idle.ts"
import { outboxSince } from "./Tables.ts"
import { makeTicketIndex, type Tables } from "./TicketIndex.ts"

const outboxes = makeTicketIndex({ ...outboxColumns, since: outboxSince })

/** The smallest ticket of all outboxes; undefined without one. */
export const earliestOutbox = outboxes.earliest

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFutureOutbox = outboxes.nextFuture

/** The lanes whose outbox is due, by ticket: of those in backoff and of the others at most `limit` each. */
export const dueOutboxes = outboxes.due

/** How many lanes have an outbox that is due and no work that is, exact up to `limit`. */
export const countDueOutboxes = (
  tables: Tables,
  due: { readonly limit: number; readonly now: number },
): number => outboxes.countDue(tables, { ...due, unless: "work IS NOT NULL AND next_at < ?1" })
