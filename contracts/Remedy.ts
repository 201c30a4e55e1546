/** What an error of the contract means, and what its caller can do: its description says both. */

/** The two halves of a description. */
export interface Told {
  readonly meaning: string
  readonly remedy: string
}

const mark = " Remedy: "

/** An error class, as far as its words go. */
export interface Described {
  readonly ast: { readonly annotations?: Readonly<Record<string, unknown>> | undefined }
}

/** The words of an error class; none when it lacks either half. */
export const toldOf = ({ ast }: Described): Told | undefined => {
  const text = ast.annotations?.["description"]
  const [meaning, remedy] = typeof text === "string" ? text.split(mark) : []
  if (!meaning || !remedy) return undefined
  return { meaning, remedy: `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}` }
}
