/** The tables whose rows are looked at when they are read. */
export type StoredTable =
  | "meta"
  | "submissions"
  | "journal"
  | "calls"
  | "parked"
  | "deferred"
  | "resubmissions"
  | "threadState"
  | "waits"
  | "children"
  | "outbox"
  | "schedules"
  | "joined"
  | "callbacks"
  | "cursors"

/** Thrown inside a read or a block: a stored row or record does not decode. Becomes `ThreadUnreadable`. */
export class Unreadable extends Error {
  /** The table: nothing of the content. */
  readonly what: StoredTable

  constructor(what: StoredTable) {
    super(`rows of ${what} do not decode`)
    this.what = what
  }
}

/** JSON that this thread has stored. */
export const parsed = (text: string, what: Unreadable["what"]): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Unreadable(what)
  }
}
