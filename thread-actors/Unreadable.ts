/** Thrown inside a read or a block: a stored row or record does not decode. Becomes `ThreadUnreadable`. */
export class Unreadable extends Error {
  /** The table: nothing of the content. */
  readonly what: "submissions" | "journal" | "threadState"

  constructor(what: "submissions" | "journal" | "threadState") {
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
