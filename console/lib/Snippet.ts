/** What a search found, with the found words apart: they stand between `[` and `]`. Pure. */
import { straight } from "./Format.ts"

export interface Piece {
  readonly text: string
  readonly isFound: boolean
}

/** A bracket that stands for itself is shown as one: nothing is lost, whatever the text has. */
export const piecesOf = (snippet: string): ReadonlyArray<Piece> =>
  straight(snippet)
    .split(/(\[[^[\]]*\])/)
    .filter((text) => text !== "")
    .map((text) =>
      text.startsWith("[") && text.endsWith("]")
        ? { text: text.slice(1, -1), isFound: true }
        : { text, isFound: false },
    )
