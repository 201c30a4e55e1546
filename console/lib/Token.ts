/**
 * What a bearer token says of itself, for the screen alone: whether it is valid is the deployment's to say. Pure.
 *
 * - T1 Whatever was pasted is read without a throw; what cannot be read is a token all the same, of which nothing is known.
 */

/** As far as it can be read. */
export interface TokenWords {
  readonly principal?: string
  /** Patterns of owners. */
  readonly owners?: ReadonlyArray<string>
  readonly expiresAt?: number
}

const base64url = (text: string): string => {
  const plain = text.replaceAll("-", "+").replaceAll("_", "/")
  const bytes = Uint8Array.from(atob(plain), (character) => character.charCodeAt(0))
  return new TextDecoder().decode(bytes)
}

const claimsOf = (token: string): Readonly<Record<string, unknown>> => {
  try {
    const claims: unknown = JSON.parse(base64url(token.split(".")[1] ?? ""))
    return typeof claims === "object" && claims !== null
      ? (claims as Readonly<Record<string, unknown>>)
      : {}
  } catch {
    return {} // T1
  }
}

const isText = (value: unknown): value is string => typeof value === "string"

export const wordsOfToken = (token: string): TokenWords => {
  const { sub, owners, exp } = claimsOf(token)
  return {
    ...(isText(sub) ? { principal: sub } : {}),
    ...(Array.isArray(owners) ? { owners: owners.filter(isText) } : {}),
    ...(typeof exp === "number" && Number.isFinite(exp) ? { expiresAt: exp * 1_000 } : {}),
  }
}

/**
 * Whether a token is of who had the one before: the same principal, who may see all the same owners. Of a token that tells
 * nothing of itself nobody was shown anything by name.
 */
export const isSameReader = (before: TokenWords, after: TokenWords): boolean => {
  if (before.principal === undefined) return true
  const sees = after.owners ?? []
  return (
    before.principal === after.principal &&
    (before.owners ?? []).every((one) => sees.includes(one) || sees.includes("*"))
  )
}

/** The one owner that a token is about, where it names one and no pattern. */
export const onlyOwner = ({ owners }: TokenWords): string | undefined => {
  const [first, ...others] = owners ?? []
  return first === undefined || others.length > 0 || first.includes("*") ? undefined : first
}

/** What people paste: with or without `Bearer`, with the line's end. */
export const tidyToken = (pasted: string): string => pasted.trim().replace(/^bearer\s+/i, "")
