/** A title as agent code gives it: text of at most 256 characters. */
export const isTitle = (title: unknown): boolean =>
  typeof title === "string" && title.length <= 256 && title.isWellFormed() && !title.includes("\0")
