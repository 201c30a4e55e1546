/** How long it is told what was done, and what was not. */
import { beforeEach, expect, it, vi } from "vitest"

interface Notice {
  readonly notice: { readonly value: string }
  readonly failures: { readonly value: ReadonlyArray<string> }
  readonly tell: (text: string) => void
  readonly tellFailure: (text: string) => void
  readonly takeNote: (text: string) => void
}

interface Session {
  readonly signOut: () => void
}

const load = (file: string): Promise<unknown> => import(`../../../console/state/${file}.ts`)

beforeEach(() => {
  vi.resetModules()
  vi.useFakeTimers()
  return () => void vi.useRealTimers()
})

it("what was done goes by itself, and what was not once somebody has taken note", async () => {
  const { failures, notice, takeNote, tell, tellFailure } = (await load("Notice")) as Notice
  tell("one was done")
  tellFailure("another was not")
  tellFailure("and this was not")
  tell("a third was done")
  expect(notice.value).toBe("a third was done")
  vi.advanceTimersByTime(3_600_000)
  expect(notice.value).toBe("")
  expect(failures.value).toEqual(["another was not", "and this was not"])
  takeNote("another was not")
  expect(failures.value).toEqual(["and this was not"])
})

it("what was not done of one reader is told to no other", async () => {
  const { failures, tellFailure } = (await load("Notice")) as Notice
  const { signOut } = (await load("Session")) as Session
  tellFailure("it was not")
  signOut()
  expect(failures.value).toEqual([])
})
