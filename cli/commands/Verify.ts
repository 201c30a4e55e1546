/** `heddle verify`: whether a thread's history and ledger hold together, all of it. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { VerifyCheck } from "../../contracts/Verify.ts"
import { ExitCode } from "../ExitCode.ts"
import { goesOn } from "../Pages.ts"
import { thread } from "../Parameters.ts"
import { type Session, withSession } from "../Session.ts"
import { Stopped } from "../Stopped.ts"
import { listTable } from "../Table.ts"

const weight = { Passed: 0, Skipped: 1, Failed: 2 } as const

/** Of one check on two pages: what failed counts, with its places; else what was skipped. */
const joined = (one: VerifyCheck | undefined, other: VerifyCheck): VerifyCheck => {
  if (one === undefined) return other
  if (one._tag === "Failed" && other._tag === "Failed") {
    return { ...one, places: one.places + other.places }
  }
  return weight[one._tag] >= weight[other._tag] ? one : other
}

const verifyAll = Effect.fnUntraced(function* (
  session: Session,
  place: { readonly ownerId: OwnerId; readonly threadId: ThreadId },
) {
  const checks = new Map<string, VerifyCheck>()
  let records = 0
  let after: number | undefined = 0
  while (after !== undefined) {
    const reply: Effect.Success<ReturnType<Session["client"]["rpc"]["verify"]>> =
      yield* session.client.rpc.verify({ ...place, after })
    for (const check of reply.checks) {
      checks.set(check.check, joined(checks.get(check.check), check))
    }
    records += reply.records
    after = yield* goesOn(after, reply.next)
    yield* session.output.progress(`Verifying: ${records} records`)
  }
  return { checks: [...checks.values()], records }
})

const detailOf = (check: VerifyCheck): string => {
  if (check._tag === "Failed") return `${check.places} places; the first: ${check.detail}`
  return check._tag === "Skipped" ? check.why : ""
}

export const verify = Command.make("verify", { thread }, ({ thread: threadId }) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const result = yield* verifyAll(session, { ownerId, threadId })
      yield* session.show(result, () =>
        listTable(
          ["check", "result", "detail"],
          result.checks.map((check) => [check.check, check._tag.toLowerCase(), detailOf(check)]),
        ),
      )
      if (!session.json) yield* session.output.note(`${result.records} records`)
      const failed = result.checks.filter((check) => check._tag === "Failed")
      if (failed.length === 0) return
      return yield* new Stopped({
        exitCode: ExitCode.refused,
        what: `The history of ${threadId} is not whole: ${failed.map(({ check }) => check).join(", ")}`,
        next: "Keep the database, restore the thread, then heddle reconcile it (docs/operate.md).",
      })
    }),
    threadId,
  ),
).pipe(
  Command.withDescription(
    "Check a thread's whole history and ledger. Writes nothing. Ends with 1 when a check fails.",
  ),
  Command.withShortDescription("Check a thread's history"),
  Command.withExamples([{ command: "heddle verify order-12" }]),
)
