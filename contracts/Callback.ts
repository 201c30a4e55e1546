/**
 * Callbacks: a token that a run hands to somebody outside, who signals with it and needs no other credentials.
 *
 * A token names its owner and thread and ends in 128 random bits, by which the thread knows the wait it is for. Who
 * holds it may give that one wait its one value, and can read nothing.
 */
import { Schema } from "effect"
import { OwnerId, Principal, StepName, SubmissionId, ThreadId } from "./Identifiers.ts"

/** Stands in no identifier, and is kept as it is in a URL. */
const separator = "~"

export const CallbackToken = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._:-]{1,128}~[A-Za-z0-9._:-]{1,128}~[0-9a-f]{32}$/),
)
  .pipe(Schema.brand("CallbackToken"))
  .annotate({
    identifier: "CallbackToken",
    description: "Owner, thread and 128 random bits. A secret: whoever has it may use it, once.",
  })
export type CallbackToken = typeof CallbackToken.Type

/** Where a token leads. */
export interface CallbackAddress {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** 128 bits in hexadecimal digits. */
  readonly secret: string
}

export const makeCallbackToken = ({ ownerId, threadId, secret }: CallbackAddress): CallbackToken =>
  CallbackToken.make([ownerId, threadId, secret].join(separator))

/** Where a token leads, once it has been decoded. */
export const callbackAddress = (token: CallbackToken): CallbackAddress => {
  const [ownerId = "", threadId = "", secret = ""] = token.split(separator)
  return { ownerId: ownerId as OwnerId, threadId: threadId as ThreadId, secret }
}

/** Where a token is used over HTTPS, at the origin of the deployment. */
export const callbackPath = (token: CallbackToken): string => `/callback/${token}`

/** As whom whoever holds a token speaks: its signal is recorded as said by it. */
export const callbackPrincipal = Principal.make("callback")

/** The wait that a token is for. */
export const CallbackTarget = Schema.Struct({
  submissionId: SubmissionId,
  name: StepName,
}).annotate({ identifier: "CallbackTarget", description: "The wait that a callback is for." })
export type CallbackTarget = typeof CallbackTarget.Type

export const CallbackFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  token: CallbackToken.annotateKey({ description: "As the run gave it away." }),
  payload: Schema.Json.annotateKey({
    description: "JSON as the wait's schema encodes it; at most `recordBytes`.",
  }),
}
