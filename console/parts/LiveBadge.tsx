/**
 * How fresh the page is: whether its stream stands, and what happens if it does not.
 *
 * - B1 A change of its state is heard, once; the seconds that are counted down are only seen.
 * - B2 A way to have it at once is where there is one: who is connected or away, or has no token, has none.
 */
import { agoOf, straight } from "../lib/Format.ts"
import { unreachableSince } from "../state/Deployment.ts"
import type { Live } from "../state/Live.ts"
import { now } from "../state/Now.ts"

interface Told {
  readonly kind: "live" | "rest" | "lost"
  readonly text: string
  /** What goes on behind the text. */
  readonly count?: string
  readonly title: string
}

const wordsOf = (error: unknown): string =>
  straight(error instanceof Error ? error.message : String(error))

const toldOf = ({ failure, state }: Live): Told => {
  const { value } = state
  switch (value._tag) {
    case "Live":
      return { kind: "live", text: "Live", title: "Changes are shown as they happen" }
    case "Connecting":
      return { kind: "rest", text: "Connecting…", title: "The stream is being opened" }
    case "Resting":
      return {
        kind: "rest",
        text: "Resting",
        title: "Nothing has changed for a while: it is looked at now and then",
      }
    case "Away":
      return { kind: "rest", text: "Away", title: "Nobody looks at this page" }
    case "Waiting": {
      const when = agoOf(Math.max(value.retryAt, now.value), now.value)
      return {
        kind: "lost",
        text: "Lost",
        count: `, again ${when}`,
        title: `The stream is opened again from where it was. ${wordsOf(failure.value)}`,
      }
    }
    case "Expired":
      return { kind: "lost", text: "Token expired", title: "It goes on with a new token" }
    case "Refused":
      return { kind: "rest", text: "Not live", title: wordsOf(failure.value) }
  }
}

/** The states that `again` ends. */
const canBeHad = new Set(["Resting", "Waiting", "Refused", "Lost"]) // B2

export const LiveBadge = ({ live }: { readonly live: Live }) => {
  const isLost = unreachableSince.value !== undefined && live.state.value._tag === "Live"
  const told: Told = isLost
    ? {
        kind: "lost",
        text: "Reconnecting…",
        title: "The deployment cannot be reached; the stream goes on from where it was",
      }
    : toldOf(live)
  const state = isLost ? "Lost" : live.state.value._tag
  return (
    <span class={`badge badge-${told.kind}`} title={told.title} data-live={state}>
      <span class="badge-dot" aria-hidden />
      <output>{told.text}</output>
      {told.count === undefined ? undefined : (
        <span aria-hidden>{told.count}</span> // B1
      )}
      {canBeHad.has(state) ? (
        <button type="button" class="link" onClick={live.again}>
          now
        </button>
      ) : undefined}
    </span>
  )
}
