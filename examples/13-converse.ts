/** A front end of a conversation: it says a line, shows answers while they are made, and cuts one short. */
import { createHeddle, type HeddleOptions, isHeddleError } from "../client/sdk/index.ts"

interface Talk {
  readonly ownerId: string
  readonly threadId: string
}

/** Says a line. It joins the run that answers just now, if that takes it; else it is answered by a run of its own. */
export const say = (options: HeddleOptions, talk: Talk, line: { id: string; text: string }) =>
  createHeddle(options).submit({
    ...talk,
    agent: "conversation",
    input: { text: line.text },
    delivery: "join",
    idempotencyKey: line.id, // sent again, it is the same line
  })

/** What there is to show. `after` is where to go on: keep the last one. */
type Shown =
  | { readonly word: unknown; readonly anew: boolean }
  | { readonly missed: number }
  | { readonly answer: unknown; readonly after: number }

/** Words as they come, and each answer once it is on record: it replaces the words before it. */
export async function* listen(
  options: HeddleOptions,
  talk: Talk,
  { after = 0, signal }: { readonly after?: number; readonly signal: AbortSignal },
): AsyncGenerator<Shown, void> {
  let attempt = ""
  for await (const frame of createHeddle(options).observe({ ...talk, after }, { signal })) {
    if (frame._tag === "Emitted") {
      yield { word: frame.chunk, anew: frame.attemptId !== attempt }
      attempt = frame.attemptId
    }
    if (frame._tag === "Gap") yield { missed: frame.dropped } // words only: the answer will be whole
    if (frame._tag === "Record" && frame.record.kind === "Progress")
      yield { answer: frame.record.payload, after: frame.record.sequence }
  }
}

interface Line extends Talk {
  readonly submissionId: string
}

/** Ends the run that answers this line, and with it whatever it has taken. */
export const interrupt = async (options: HeddleOptions, line: Line): Promise<string> => {
  const { ownerId, submissionId, threadId } = line
  const words = { author: "visitor", reason: "has changed the subject" }
  try {
    await createHeddle(options).abort({ ownerId, threadId, submissionId, ...words })
    return "interrupted"
  } catch (error) {
    if (!isHeddleError(error)) throw error
    if (error.tag === "JoinedToHost")
      return interrupt(options, { ...line, submissionId: error.hostSubmissionId })
    if (error.tag === "SettlementConflict") return "was answered already"
    throw error
  }
}
