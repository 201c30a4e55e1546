/**
 * Who stands behind a public call, as an edge found out before it serves it.
 *
 * An identity comes from the caller's service-binding props or from a verified token, never from a
 * payload. One invocation serves one identity.
 */
import { Option, Schema } from "effect"
import { Grants } from "../contracts/Authorization.ts"

/** An identity with what it may touch. */
export interface Verified {
  readonly _tag: "Verified"
  readonly grants: Grants
  /** When its token ends, epoch milliseconds; streams end with it. */
  readonly expiresAt: number | undefined
}

/** No identity: every call is `Unauthenticated`, for this reason. */
export interface Unverified {
  readonly _tag: "Unverified"
  readonly reason: string
}

/** A binding that says nothing of itself: every call is `OperationDenied`. */
export interface Nameless {
  readonly _tag: "Nameless"
}

export type Identity = Verified | Unverified | Nameless

/** An identity that cannot be served. `reason` is told to the caller: never a secret, never a claim. */
export const unverified = (reason: string): Unverified => ({ _tag: "Unverified", reason })

/** A name that is none of the four is refused: a misspelt `threads` would else grant all of them. */
const decodeGrants = Schema.decodeUnknownOption(Grants, { onExcessProperty: "error" })

/** The grants in a value from outside; none when anything is missing, malformed or unknown. */
export const grantsOf = (value: unknown): Option.Option<Grants> => decodeGrants(value)

/** The identity of a service binding: its `props`, and nothing else. */
export const identityOfProps = (props: unknown): Verified | Nameless =>
  Option.match(grantsOf(props), {
    onNone: (): Verified | Nameless => ({ _tag: "Nameless" }),
    onSome: (grants) => ({ _tag: "Verified", grants, expiresAt: undefined }),
  })
