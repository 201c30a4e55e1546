/** What stands around every page: where one is, where one can go, who one is, and what was just done. */
import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { durationOf } from "../lib/Format.ts"
import { hrefOf, type Route, titleOf } from "../lib/Route.ts"
import { asked } from "../state/Asked.ts"
import { isNowhere, openForm, takesText } from "../state/Focus.ts"
import { route } from "../state/Location.ts"
import { now } from "../state/Now.ts"
import { refused, signOut, words } from "../state/Session.ts"
import { nextTheme, theme } from "../state/Theme.ts"
import { CommandDialog } from "./CommandDialog.tsx"
import { Mark } from "./Mark.tsx"
import { Named } from "./Named.tsx"
import { Notices } from "./Notices.tsx"
import { TokenForm } from "./TokenForm.tsx"

const pagesOf = (ownerId: string): ReadonlyArray<readonly [string, Route]> => [
  ["Overview", { page: "owner", ownerId }],
  ["Threads", { page: "threads", ownerId, filter: {} }],
  ["Obligations", { page: "obligations", ownerId }],
  ["Faults", { page: "faults", ownerId }],
]

/** The section that a page belongs to. */
const sectionOf = ({ page }: Route): Route["page"] => {
  if (page === "thread") return "threads"
  return page === "fault" ? "faults" : page
}

const Navigation = ({ ownerId }: { readonly ownerId: string }) => {
  const section = sectionOf(route.value)
  return (
    <nav aria-label="Pages of the owner">
      {pagesOf(ownerId).map(([label, to]) => (
        <a key={label} href={hrefOf(to)} aria-current={to.page === section ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  )
}

const soonMillis = 10 * 60_000

/** Who is here, and how long the token lasts once that is soon over. */
const Identity = () => {
  const { expiresAt, principal } = words.value
  const left = expiresAt === undefined ? undefined : expiresAt - now.value
  return (
    <span class="identity">
      {principal === undefined ? undefined : <Named name={principal} />}
      {left !== undefined && left < soonMillis && left > 0 ? (
        <small> {durationOf(Math.floor(left / 1_000) * 1_000)} left</small>
      ) : undefined}
    </span>
  )
}

/** A disc that is dark, light, or half of each. */
const ThemeSign = () => (
  <svg
    class={`theme-sign theme-${theme.value}`}
    viewBox="0 0 16 16"
    width="15"
    height="15"
    aria-hidden
  >
    <circle cx="8" cy="8" r="6" />
    <path
      d={theme.value === "system" ? "M8 2a6 6 0 0 1 0 12z" : "M8 2a6 6 0 0 1 0 12 6 6 0 0 1 0-12z"}
    />
  </svg>
)

const Header = ({ ownerId }: { readonly ownerId: string | undefined }) => (
  <header class="top">
    <a class="brand" href={hrefOf({ page: "owners" })} aria-label="Heddle: all owners">
      <Mark size={24} />
      <span>Heddle</span>
    </a>
    {ownerId === undefined ? undefined : (
      <>
        <span class="owner-name mono">{ownerId}</span>
        <Navigation ownerId={ownerId} />
      </>
    )}
    <span class="spring" />
    <Identity />
    <button
      type="button"
      class="quiet small"
      onClick={nextTheme}
      title={`Colours: ${theme.value}`}
      aria-label={`Colours: ${theme.value}`}
    >
      <ThemeSign />
    </button>
    <button type="button" class="quiet small" onClick={signOut}>
      Leave
    </button>
  </header>
)

/** Leads the reader to the form while it is there, and back to where they were; nobody is drawn away from what they type. */
const useLed = (isHere: boolean) => {
  const form = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    if (!isHere || openForm() !== null || takesText(before)) return undefined
    form.current?.querySelector("input")?.focus()
    return () => {
      if (isNowhere() && before instanceof HTMLElement) before.focus({ preventScroll: true })
    }
  }, [isHere])
  return form
}

/** Asks for another token over the page, which stays. */
const Renewal = () => {
  const form = useLed(refused.value !== undefined)
  return refused.value === undefined ? undefined : (
    <section
      ref={form}
      class="renewal"
      role="alertdialog"
      aria-label="The token is not taken any more"
    >
      <div>
        <strong>Your token is not taken any more.</strong>
        <p>
          {refused.value}. What you see is as it was; it goes on with a new token, where it was.
        </p>
      </div>
      <TokenForm verb="Go on" />
    </section>
  )
}

const ownerOf = (at: Route): string | undefined => ("ownerId" in at ? at.ownerId : undefined)

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const at = route.value
  const title = titleOf(at)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${title} · Heddle`
    // Who does not see the page change hears where they are.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [title])
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        To the content
      </a>
      <Header ownerId={ownerOf(at)} />
      <Renewal />
      <main id="main" ref={main} tabIndex={-1} aria-label={title}>
        {children}
      </main>
      <Notices isHere={asked.value === undefined} />
      <CommandDialog />
    </>
  )
}
