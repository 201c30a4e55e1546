/**
 * Bearer tokens: JWTs signed with a secret of the deployment (HS256), or by an identity provider whose published keys
 * it trusts (a JWKS).
 *
 * Claims: `sub` is the principal, `owners` the patterns of owner ids; `threads`, `operations` and `exp` are optional.
 * A deployment may read the grants from other claims.
 *
 * - T1 Without a key, or with a secret that a machine could guess, every token is refused.
 * - T2 The algorithm is the key's, never the token's word: what a token says only chooses among keys.
 * - T3 A token that lacks a claim, or has a malformed one, grants nothing at all.
 * - T4 A provider's token counts only with its issuer, this audience and an end.
 * - T5 Nothing of a token is told in a refusal, and before its signature is verified nothing that depends on its claims.
 * - T6 A name that people choose for themselves can widen no pattern.
 * - T7 A token is taken until its end and never at it, to the millisecond: `jose` counts whole seconds.
 */
import { Clock, Effect, Option } from "effect"
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose"
import type { Limits } from "../contracts/Limits.ts"
import { grantsOf, unverified, type Unverified, type Verified } from "./Identity.ts"
import { type FoundKey, type KeySet, makeKeySet } from "./KeySet.ts"
import { type PinnedKey, publishedAlgorithms, secretKeys } from "./PinnedKey.ts"

/** The environment variables (secrets of the Worker) with the keys of a deployment that names no others. */
export const secretName = "HEDDLE_JWT_SECRET"
export const previousSecretName = "HEDDLE_JWT_SECRET_PREVIOUS"

interface Claimed {
  /** Claims that a token must have, besides those that its grants are read from. */
  readonly requiredClaims?: ReadonlyArray<string>
  /**
   * What the claims of a verified token grant: `{ principal, owners, threads?, operations? }`. What is not that, or is
   * thrown, grants nothing. Default: `sub`, `owners`, `threads` and `operations`.
   */
  readonly grants?: (claims: JWTPayload) => unknown
}

/** Whoever knows one of the secrets signs tokens. */
export interface TrustedSecrets extends Claimed {
  /** Each of 32 bytes or more; the ones that are missing are none. Several while they are rotated. */
  readonly secrets: ReadonlyArray<string | undefined>
  readonly issuer?: string
  readonly audience?: string
}

/** An identity provider that publishes its keys. */
export interface TrustedProvider extends Claimed {
  /** Where the keys are (its `jwks_uri`): an address of https, or of this machine. */
  readonly jwksUrl: string
  /** Its tokens' `iss`, exactly. */
  readonly issuer: string
  /** What names this deployment in its tokens' `aud`. */
  readonly audience: string
}

export type Trusted = TrustedSecrets | TrustedProvider

/** Whose tokens a deployment takes. */
export type TrustedBy = (env: never) => ReadonlyArray<Trusted>

/** No identity as yet: the keys that would tell cannot be had now. */
export interface Undecided {
  readonly _tag: "Undecided"
  readonly retryAfterMillis: number
}

export type BearerIdentity = Verified | Unverified | Undecided

/**
 * The identity behind an `Authorization` header. Never fails: whatever is wrong is an identity that is refused, with
 * the reason that the caller may know.
 */
export type Bearer = (authorization: string | null, env: unknown) => Effect.Effect<BearerIdentity>

/**
 * A claim as one part of a pattern of `grants`, joined to others with `:`, as in `${literal(sub)}:*`. Nothing but
 * letters, digits, `.`, `_` and `-`: throws otherwise, so that nobody's name is a pattern or two parts. // T6
 */
export const literal = (claim: unknown): string => {
  if (typeof claim === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(claim)) return claim
  throw new TypeError("The claim cannot be a part of a pattern")
}

const notValid = unverified("The token is not valid")
const hasExpired = unverified("The token has expired")

const refusalOf = (error: unknown): Unverified => {
  if (error instanceof errors.JWTExpired) return hasExpired
  if (!(error instanceof errors.JWTClaimValidationFailed)) return notValid
  if (error.claim === "nbf" && error.reason === "check_failed") {
    return unverified("The token is not valid yet")
  }
  // The name is one of those that we look for: its signature was good, so its holder may know which. // T5
  return unverified(`The token's claim "${error.claim}" is missing or not what it must be here`)
}

