/**
 * The threads that a call about several of them names: whoever authorizes it asks about each.
 *
 * The payload may be anybody's, not yet decoded: the work is bounded whatever is in it.
 */

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

const ofFilter = (payload: unknown): unknown => field(field(payload, "filter"), "threadIds")

/** More than any of these calls may name. */
const namesMax = 1_000

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The names as they are given, each once; none where the list is none, or longer than any that decodes. */
const each = (list: unknown, nameOf: (item: unknown) => unknown): ReadonlyArray<string> =>
  Array.isArray(list) && list.length <= namesMax
    ? [...new Set(list.map((item: unknown) => textOf(nameOf(item))))]
    : []

const itself = (item: unknown): unknown => item

const namedBy = new Map<string, (payload: unknown) => ReadonlyArray<string>>([
  [
    "submitMany",
    (payload) => each(field(payload, "submissions"), (item) => field(item, "threadId")),
  ],
  ["retryMany", (payload) => each(ofFilter(payload), itself)],
  ["abortMany", (payload) => each(ofFilter(payload), itself)],
])

/**
 * Of a call that may be about several threads; undefined for any other. One that names none is about all of them.
 * Pure, total.
 */
export const namedThreads = (
  operation: string,
  payload: unknown,
): ReadonlyArray<string> | undefined => namedBy.get(operation)?.(payload)
