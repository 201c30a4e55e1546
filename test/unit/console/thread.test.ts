/** The page of a thread: what it learns that no record tells, and what it says of older records that could not be read. */
import { afterEach, describe, expect, it } from "vitest"
import { type Answers, closePage, denied, feed, openPage, overloaded } from "./consolePage.ts"

afterEach(closePage)

const recordOf = (sequence: number) => ({
  sequence,
  submissionId: "s",
  kind: "Progress",
  epoch: 1,
  recordedAt: 1,
  payload: null,
})

const open = async (answers: Answers) => {
  const observed = feed()
  observed.tell({ _tag: "Opened", tailSequence: 9 })
  const page = await openPage({
    history: ({ after }) => ({ records: after === undefined ? [recordOf(9)] : [] }),
    explain: () => [],
    observe: observed.told,
    ...answers,
  })
  const { openThread } = await import("../../../console/state/ThreadView.ts")
  const view = openThread({ ownerId: "shop", threadId: "a" })
  await page.pass(1_000)
  return { ...page, view, observed }
}

describe("what holds a thread", () => {
  it("is seen without a record, while somebody looks and something is open", async () => {
    let heldBy: ReadonlyArray<unknown> = []
    const { count, look, pass, view } = await open({
      explain: () => [{ submissionId: "s", heldBy }],
    })
    heldBy = [{ blocker: "paused" }]
    await pass(16_000)
    expect(view.open.value).toEqual([{ submissionId: "s", heldBy }])
    look(false)
    const before = count("explain")
    await pass(60_000)
    expect(count("explain")).toBe(before)
    view.stop()
  })

  it("is not asked again and again where nothing is open, it is denied, or the stream does not stand", async () => {
    const refuse = () => {
      throw denied("explain")
    }
    const rests = async function* () {
      yield { _tag: "Opened", tailSequence: 9 }
    }
    const isOpen = { explain: () => [{ submissionId: "s" }] }
    for (const answers of [{}, { explain: refuse }, { ...isOpen, observe: rests }]) {
      const { count, pass, view } = await open(answers)
      await pass(5_000)
      const before = count("explain")
      // The first look of a rest asks once.
      await pass(35_000)
      expect(count("explain") - before).toBeLessThan(2)
      view.stop()
      closePage()
    }
  })
})

describe("older records that could not be read", () => {
  it("are told so, whatever else is answered, and are read when it is tried again", async () => {
    let failures = 1
    const { observed, pass, renew, view } = await open({
      history: ({ before }) => {
        if (before === Number.MAX_SAFE_INTEGER) return { records: [recordOf(9)], next: 9 }
        if (failures-- > 0) throw overloaded()
        return { records: [recordOf(before === 9 ? 8 : 7)], ...(before === 9 ? { next: 8 } : {}) }
      },
    })
    const sequences = () => view.records.value.map(({ sequence }) => sequence)
    view.readOlder()
    expect(view.isReadingOlder.value).toBe(true)
    await pass(10)
    observed.tell({ _tag: "Record", record: recordOf(10) })
    await pass(2_000)
    expect(view.olderError.value).toMatchObject({ tag: "Unavailable" })
    expect([view.error.value, view.isReadingOlder.value]).toEqual([undefined, false])
    view.readOlder()
    await pass(10)
    expect([view.olderError.value, sequences()]).toEqual([undefined, [8, 9, 10]])
    failures = 1
    view.readOlder()
    await pass(10)
    expect(view.olderError.value).toMatchObject({ tag: "Unavailable" })
    renew()
    await pass(10)
    expect([view.olderError.value, sequences()]).toEqual([undefined, [7, 8, 9, 10]])
    view.stop()
  })
})
