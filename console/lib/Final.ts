/** Which failures asking again does not mend: nothing but another question, or another token, has another answer. Pure. */
import { HeddleError } from "../../client/sdk/index.ts"

const finals = ["OperationDenied", "InvalidInput", "IdentityMismatch", "ThreadForgotten"]

/** Whatever else a stream or a call fails with may be over by itself: a store that comes back, a thread that is repaired. */
export const isFinal = (error: unknown): boolean =>
  error instanceof HeddleError && finals.includes(error.tag)
