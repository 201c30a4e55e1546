/**
 * `run.approval`: asks people, and waits for their decision. Denial is a value, and so is expiry.
 */
import type { Duration } from "effect"
import { Effect, Result } from "effect"
import type { ApprovalDecision, ApprovalOptions } from "./Agent.ts"
import { giveUp, leave, type Recorded, type Running } from "./Fact.ts"
import { misuse } from "./Misuse.ts"
import { readDuration } from "./RetryPolicy.ts"
import { textOf, whyUnstorable } from "./StoredValue.ts"
import { recordedTime, timeAfter } from "./Timer.ts"
import { waitFor } from "./Waiting.ts"

/** What is asked, as canonical JSON, but for the time. */
interface Asked {
  readonly data: string | undefined
  readonly summary: string
  readonly expiresMillis: number | undefined
}

const expiresOf = (
  expires: Duration.Input | undefined,
): Result.Result<number | undefined, string> =>
  expires === undefined ? Result.succeed(undefined) : readDuration("expires", expires)

const summaryMax = 1_024

const isSummary = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length >= 1 &&
  value.length <= summaryMax &&
  value.isWellFormed() &&
  !value.includes("\0")

const payloadOf = ({ data, summary }: Asked, expiresAt: number | null): string => {
  const about = data === undefined ? "" : `"data":${data},`
  const until = expiresAt === null ? "" : `"expiresAt":${expiresAt},`
  return `{${about}${until}"summary":${JSON.stringify(summary)}}`
}

const ask = (running: Running, name: string, asked: Asked): Effect.Effect<Recorded> =>
  waitFor(running, {
    name,
    kind: "approval",
    requestKind: "ApprovalRequested",
    request: (now) => {
      const dueAt = asked.expiresMillis === undefined ? null : timeAfter(now, asked.expiresMillis)
      return { fact: { kind: "ApprovalRequested", payload: payloadOf(asked, dueAt) }, dueAt }
    },
    dueAtOf: recordedTime("expiresAt"),
  })

const decisionOf = ({ kind, payload }: Recorded): ApprovalDecision | undefined => {
  if (kind === "TimerFired") return { approved: false, expired: true }
  const { approved, author, reason } = payload
  return kind === "ApprovalDecided" && typeof approved === "boolean"
    ? { approved, expired: false, author: String(author), reason: String(reason) }
    : undefined
}

/** The approval, as `Run` offers it. */
export const approval = (
  running: Running,
  name: string,
  options: ApprovalOptions,
): Effect.Effect<ApprovalDecision> =>
  Effect.suspend(() => {
    const { data, expires, summary } = options
    if (!isSummary(summary))
      return misuse(`approval ${name}: the summary has 1 to ${summaryMax} characters of text`)
    const expiresMillis = expiresOf(expires)
    if (Result.isFailure(expiresMillis)) return misuse(`approval ${name}: ${expiresMillis.failure}`)
    const text =
      data === undefined
        ? Result.succeed(undefined)
        : textOf(data, { limits: running.thread.limits, size: "recordBytes" })
    if (Result.isFailure(text)) {
      const why = `the data of approval ${name} ${whyUnstorable(text.failure)}`
      return text.failure._tag === "TooLarge" ? giveUp(running, "ResultTooLarge", why) : misuse(why)
    }
    const asked = { data: text.success, summary, expiresMillis: expiresMillis.success }
    return Effect.flatMap(ask(running, name, asked), (answer) => {
      const decision = decisionOf(answer)
      return decision === undefined
        ? leave(running, { _tag: "Mismatch", name })
        : Effect.succeed(decision)
    })
  })
