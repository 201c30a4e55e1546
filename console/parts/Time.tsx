/** Times that go on while they are looked at. */
import { agoOf, clockOf, durationOf, stampOf } from "../lib/Format.ts"
import { now } from "../state/Now.ts"

const iso = (at: number): string =>
  Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : ""

/** `3 min ago`, or `in 12 s`. */
export const Ago = ({ at }: { readonly at: number }) => (
  <time dateTime={iso(at)} title={stampOf(at)}>
    {agoOf(at, now.value)}
  </time>
)

/** How long it has been. */
export const Since = ({ at }: { readonly at: number }) => (
  <time dateTime={iso(at)} title={stampOf(at)}>
    {durationOf(Math.floor(Math.max(0, now.value - at) / 1_000) * 1_000).replace(/^0 ms$/, "0 s")}
  </time>
)

/** The time of day. */
export const Clock = ({ at }: { readonly at: number }) => (
  <time dateTime={iso(at)} title={stampOf(at)}>
    {clockOf(at)}
  </time>
)
