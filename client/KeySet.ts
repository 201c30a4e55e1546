/**
 * The keys that an identity provider publishes (a JWKS), kept between requests and fetched again when they may have
 * changed.
 *
 * - P1 A key that is not known has the set fetched again, at most once in `keysRefetchMillis`: made-up names cost the
 *   provider nothing. One fetch is under way at a time.
 * - P2 A provider that is down, slow or answers nonsense keeps nobody for longer than `keysMillis`, and keys that are
 *   known go on for `keysStaleMillis`.
 * - P3 No request waits for another one's promise: it looks again on a timer of its own. One that went away in the
 *   middle holds up nobody.
 */
import { Clock, Effect } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { Limits } from "../contracts/Limits.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { readBounded } from "./BoundedBody.ts"
import { type PinnedKey, publishedKeys } from "./PinnedKey.ts"

/** What a token asks for. */
export interface WantedKey {
  /** Undefined in a token that names none. */
  readonly kid: string | undefined
  readonly algorithm: string
}

export type FoundKey =
  | { readonly _tag: "Found"; readonly key: PinnedKey }
  /** The provider does not publish it. */
  | { readonly _tag: "Unknown" }
  /** Nobody can say: the provider does not answer. */
  | { readonly _tag: "Unreachable"; readonly retryAfterMillis: number }

export interface KeySet {
  readonly find: (wanted: WantedKey) => Effect.Effect<FoundKey>
}

export interface KeySetOptions {
  readonly url: string
  readonly limits: Limits
  readonly fetch: typeof globalThis.fetch
}

interface State {
  keys: ReadonlyArray<PinnedKey>
  /** When `keys` were published so. */
  fetchedAt: number
  /** Until when a fetch may be under way; 0 without one. */
  flightUntil: number
  /** Not fetched again before. */
  nextAt: number
  /** Fetches in a row that gave nothing. */
  failures: number
}

/** A set of 64 keys has a tenth of it. */
const setBytesMax = 256 * 1024

/** How often a request looks whether the fetch of another one has ended. */
const lookMillis = 20

/** The keys, or in words of ours why there are none. Rejects when the connection fails. */
const download = async (
  { fetch, url }: KeySetOptions,
  signal: AbortSignal,
): Promise<ReadonlyArray<PinnedKey> | string> => {
  const headers = { accept: "application/jwk-set+json, application/json" }
  // A provider that moved is configured anew: nobody else says where its keys are.
  const response = await fetch(url, { headers, redirect: "manual", signal })
  if (response.status !== 200) {
    await response.body?.cancel()
    return `status ${response.status}`
  }
  const bytes = await readBounded(response.body, setBytesMax, signal)
  if (bytes === "TooLarge") return "too large"
  const keys = await publishedKeys(JSON.parse(new TextDecoder().decode(bytes)))
  return keys.length === 0 ? "no usable key" : keys
}

/** The one key that is meant. Without a name it is the only one of its algorithm, or none. */
const select = (keys: ReadonlyArray<PinnedKey>, wanted: WantedKey): PinnedKey | undefined => {
  const suitable = keys.filter(
    ({ algorithm, kid }) =>
      algorithm === wanted.algorithm && (wanted.kid === undefined || kid === wanted.kid),
  )
  return suitable.length === 1 ? suitable[0] : undefined
}

/** Fetches the set, and notes what came of it. Never fails. */
const refresh = Effect.fnUntraced(function* (options: KeySetOptions, state: State, now: number) {
  const { keysMillis, keysRefetchMillis, keysRetryMaxMillis, keysRetryMillis } = options.limits
  state.flightUntil = now + keysMillis
  const got = yield* Effect.tryPromise({
    try: (signal) => download(options, signal),
    catch: describeThrown,
  }).pipe(
    Effect.timeoutOrElse({ duration: keysMillis, orElse: () => Effect.succeed("no answer") }), // P2
    Effect.catch((described) => Effect.succeed(described)),
    Effect.ensuring(
      Effect.sync(() => {
        state.flightUntil = 0 // P3
      }),
    ),
  )
  const endedAt = yield* Clock.currentTimeMillis
  if (typeof got !== "string") {
    Object.assign(state, { keys: got, fetchedAt: endedAt, failures: 0 })
    state.nextAt = endedAt + keysRefetchMillis // P1
    return
  }
  state.failures += 1
  const curve = { baseMillis: keysRetryMillis, maxMillis: keysRetryMaxMillis }
  state.nextAt = endedAt + delayMillis(curve, state.failures) // P1
  yield* Effect.logWarning(`The published keys could not be fetched: ${got}`)
})

const find = Effect.fnUntraced(function* (
  options: KeySetOptions,
  state: State,
  wanted: WantedKey,
): Effect.fn.Return<FoundKey> {
  const { keysAgeMillis, keysStaleMillis } = options.limits
  for (;;) {
    const now = yield* Clock.currentTimeMillis
    const ageMillis = now - state.fetchedAt
    const key = ageMillis < keysStaleMillis ? select(state.keys, wanted) : undefined
    if (key !== undefined && ageMillis < keysAgeMillis) return { _tag: "Found", key }
    if (now < state.flightUntil) {
      yield* Effect.sleep(lookMillis) // P3
    } else if (now < state.nextAt) {
      if (key !== undefined) return { _tag: "Found", key } // P2
      if (state.failures === 0) return { _tag: "Unknown" }
      return { _tag: "Unreachable", retryAfterMillis: state.nextAt - now }
    } else {
      yield* refresh(options, state, now)
    }
  }
})

/** The published keys at an address; nothing is fetched before a token needs one. */
export const makeKeySet = (options: KeySetOptions): KeySet => {
  const state: State = {
    keys: [],
    fetchedAt: Number.NEGATIVE_INFINITY,
    flightUntil: 0,
    nextAt: 0,
    failures: 0,
  }
  return { find: (wanted) => find(options, state, wanted) }
}
