/**
 * Keys: `/` goes to the search, `g` and a letter to a page of the owner, as in `g t`. None of them is heard while somebody
 * types, or while a form is open.
 */
import { hrefOf, type Route } from "../lib/Route.ts"
import { openForm, takesText } from "./Focus.ts"
import { goTo, route } from "./Location.ts"

const pagesOf = (ownerId: string): Readonly<Record<string, Route>> => ({
  o: { page: "owner", ownerId },
  t: { page: "threads", ownerId, filter: {} },
  b: { page: "obligations", ownerId },
  f: { page: "faults", ownerId },
})

const toSearch = (ownerId: string): void => {
  const input = document.querySelector<HTMLInputElement>("#search")
  if (input !== null) return input.focus()
  location.hash = hrefOf({ page: "threads", ownerId, filter: {} })
  setTimeout(() => document.querySelector<HTMLInputElement>("#search")?.focus(), 100)
}

const chordMillis = 1_200

export const listenToKeys = (): void => {
  let goAt = 0
  addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (!isPlain || takesText(event.target) || openForm() !== null) return
    const at = route.value
    if (!("ownerId" in at)) return
    if (event.key === "/") {
      event.preventDefault()
      toSearch(at.ownerId)
    } else if (event.key === "g") goAt = event.timeStamp
    else if (event.timeStamp - goAt < chordMillis) {
      goAt = 0
      const to = pagesOf(at.ownerId)[event.key]
      if (to !== undefined) goTo(to)
    }
  })
}
