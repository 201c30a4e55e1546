/** When an owner's lanes want something, whatever it is: a turn or a visit, their outbox carried, or records published. */
import { earliestTicket } from "./LaneTable.ts"
import { earliestOutbox } from "./OutboxTable.ts"
import { earliestPublication } from "./PublicationTable.ts"
import type { Tables } from "./TicketIndex.ts"

/** The smallest ticket of all; undefined where all lanes rest. `held` ones count or do not. */
export const lanesAt = (tables: Tables, held: boolean): number | undefined => {
  if (tables.version === 0) return undefined
  const tickets = [
    earliestTicket(tables.sql, held),
    earliestOutbox(tables),
    earliestPublication(tables),
  ].filter((ticket) => ticket !== undefined)
  return tickets.length === 0 ? undefined : Math.min(...tickets)
}
