/** Words about threads that nobody has ever submitted to: they are answered, and nothing of them is left. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { RecordId, StepName, SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"
import { echo } from "./waiting.ts"

const threadId = ThreadId.make("nobody")
const submissionId = SubmissionId.make("01900000-0000-7000-8000-000000000001")
const words = { ownerId, threadId, author: "ann", reason: "because" }
const about = { ...words, submissionId }
type Client = ReturnType<typeof makeLoom>["client"]
type Said = (client: Client) => Effect.Effect<unknown, unknown>

const notFound = { _tag: "SubmissionNotFound" }

const said: ReadonlyArray<readonly [string, Said, object]> = [
  ["abort", (client) => client.abort(about), notFound],
  ["retry", (client) => client.retry(about), notFound],
  [
    "resolveUnknown",
    (client) =>
      client.resolveUnknown({
        ...about,
        recordId: RecordId.make("a".repeat(32)),
        resolution: { _tag: "SafeToRetry" },
      }),
    notFound,
  ],
  [
    "resolveApproval",
    (client) => client.resolveApproval({ ...about, name: StepName.make("go"), approved: true }),
    notFound,
  ],
  [
    "signal",
    (client) =>
      client.signal({
        ownerId,
        threadId,
        submissionId,
        name: StepName.make("go"),
        payload: 1,
      }),
    notFound,
  ],
  ["resumeThread", (client) => client.resumeThread(words), { paused: false }],
  [
    "unschedule",
    (client) => client.unschedule({ ownerId, threadId, name: StepName.make("daily") }),
    { removed: false },
  ],
]

it.each(said)(
  "%s of an unknown thread leaves neither a lane nor tables",
  async (_, say, answer) => {
    const loom = makeLoom({ agents: [echo] })
    await Effect.runPromise(loom.submit("known"))
    await loom.quiet()
    const answered = await Effect.runPromise(
      Effect.match(say(loom.client), {
        onFailure: (error) => error,
        onSuccess: (reply) => reply,
      }),
    )
    expect(answered).toMatchObject(answer)
    await loom.quiet()
    expect(loom.lane("nobody")).toBeUndefined()
    const database = loom.database(threadId)
    expect(database?.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
    expect(database?.alarmAt()).toBeNull()
  },
)
