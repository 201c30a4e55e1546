/**
 * Bearer tokens: JWTs signed with the one HS256 secret of the deployment (`HEDDLE_JWT_SECRET`).
 *
 * Claims: `sub` is the principal, `owners` the patterns of owner ids; `threads`, `operations` and
 * `exp` are optional.
 *
 * - T1 Without a secret, or with one that a machine could guess, every token is refused.
 * - T2 The algorithm is ours, never the token's word.
 * - T3 A token that lacks a claim, or has a malformed one, grants nothing at all.
 */
import { Clock, Effect, Option } from "effect"
import { errors, jwtVerify } from "jose"
import { grantsOf, unverified, type Unverified, type Verified } from "./Identity.ts"

/** RFC 7518, 3.2: a key of the size of the hash, or larger. */
export const secretBytesMin = 32

/** The environment variable (a secret of the Worker) that holds the key. */
export const secretName = "HEDDLE_JWT_SECRET"

const encoder = new TextEncoder()

/** The key, if there is one that may be used. */
const keyOf = (secret: unknown): Option.Option<Uint8Array> => {
  if (typeof secret !== "string") return Option.none()
  const key = encoder.encode(secret)
  return key.length < secretBytesMin ? Option.none() : Option.some(key) // T1
}

const bearer = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i

const reasonOf = (error: unknown): string => {
  if (error instanceof errors.JWTExpired) return "The token has expired"
  if (error instanceof errors.JWTClaimValidationFailed) return "The token is not valid now"
  return "The token is not valid"
}

type BearerIdentity = Verified | Unverified

const verify = (token: string, key: Uint8Array, now: number): Effect.Effect<BearerIdentity> =>
  Effect.tryPromise({
    try: () => jwtVerify(token, key, { algorithms: ["HS256"], currentDate: new Date(now) }), // T2
    catch: reasonOf,
  }).pipe(
    Effect.map(({ payload }): BearerIdentity => {
      const { sub, owners, threads, operations, exp } = payload
      return Option.match(
        grantsOf({
          principal: sub,
          owners,
          ...(threads === undefined ? {} : { threads }),
          ...(operations === undefined ? {} : { operations }),
        }),
        {
          onNone: () => unverified("The token lacks a claim or has a malformed one"), // T3
          onSome: (grants) => ({
            _tag: "Verified",
            grants,
            expiresAt: exp === undefined ? undefined : exp * 1000,
          }),
        },
      )
    }),
    Effect.catch((reason) => Effect.succeed(unverified(reason))),
  )

/**
 * The identity behind an `Authorization` header. Never fails: whatever is wrong is an identity that
 * is refused, with the reason that the caller may know.
 */
export const identityOfBearer = Effect.fnUntraced(function* (options: {
  readonly authorization: string | null
  /** The deployment's secret, as the environment has it. */
  readonly secret: unknown
}) {
  const key = keyOf(options.secret)
  if (Option.isNone(key)) return unverified("This deployment has no keys: HTTPS is closed")
  const token = options.authorization === null ? null : bearer.exec(options.authorization)
  if (token?.[1] === undefined) return unverified("No bearer token")
  return yield* verify(token[1], key.value, yield* Clock.currentTimeMillis)
})
