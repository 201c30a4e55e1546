/**
 * The records of tool calls as text: canonical JSON, whoever writes them (the run, its reconciler, somebody's
 * word). Readers of a history find the same fields whoever it was; `by` tells when it was not the run.
 */
import type { Resolution } from "../contracts/ResolveUnknown.ts"
import type { RecordId } from "../contracts/Identifiers.ts"

/** Who told the outcome, when it was not the run itself. */
export interface Teller {
  readonly author: string
  /** A digest of what was said, to know the same words again. None for a reconciler. */
  readonly content?: string
  readonly reason: string
  /** None for a reconciler. */
  readonly principal?: string
}

/** Recovery's own word on behalf of a tool's reconciler. */
export const reconciler: Teller = { author: "reconciler", reason: "asked by recovery" }

const by = (teller: Teller | undefined): string =>
  teller === undefined
    ? ""
    : `"by":${JSON.stringify({
        author: teller.author,
        ...(teller.content === undefined ? {} : { content: teller.content }),
        ...(teller.principal === undefined ? {} : { principal: teller.principal }),
        reason: teller.reason,
      })},`

/** `ToolSettled` with a result, given as canonical JSON. */
export const resultPayload = (tool: string, result: string, teller?: Teller): string =>
  `{${by(teller)}"result":${result},"tool":${JSON.stringify(tool)}}`

/** `ToolSettled` with a failure; `error` is canonical JSON where the tool declares it. */
export const failurePayload = (
  tool: string,
  told: { readonly tag: string; readonly message: string },
  error: string | undefined,
  teller?: Teller,
): string => {
  const kept = error === undefined ? "" : `"error":${error},`
  const { message, tag } = told
  return `{${by(teller)}${kept}"message":${JSON.stringify(message)},"tag":${JSON.stringify(tag)},"tool":${JSON.stringify(tool)}}`
}

/** `ToolUnknown`: what is asked, and the id that an answer names. */
export const unknownPayload = (asked: {
  readonly tool: string
  readonly recordId: RecordId
  readonly why: "no reconciler" | "uncertain" | "aborted"
}): string => JSON.stringify({ recordId: asked.recordId, tool: asked.tool, why: asked.why })

/** `ToolResolved`: the call may be made again, or its submission ends. */
export const resolvedPayload = (
  tool: string,
  resolution: Exclude<Resolution["_tag"], "CompletedWithResult"> | "NeverStarted",
  teller: Teller,
): string => `{${by(teller)}"resolution":"${resolution}","tool":${JSON.stringify(tool)}}`
