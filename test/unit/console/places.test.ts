/** Where the reader is after a step, in a browser of a few lines: a real one hides the half, as short pages begin at their top. */
import { beforeEach, describe, expect, it, vi } from "vitest"

/** A browser with pages long enough that where it is scrolled to stays until somebody scrolls. */
const makeBrowser = () => {
  const entries: Array<unknown> = [null]
  let at = 0
  const window = { scrollY: 0 }
  const history = {
    get state() {
      return entries[at]
    },
    replaceState: (state: unknown) => void (entries[at] = state),
    scrollRestoration: "auto",
  }
  vi.stubGlobal("window", window)
  vi.stubGlobal("history", history)
  vi.stubGlobal("scrollTo", (_: number, y: number) => void (window.scrollY = y))
  const push = () => void entries.splice(++at, Infinity, null)
  const back = () => void at--
  return { window, push, back, history }
}

beforeEach(() => {
  vi.resetModules()
  return () => vi.unstubAllGlobals()
})

/** The parts of it that are asked here: it is compiled for browsers, and so not beside this file. */
interface Places {
  readonly stepTaken: () => void
  readonly keeper: () => (question: string, list: unknown) => void
  readonly keptList: (
    question: string,
  ) => { readonly list: unknown; readonly scroll: () => void } | undefined
}

interface Session {
  readonly token: { value: string }
}

const load = (file: string): Promise<unknown> => import(`../../../console/state/${file}.ts`)

const open = async () => {
  const browser = makeBrowser()
  return { ...browser, places: (await load("Places")) as Places }
}

describe("a step", () => {
  it("forward begins at the top, and one back ends where that page was left", async () => {
    const { back, history, places, push, window } = await open()
    expect(history.scrollRestoration).toBe("manual")
    const keep = places.keeper()
    window.scrollY = 700
    push()
    places.stepTaken()
    keep("threads?", ["a", "b"])
    expect(window.scrollY).toBe(0)
    expect(places.keptList("threads?")).toBeUndefined()
    window.scrollY = 40
    back()
    places.stepTaken()
    // The page is as long as it was only once it has its list again.
    const kept = places.keptList("threads?")
    expect(kept?.list).toEqual(["a", "b"])
    kept?.scroll()
    expect(window.scrollY).toBe(700)
  })

  it("keeps nothing of who has left, and of twenty pages at most", async () => {
    const { back, places, push } = await open()
    const { token } = (await load("Session")) as Session
    token.value = "t"
    const keepAndGo = (name: string) => {
      const keep = places.keeper()
      push()
      places.stepTaken()
      keep(name, name)
    }
    keepAndGo("first")
    for (let step = 0; step < 20; step++) keepAndGo(`${step}`)
    const goBack = (steps: number) => {
      for (let step = 0; step < steps; step++) back()
      places.stepTaken()
    }
    // The page that is left for this one counts as well.
    goBack(19)
    expect(places.keptList("1")?.list).toBe("1")
    goBack(1)
    expect(places.keptList("0")).toBeUndefined()
    goBack(1)
    expect(places.keptList("first")).toBeUndefined()
    keepAndGo("last")
    token.value = ""
    goBack(1)
    expect(places.keptList("last")).toBeUndefined()
  })
})
