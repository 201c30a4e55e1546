/**
 * Where the reader is on the page, for who goes by the keyboard or by ear.
 *
 * - F1 Whoever's place goes away, as a decision or another page has it, goes on in the page, or in the form over it, and not
 *   before its beginning.
 */
const textTags = ["INPUT", "TEXTAREA", "SELECT"]

/** Whether somebody may be typing there. */
export const takesText = (target: unknown): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || textTags.includes(target.tagName))

export const openForm = (): HTMLElement | null => document.querySelector("dialog[open]")

/** Whether the reader is at no place in particular. */
export const isNowhere = (): boolean =>
  document.activeElement === document.body || document.activeElement?.tagName === "MAIN"

export const keepFocus = (): void => {
  let place: unknown
  addEventListener("focusin", ({ target }) => (place = target))
  const look = () => {
    const isGone = place instanceof Node && !place.isConnected
    if (!isGone || document.activeElement !== document.body) return
    place = undefined
    const next = openForm() ?? document.querySelector("main")
    next?.focus({ preventScroll: true }) // F1
  }
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true })
}
