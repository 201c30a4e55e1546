/**
 * Keys that tokens are verified with, each for one algorithm.
 *
 * - K1 The algorithm is the key's, fixed before a token is seen. A secret verifies HS256 alone, a published key the one
 *   algorithm that it names or that its kind has: no token can have a public key taken for a secret.
 * - K2 Of a published set only what may verify is taken: no secret, no private key, none for encryption, none that is
 *   too small. The rest of the set is as good as without it.
 */
import { importJWK } from "jose"
import { isRecord } from "./PublicRequest.ts"

export interface PinnedKey {
  /** The name by which tokens ask for it. */
  readonly kid: string | undefined
  readonly algorithm: string
  readonly key: CryptoKey | Uint8Array
}

/** RFC 7518, 3.2: a key of the size of the hash, or larger. */
export const secretBytesMin = 32

const encoder = new TextEncoder()

/** The keys of the secrets that may be used; what is missing or could be guessed is none. */
export const secretKeys = (secrets: ReadonlyArray<unknown>): ReadonlyArray<PinnedKey> =>
  secrets.flatMap((secret) => {
    if (typeof secret !== "string") return []
    const key = encoder.encode(secret)
    return key.length < secretBytesMin ? [] : [{ kid: undefined, algorithm: "HS256", key }] // K1
  })

/** RFC 7518, 3.3: below that a signature proves nothing. */
const rsaBitsMin = 2_048

const ofRsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]

const ofCurve = new Map([
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
  ["Ed25519", ["EdDSA", "Ed25519"]],
])

/** The algorithms of published keys. */
export const publishedAlgorithms: ReadonlySet<string> = new Set([
  ...ofRsa,
  ...[...ofCurve.values()].flat(),
])

const kinds = new Set(["RSA", "EC", "OKP"])

/** The one algorithm of a key; undefined when it is none of ours. */
const algorithmOf = ({ alg, crv, kty }: Record<string, unknown>): string | undefined => {
  if (typeof kty !== "string" || !kinds.has(kty)) return undefined // K2
  const possible = kty === "RSA" ? ofRsa : (ofCurve.get(String(crv)) ?? [])
  if (alg === undefined) return possible[0] // K1
  return typeof alg === "string" && possible.includes(alg) ? alg : undefined
}

const mayVerify = ({ d, key_ops: operations, use }: Record<string, unknown>): boolean =>
  d === undefined &&
  (use === undefined || use === "sig") &&
  (operations === undefined || (Array.isArray(operations) && operations.includes("verify"))) // K2

const isTooSmall = (key: CryptoKey): boolean =>
  ((key.algorithm as { readonly modulusLength?: number }).modulusLength ?? rsaBitsMin) < rsaBitsMin

const pinned = async (jwk: unknown): Promise<ReadonlyArray<PinnedKey>> => {
  if (!isRecord(jwk) || !mayVerify(jwk)) return []
  const algorithm = algorithmOf(jwk)
  if (algorithm === undefined) return []
  try {
    const key = await importJWK({ ...jwk }, algorithm)
    if (key instanceof Uint8Array || isTooSmall(key)) return [] // K2
    return [{ kid: typeof jwk["kid"] === "string" ? jwk["kid"] : undefined, algorithm, key }]
  } catch {
    return []
  }
}

/** As many keys of a set as are looked at. */
const keysMax = 64

/** The keys in a published set that may be used; none when it is no set. Never rejects. */
export const publishedKeys = async (set: unknown): Promise<ReadonlyArray<PinnedKey>> => {
  if (!isRecord(set) || !Array.isArray(set["keys"])) return []
  return (await Promise.all(set["keys"].slice(0, keysMax).map(pinned))).flat()
}