const ownClaims = ({ operations, owners, sub, threads }: JWTPayload): unknown => ({
  principal: sub,
  owners,
  ...(threads === undefined ? {} : { threads }),
  ...(operations === undefined ? {} : { operations }),
})

const grantsIn = (payload: JWTPayload, read: (claims: JWTPayload) => unknown) => {
  try {
    return grantsOf(read(payload))
  } catch {
    return Option.none()
  }
}

interface Verification {
  readonly token: string
  readonly trusted: Trusted
  readonly key: PinnedKey
  readonly skewMillis: number
}

const isProvider = (trusted: Trusted): trusted is TrustedProvider => "jwksUrl" in trusted

/** The claims, if this key signed them and they hold now and here. */
const claimsOf = Effect.fnUntraced(function* ({ key, skewMillis, token, trusted }: Verification) {
  const { audience, issuer, requiredClaims = [] } = trusted
  const required = isProvider(trusted) ? ["exp", ...requiredClaims] : [...requiredClaims] // T4
  const now = yield* Clock.currentTimeMillis
  const { payload } = yield* Effect.tryPromise({
    try: () =>
      jwtVerify(token, key.key, {
        algorithms: [key.algorithm], // T2
        currentDate: new Date(now),
        clockTolerance: skewMillis / 1000,
        requiredClaims: required,
        ...(issuer === undefined ? {} : { issuer }), // T4
        ...(audience === undefined ? {} : { audience }), // T4
      }),
    catch: (error) => error,
  })
  return { payload, now }
})

const verify = (verification: Verification): Effect.Effect<BearerIdentity, unknown> =>
  Effect.map(claimsOf(verification), ({ now, payload }): BearerIdentity => {
    const { exp } = payload
    const expiresAt = exp === undefined ? undefined : exp * 1000 + verification.skewMillis
    if (expiresAt !== undefined && now >= expiresAt) return hasExpired // T7
    const grants = grantsIn(payload, verification.trusted.grants ?? ownClaims)
    if (Option.isNone(grants)) {
      return unverified("The token lacks a claim or has a malformed one") // T3
    }
    return { _tag: "Verified", grants: grants.value, expiresAt }
  })

const isLocal = (hostname: string): boolean =>
  ["localhost", "127.0.0.1", "[::1]"].includes(hostname)

const isKeysUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hostname, protocol } = new URL(text)
  return protocol === "https:" || (protocol === "http:" && isLocal(hostname))
}

/** Of secrets both may be absent; one that says nothing would be no check at all. */
const checkSecrets = ({ audience, issuer }: TrustedSecrets): void => {
  for (const name of [audience, issuer]) {
    if (name === undefined || (typeof name === "string" && name !== "")) continue
    throw new TypeError("The issuer or audience of secrets is empty: name it, or leave it out")
  }
}

/** Throws with what is wrong, where a deployment's trust could not work or would be anybody's. */
export const checkTrusted = (all: ReadonlyArray<Trusted>): ReadonlyArray<Trusted> => {
  const issuers = new Set<string>()
  for (const trusted of all) if (!isProvider(trusted)) checkSecrets(trusted)
  for (const provider of all.filter(isProvider)) {
    const { audience, issuer, jwksUrl } = provider
    if (!isKeysUrl(jwksUrl)) throw new TypeError(`jwksUrl "${jwksUrl}" is no address of https`)
    if (typeof issuer !== "string" || issuer === "")
      throw new TypeError("A provider needs its issuer") // T4
    if (typeof audience !== "string" || audience === "") {
      throw new TypeError("A provider needs an audience: it signs tokens for others, too") // T4
    }
    if (issuers.has(issuer)) throw new TypeError(`The issuer "${issuer}" is named twice`)
    issuers.add(issuer)
  }
  return all
}

/** What a token says of itself before anybody has verified it: enough to choose a key. */
interface Said {
  readonly algorithm: string
  readonly kid: string | undefined
  readonly issuer: string | undefined
}

const kidCharactersMax = 256

