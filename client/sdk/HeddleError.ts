/**
 * What the SDK rejects with: errors with the tag and the fields that the contract gives them.
 *
 * - E1 Of what a peer sends only the fields of the contract are taken, as the error's own properties.
 */

/** The fields of an error as they cross, besides its tag. */
export type ErrorFields = Readonly<Record<string, unknown>>

/** What is said about a kind of errors, and what of it crosses. */
export interface ErrorKind<Tag extends string> {
  readonly tag: Tag
  /** What it means. */
  readonly meaning: string
  /** What the caller can do. */
  readonly remedy: string
  readonly fields: ReadonlyArray<string>
}

/** As much of one field as a message tells. */
const toldCharacters = 1_024

const told = (value: unknown): string => String(value).slice(0, toldCharacters)

const messageOf = ({ meaning, fields }: ErrorKind<string>, sent: ErrorFields): string => {
  const details = fields
    .filter((name) => ["string", "number", "boolean"].includes(typeof sent[name]))
    .map((name) => `${name}: ${told(sent[name])}`)
  return details.length === 0 ? meaning : `${meaning} [${details.join(", ")}]`
}

/** Every error that the SDK makes. `isHeddleError` tells them apart by `tag`, with their fields. */
export class HeddleError<Tag extends string = string> extends Error {
  /** Which error of the contract it is. */
  readonly tag: Tag
  /** What the caller can do. */
  readonly remedy: string

  constructor(kind: ErrorKind<Tag>, sent: ErrorFields) {
    super(messageOf(kind, sent))
    this.tag = kind.tag
    this.remedy = kind.remedy
    this.name = kind.tag
    for (const field of kind.fields) {
      if (!Object.hasOwn(sent, field)) continue
      // A field may be called as one of Error's own: it is the contract's all the same.
      Object.defineProperty(this, field, {
        value: sent[field],
        enumerable: true,
        configurable: true,
      }) // E1
    }
  }
}

/** An error that this version of the SDK does not know: a newer deployment has added it. */
export class UnrecognizedError extends HeddleError<"Unrecognized"> {
  /** As it was sent, with the tag that it has there. */
  readonly data: ErrorFields

  constructor(sent: ErrorFields) {
    super(
      {
        tag: "Unrecognized",
        meaning: `The deployment answered with an error that this client does not know: ${told(sent["_tag"])}.`,
        remedy: "Update the client.",
        fields: [],
      },
      {},
    )
    this.data = sent
  }
}

/** Makes the error of what a deployment has sent. Total. */
export type ErrorOf = (sent: unknown) => HeddleError

/** Whether repeating the call may help: it got lost, and nobody said to come back later. */
export const canRepeat = (error: unknown): boolean =>
  error instanceof HeddleError &&
  error.tag === "Unavailable" &&
  Reflect.get(error, "retryable") === true &&
  Reflect.get(error, "overloaded") === false
