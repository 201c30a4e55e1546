/**
 * What no lane is known to have: kinds of work, and tickets beside it. A selection asks for many of them, and almost
 * always for nothing.
 *
 * - Y1 A look that found none notes it; a lane that is written with one takes the note away, in the same block.
 * - Y2 It belongs to a life, which a block that fails ends.
 */
import type { Lane } from "./Lane.ts"

/** The columns of the tickets beside work. */
export const outboxColumns = { at: "outbox_at", slow: "outbox_slow" } as const
export const publicationColumns = { at: "publish_at", slow: "publish_slow" } as const

/** Kinds of work, and columns of tickets. */
export type Idle = Set<string> // Y2

/** Takes away what this lane, as it is written now, has after all. // Y1 */
export const wakeFor = (idle: Idle, { outboxTicket, publishTicket, work }: Lane): void => {
  if (work !== undefined) idle.delete(work)
  if (outboxTicket !== undefined) idle.delete(outboxColumns.at)
  if (publishTicket !== undefined) idle.delete(publicationColumns.at)
}