const saidBy = (token: string): Option.Option<Said> => {
  try {
    const { alg, kid } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    const isName = kid === undefined || (typeof kid === "string" && kid.length <= kidCharactersMax)
    return typeof alg === "string" && isName
      ? Option.some({ algorithm: alg, kid, issuer: typeof iss === "string" ? iss : undefined })
      : Option.none()
  } catch {
    return Option.none()
  }
}

interface Trust {
  readonly secrets: ReadonlyArray<{ readonly trusted: TrustedSecrets; readonly key: PinnedKey }>
  readonly providers: ReadonlyArray<TrustedProvider>
}

const trustOf = (all: ReadonlyArray<Trusted>): Trust => ({
  secrets: all.flatMap(
    (trusted) =>
      isProvider(trusted) ? [] : secretKeys(trusted.secrets).map((key) => ({ trusted, key })), // T1
  ),
  providers: all.filter(isProvider),
})

/** Tries the secrets; what is told is the refusal of the one that signed it, if any did. */
const bySecrets = Effect.fnUntraced(function* (
  trust: Trust,
  common: Pick<Verification, "token" | "skewMillis">,
) {
  let refusal = notValid
  for (const one of trust.secrets) {
    const verified = yield* Effect.result(verify({ ...common, ...one }))
    if (verified._tag === "Success") return verified.success
    if (!(verified.failure instanceof errors.JWSSignatureVerificationFailed)) {
      refusal = refusalOf(verified.failure)
    }
  }
  return refusal
})

const identityOfKey = (
  found: FoundKey,
  verifying: Omit<Verification, "key">,
): Effect.Effect<BearerIdentity> => {
  switch (found._tag) {
    case "Unknown":
      return Effect.succeed(notValid)
    case "Unreachable":
      return Effect.succeed({ _tag: "Undecided", retryAfterMillis: found.retryAfterMillis })
    case "Found":
      return Effect.catch(verify({ ...verifying, key: found.key }), (error) =>
        Effect.succeed(refusalOf(error)),
      )
  }
}

const bearer = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i

/** More than any token of ours, or of a provider, has. */
export const tokenCharactersMax = 8 * 1024

const ownSecrets = (env: unknown): ReadonlyArray<Trusted> => {
  const variables = (typeof env === "object" && env !== null ? env : {}) as Record<string, string>
  return [{ secrets: [variables[secretName], variables[previousSecretName]] }]
}

export interface BearerOptions {
  readonly limits: Limits
  /** Default: the secrets of the environment. */
  readonly trusted?: TrustedBy | undefined
  /** Default the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Verifies the tokens of a deployment. What it keeps are the published keys. */
export const makeBearer = (options: BearerOptions): Bearer => {
  const { limits } = options
  const fetch: typeof globalThis.fetch = (input, init) =>
    (options.fetch ?? globalThis.fetch)(input, init)
  const trustedBy = (options.trusted ?? ownSecrets) as (env: unknown) => ReadonlyArray<Trusted>
  const sets = new Map<string, KeySet>()
  const setAt = (url: string): KeySet => {
    const set = sets.get(url) ?? makeKeySet({ url, limits, fetch })
    sets.set(url, set)
    return set
  }
  return Effect.fnUntraced(function* (authorization, env) {
    const trust = trustOf(trustedBy(env))
    if (trust.secrets.length + trust.providers.length === 0) {
      return unverified("This deployment has no keys: HTTPS is closed") // T1
    }
    const token = authorization === null ? undefined : bearer.exec(authorization)?.[1]
    if (token === undefined) return unverified("No bearer token")
    if (token.length > tokenCharactersMax) return notValid
    const said = saidBy(token)
    if (Option.isNone(said)) return notValid
    const { algorithm, issuer, kid } = said.value
    const common = { token, skewMillis: limits.clockSkewMillis }
    if (algorithm === "HS256") return yield* bySecrets(trust, common) // T2
    const trusted = trust.providers.find((one) => one.issuer === issuer)
    if (trusted === undefined || !publishedAlgorithms.has(algorithm)) return notValid // T2
    const found = yield* setAt(trusted.jwksUrl).find({ kid, algorithm })
    return yield* identityOfKey(found, { ...common, trusted })
  })
}
