/**
 * What a stored column may hold, as far as it can reach a report, an answer or a decision. SQLite keeps a value of any
 * type in a column of any type, so that each is looked at when it is read: by its pattern, never by a schema, as this
 * is done for every row.
 */
import { millisMax } from "../contracts/Identifiers.ts"

export type Check = (value: unknown) => boolean

export const isText: Check = (value) => typeof value === "string"

export const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0

export const isMillis: Check = (value) => isCount(value) && Number(value) <= millisMax

/** The column may be empty. */
export const maybe =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value)

export const oneOf = (texts: ReadonlyArray<string>): Check => {
  const known: ReadonlySet<unknown> = new Set(texts)
  return (value) => known.has(value)
}

export const isSubmissionId = matches(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
)

export const isAgentId = matches(/^[A-Za-z0-9._:-]{1,64}$/)

export const isGeneration = matches(/^\d{15}-\d{10}$/)

/** A name out of a run, of a tool, or of a caller: bounded, and on one line. */
export const isName = matches(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u)

export const isTitle: Check = (value) => typeof value === "string" && value.length <= 256

/** Whether each column of a row holds what it is for. */
export const holds = <Row extends object>(
  row: Row,
  checks: { readonly [K in keyof Row]: Check },
): boolean => {
  for (const column in checks) if (!checks[column](row[column])) return false
  return true
}
