/** Signs a token for local use: what an identity provider of a deployment would do. */
import { Schema } from "effect"
import { SignJWT } from "jose"
import { Grants } from "../contracts/Authorization.ts"

export interface TokenOptions {
  readonly grants: Grants
  readonly secret: string
  /** How long it is valid, from now on. */
  readonly expiresInSeconds: number
}

const secretBytesMin = 32

/** Checks grants that were typed by a person. Throws with what is wrong. */
export const decodeGrants = Schema.decodeUnknownSync(Grants)

/** The signed token. Throws when the secret is too short to be one. */
export const mintToken = async (options: TokenOptions): Promise<string> => {
  const key = new TextEncoder().encode(options.secret)
  if (key.length < secretBytesMin) {
    throw new Error(`HEDDLE_JWT_SECRET needs ${secretBytesMin} bytes or more`)
  }
  const { principal, ...claims } = options.grants
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(principal)
    .setIssuedAt(now)
    .setExpirationTime(now + options.expiresInSeconds)
    .sign(key)
}
