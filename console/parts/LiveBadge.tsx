/** How fresh the page is: whether its stream stands, and what happens if it does not. */
import { agoOf, straight } from "../lib/Format.ts"
import { unreachableSince } from "../state/Deployment.ts"
import type { Live } from "../state/Live.ts"
import { now } from "../state/Now.ts"

interface Told {
  readonly kind: "live" | "rest" | "lost"
  readonly text: string
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
        text: `Lost, again ${when}`,
        title: `The stream is opened again from where it was. ${wordsOf(failure.value)}`,
      }
    }
    case "Expired":
      return { kind: "lost", text: "Token expired", title: "It goes on with a new token" }
    case "Refused":
      return { kind: "rest", text: "Not live", title: wordsOf(failure.value) }
  }
}

export const LiveBadge = ({ live }: { readonly live: Live }) => {
  const isLost = unreachableSince.value !== undefined && live.state.value._tag === "Live"
  const { kind, text, title } = isLost
    ? {
        kind: "lost",
        text: "Reconnecting…",
        title: "The deployment cannot be reached; the stream goes on from where it was",
      }
    : toldOf(live)
  return (
    <output
      class={`badge badge-${kind}`}
      title={title}
      data-live={isLost ? "Lost" : live.state.value._tag}
    >
      <span class="badge-dot" aria-hidden />
      {text}
      {kind === "live" ? undefined : (
        <button type="button" class="link" onClick={live.again}>
          now
        </button>
      )}
    </output>
  )
}
