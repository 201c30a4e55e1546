/** Visitors who write while they are being answered: what they write joins the run that answers. */
import { Effect } from "effect"
import type { Settlement, ThreadId } from "../../../contracts/index.ts"
import { field, each, type Scene, type Stage, threadsNamed } from "./Scene.ts"

const visitors = 12
const linesEach = 5

const heardBy = (settlement: Settlement): number => Number(field(settlement.output, "heard") ?? 0)

/** One conversation: how many runs there were, and what is wrong with it. */
const converse = Effect.fnUntraced(function* (stage: Stage, threadId: ThreadId) {
  const receipts = yield* Effect.forEach(Array.from({ length: linesEach }), (_, line) =>
    stage.submit({
      threadId,
      agent: "conversation",
      key: `${threadId}:${line}`,
      input: { text: `line ${line + 1}` },
      delivery: "join",
    }),
  )
  const settlements = yield* Effect.forEach(receipts, stage.settled)
  const hosts = settlements.filter(({ hostSubmissionId }) => hostSubmissionId === undefined)
  const heard = hosts.reduce((sum, host) => sum + heardBy(host), 0)
  const strangers = settlements.filter(
    ({ hostSubmissionId, outcome }) =>
      outcome !== "completed" ||
      (hostSubmissionId !== undefined &&
        !hosts.some(({ submissionId }) => submissionId === hostSubmissionId)),
  )
  const isRight = heard === linesEach && strangers.length === 0
  const finding = `${threadId}: ${heard} of ${linesEach} lines heard, ${strangers.length} not settled with a run`
  return { runs: hosts.length, findings: isRight ? [] : [finding] }
})

export const conversationsScene: Scene = Effect.fnUntraced(function* (stage) {
  const talks = yield* each(threadsNamed("visitor", visitors), (threadId) =>
    converse(stage, threadId),
  )
  const runs = talks.reduce((sum, talk) => sum + talk.runs, 0)
  const lines = visitors * linesEach
  return {
    example: "03-conversation",
    threads: visitors,
    submissions: lines,
    told: `${lines} lines in ${runs} runs, ${lines - runs} joined one that was under way`,
    findings: talks.flatMap(({ findings }) => findings),
  }
})
