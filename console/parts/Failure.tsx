/** What went wrong, in the contract's words, with what can be done about it. */
import { isHeddleError } from "../../client/sdk/index.ts"
import { straight } from "../lib/Format.ts"
import { Prose } from "./Prose.tsx"

interface Told {
  readonly tag: string
  readonly meaning: string
  readonly remedy: string | undefined
}

const toldOf = (error: unknown): Told => {
  if (isHeddleError(error)) return { tag: error.tag, meaning: error.message, remedy: error.remedy }
  const meaning = error instanceof Error ? error.message : String(error)
  return { tag: "Error", meaning, remedy: undefined }
}

/** `again` is offered where asking again may help. */
export const Failure = ({
  again,
  error,
}: {
  readonly error: unknown
  readonly again?: (() => void) | undefined
}) => {
  const { meaning, remedy, tag } = toldOf(error)
  return (
    <div class="failure" role="alert">
      <p class="failure-tag">{tag}</p>
      <p>{straight(meaning)}</p>
      {remedy === undefined ? undefined : (
        <p class="remedy">
          What you can do: <Prose text={remedy} />
        </p>
      )}
      {again === undefined ? undefined : (
        <button type="button" class="quiet" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}
