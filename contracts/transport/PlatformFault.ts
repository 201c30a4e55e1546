/**
 * What a rejected native call means: one pure, total classifier, for callers with and without effect.
 *
 * The platform marks its errors with `retryable`, `overloaded` and `remote`; where it does not, known
 * shapes of messages decide. Used at our own native calls only, never on what agent code throws.
 *
 * - P1 Whatever is thrown gives an answer; a hostile value cannot throw out of here.
 * - P2 The reason comes from the list here, never from the error: its text may hold anything.
 * - P3 What is overloaded is never retryable at once.
 */

/** What `Unavailable` says of it. */
export interface PlatformFault {
  readonly retryable: boolean
  readonly overloaded: boolean
  readonly reason: string
}

interface Shape {
  readonly pattern: RegExp
  readonly reason: string
  readonly retryable: boolean
  readonly overloaded?: true
}

const uncarriedReason = "The message cannot be carried"

/** Messages as workerd and the edge word them; the first that matches decides. */
const shapes: ReadonlyArray<Shape> = [
  {
    pattern: /overloaded|too many requests/i,
    reason: "The object is overloaded",
    retryable: false,
    overloaded: true,
  },
  {
    pattern: /too many subrequests|subrequest.*limit|simultaneous open connections/i,
    reason: "The calling invocation has used up its subrequests",
    retryable: false,
  },
  {
    pattern: /does not implement the method|is not a function|method.*not.*(found|implement)/i,
    reason: "The peer does not serve this method",
    retryable: false,
  },
  {
    pattern: /code (has been|was) updated|newer version of the script|script version/i,
    reason: "The object was updated to new code",
    retryable: true,
  },
  {
    pattern: /moved to a different machine|moved to another machine/i,
    reason: "The object moved to another machine",
    retryable: true,
  },
  {
    pattern: /storage operation exceeded timeout|storage.*(timed out|timeout)/i,
    reason: "The object's storage did not answer in time",
    retryable: true,
  },
  {
    pattern: /exceeded.*memory|memory limit/i,
    reason: "The object exceeded its memory",
    retryable: true,
  },
  {
    pattern: /exceeded.*cpu|cpu (time )?limit/i,
    reason: "The object exceeded its processor time",
    retryable: true,
  },
  {
    pattern: /network connection (was )?lost|connection (was )?lost|disconnected|connection reset/i,
    reason: "The connection to the object was lost",
    retryable: true,
  },
  {
    pattern:
      /durable object.*(reset|abort)|reset durable object|object (was )?(reset|aborted)|internal error/i,
    reason: "The object was reset",
    retryable: true,
  },
  {
    pattern:
      /cannot be cloned|could not (be )?(cloned|serialize)|dataclone|not serializable|serialized rpc arguments.*limited/i,
    reason: uncarriedReason,
    retryable: false,
  },
]

const overloadedReason = "The object is overloaded"
const retryableReason = "The object went away during the call"
/** An error without any mark is what `ctx.abort` leaves: the object is gone and starts again. */
const unknownReason = "The object ended the call without an answer"
const refusedReason = "The platform refused the call"

const read = (error: unknown, key: string): unknown => {
  if ((typeof error !== "object" && typeof error !== "function") || error === null) return undefined
  try {
    return (error as Record<string, unknown>)[key]
  } catch {
    return undefined // P1
  }
}

/** At most so many characters of a message are looked at. */
const inspected = 2_048

const messageOf = (error: unknown): string => {
  const message = typeof error === "string" ? error : read(error, "message")
  return typeof message === "string" ? message.slice(0, inspected) : ""
}

const fault = (retryable: boolean, overloaded: boolean, reason: string): PlatformFault => ({
  retryable: retryable && !overloaded, // P3
  overloaded,
  reason, // P2
})

/**
 * What a serializer throws here, before anything is sent: of what cannot be cloned, and of what is
 * nested beyond its stack. An error of a peer's own is marked `remote`.
 */
const isSerializers = (error: unknown): boolean =>
  read(error, "remote") !== true &&
  ["DataCloneError", "RangeError"].includes(String(read(error, "name")))

/** Reads a rejection of a native call. Pure, total. */
export const platformFault = (error: unknown): PlatformFault => {
  const message = messageOf(error)
  const shape = shapes.find(({ pattern }) => pattern.test(message))
  if (read(error, "overloaded") === true) return fault(false, true, overloadedReason)
  if (read(error, "retryable") === true)
    return fault(true, shape?.overloaded === true, shape?.reason ?? retryableReason)
  if (shape !== undefined) return fault(shape.retryable, shape.overloaded === true, shape.reason)
  if (isSerializers(error)) return fault(false, false, uncarriedReason)
  // A mark that says "no" is an answer of the platform; no mark at all is an aborted object.
  if (read(error, "retryable") === false) return fault(false, false, refusedReason)
  return fault(true, false, unknownReason)
}
