/** Who a thread is: its owner and its name there. Stored with the first mutation. */
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"

export interface Identity {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}
