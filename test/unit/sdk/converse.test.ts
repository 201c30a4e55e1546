/** The front end of a conversation that the guide shows, against answers that a test says. */
import { expect, it } from "vitest"
import { interrupt, listen, say } from "../../../examples/13-converse.ts"
import { receipt, submissionId } from "../client/fakes.ts"
import { failed, fakeBinding, never, ok } from "./fakeBinding.ts"

const talk = { ownerId: "shop-7", threadId: "visitor-1" }
const line = { ...talk, submissionId }
const host = `${submissionId.slice(0, -1)}9`

it("a line asks to join, under a key of its own", async () => {
  const fake = fakeBinding(() => ok(receipt))
  await say(fake, talk, { id: "line-1", text: "hello" })
  expect(fake.requests[0]).toMatchObject({
    tag: "submit",
    payload: {
      ...talk,
      agent: "conversation",
      delivery: "join",
      idempotencyKey: "line-1",
      input: { text: "hello" },
    },
  })
})

const emitted = (attemptId: string, index: number, word: string) => ({
  _tag: "Emitted",
  submissionId,
  attemptId,
  index,
  chunk: { turn: 1, word },
})

it("words are shown as they come, anew for another attempt, with what was missed; answers when they are on record", async () => {
  const record = { submissionId, epoch: 1, recordedAt: 1, name: "said-1" }
  const fake = fakeBinding(async (request, push) => {
    await push(
      { _tag: "Opened", tailSequence: 4 },
      emitted("one", 0, "You"),
      emitted("one", 1, "said"),
      emitted("two", 0, "You"),
      { _tag: "Gap", dropped: 3 },
      { _tag: "Record", record: { ...record, sequence: 5, kind: "StateChanged", payload: {} } },
      {
        _tag: "Record",
        record: { ...record, sequence: 6, kind: "Progress", payload: { data: { answer: "hi" } } },
      },
    )
    return never(request, push)
  })
  const shown = []
  const leave = new AbortController()
  for await (const one of listen(fake, talk, { after: 4, signal: leave.signal })) {
    shown.push(one)
    if ("answer" in one) break
  }
  expect(fake.requests[0]).toMatchObject({ tag: "observe", payload: { ...talk, after: 4 } })
  expect(shown).toEqual([
    { word: { turn: 1, word: "You" }, anew: true },
    { word: { turn: 1, word: "said" }, anew: false },
    { word: { turn: 1, word: "You" }, anew: true },
    { missed: 3 },
    { answer: { data: { answer: "hi" } }, after: 6 },
  ])
})

it("a line that was taken is interrupted with its host; one that was answered is told so", async () => {
  const joined = fakeBinding(
    () => failed({ _tag: "JoinedToHost", submissionId, hostSubmissionId: host }),
    () => ok({ _tag: "Aborting" }),
  )
  expect(await interrupt(joined, line)).toBe("interrupted")
  expect(joined.requests.map(({ payload }) => payload)).toMatchObject([
    { submissionId },
    { submissionId: host },
  ])
  const settled = fakeBinding(() =>
    failed({ _tag: "SettlementConflict", submissionId, outcome: "completed" }),
  )
  expect(await interrupt(settled, line)).toBe("was answered already")
})
