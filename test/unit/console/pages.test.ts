/** A list that comes in pages: what is wanted of it while something else is read, and what it says of what failed. */
import { afterEach, describe, expect, it } from "vitest"
import type { Page } from "../../../console/state/PageReader.ts"
import { closePage, openPage } from "./consolePage.ts"

afterEach(closePage)

/** A list of numbers, in pages of two. A call waits where a test holds it. */
const openList = async (length: number) => {
  const { pass } = await openPage({})
  const { noPages, readPages } = await import("../../../console/state/PageReader.ts")
  let rows = Array.from({ length }, (_, index) => `${index}`)
  let failure: Error | undefined
  let held: Promise<void> | undefined
  const asked: Array<string | undefined> = []
  const size = length > 100 ? 600 : 2
  const reader = readPages<string>(noPages(), async (after): Promise<Page<string>> => {
    asked.push(after)
    const failing = failure
    const from = Number(after ?? 0)
    const page = rows.slice(from, from + size)
    await held
    if (failing !== undefined) throw failing
    return { rows: page, next: from + size < rows.length ? `${from + size}` : undefined }
  })
  const settle = () => pass(1)
  return {
    ...reader,
    asked,
    settle,
    become: (now: ReadonlyArray<string>) => void (rows = [...now]),
    fail: (error: Error | undefined) => void (failure = error),
    hold: () => {
      let goOn = (): void => undefined
      held = new Promise((resolve) => (goOn = resolve))
      return () => {
        held = undefined
        goOn()
      }
    },
    shown: () => reader.pages.value.rows,
  }
}

describe("a list", () => {
  it("has one page more that was asked for while it was read again, and is read again after what is asked for", async () => {
    const { again: _, asked, become, hold, more, refresh, settle, shown } = await openList(6)
    more()
    await settle()
    const goOn = hold()
    const refreshing = refresh()
    await settle()
    more()
    more()
    goOn()
    await refreshing
    await settle()
    expect(shown()).toEqual(["0", "1", "2", "3"])
    expect(asked).toEqual([undefined, undefined, "2"])
    const goOnAgain = hold()
    more()
    await settle()
    become(["9", "8", "7", "6", "5", "4"])
    const renewed = refresh()
    goOnAgain()
    await renewed
    expect(shown()).toEqual(["9", "8", "7", "6", "5", "4"])
  })

  it("is read again once more where it changes while it is read again", async () => {
    const { become, hold, more, refresh, settle, shown } = await openList(2)
    more()
    await settle()
    const goOn = hold()
    void refresh()
    await settle()
    become(["9", "8"])
    const last = refresh()
    goOn()
    await last
    expect(shown()).toEqual(["9", "8"])
  })

  it("shows what a row was told to have become while it was read", async () => {
    const { change, hold, more, refresh, settle, shown } = await openList(2)
    more()
    await settle()
    const goOn = hold()
    const refreshing = refresh()
    await settle()
    change((row) => (row === "1" ? "one" : row))
    expect(shown()).toEqual(["0", "one"])
    goOn()
    await refreshing
    expect(shown()).toEqual(["0", "one"])
  })

  it("forgets a failure with the next reading that succeeds, whichever it is", async () => {
    const { again, fail, more, pages, refresh, settle, shown } = await openList(4)
    const error = new Error("too much at once")
    fail(error)
    more()
    await settle()
    expect(pages.value).toMatchObject({ error, isReading: false })
    fail(undefined)
    await refresh()
    expect(pages.value).toMatchObject({ error: undefined, rows: ["0", "1"] })
    more()
    await settle()
    expect(pages.value).toMatchObject({ isWhole: true })
    // It is whole, and so there is no more of it to ask for.
    fail(error)
    await refresh()
    expect(pages.value).toMatchObject({ error, isWhole: true })
    expect(shown()).toHaveLength(4)
    fail(undefined)
    again()
    await settle()
    expect(pages.value).toMatchObject({ error: undefined, isWhole: true })
  })

  it("says that it may have changed where it is too long to be read again by itself", async () => {
    const { asked, become, more, pages, refresh, settle, shown } = await openList(1_200)
    more()
    await settle()
    await refresh()
    expect(pages.value.isStale).toBe(false)
    more()
    await settle()
    const before = asked.length
    become([])
    await refresh()
    expect(pages.value.isStale).toBe(true)
    expect(shown()).toHaveLength(1_200)
    expect(asked).toHaveLength(before)
  })

  it("is read again in eight calls at most: where more are needed it may have changed, too", async () => {
    const { asked, more, pages, refresh, settle, shown } = await openList(40)
    for (let page = 0; page < 9; page++) {
      more()
      await settle()
    }
    await refresh()
    expect(asked).toHaveLength(17)
    expect(pages.value.isStale).toBe(true)
    expect(shown()).toHaveLength(18)
  })
})
