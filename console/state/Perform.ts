/** Sends a command to the deployment, and says in a sentence what it came to. */
import type { Json, Resolution } from "../../client/sdk/index.ts"
import { type Command, leftInDoubt, type ResolutionTag } from "../lib/Commands.ts"
import { wordsOf } from "../lib/Condition.ts"
import { agoOf } from "../lib/Format.ts"
import { asking, heddle } from "./Deployment.ts"
import { present } from "./Now.ts"

/** What was typed beside the command. */
export interface Said {
  readonly author: string
  readonly reason: string
  readonly resolution: ResolutionTag
  /** Of a call that happened. */
  readonly result: unknown
  readonly isFailure: boolean
}

const resolutionOf = ({ isFailure, resolution, result }: Said): Resolution =>
  resolution === "CompletedWithResult"
    ? { _tag: resolution, result: result as Json, ...(isFailure ? { isFailure } : {}) }
    : { _tag: resolution }

const nowStands = (state: string): string => `It is ${wordsOf(state).label} now.`

const perform = async (ownerId: string, command: Command, said: Said): Promise<string> => {
  const { author, reason } = said
  const words = { ownerId, threadId: command.threadId, author, reason }
  switch (command.kind) {
    case "approve":
    case "deny": {
      const { name, submissionId } = command
      const approved = command.kind === "approve"
      const { state } = await heddle.resolveApproval({ ...words, submissionId, name, approved })
      return `${approved ? "Approved" : "Denied"}. ${nowStands(state)}`
    }
    case "resolve": {
      const { recordId, submissionId } = command
      const resolution = resolutionOf(said)
      const reply = await heddle.resolveUnknown({ ...words, submissionId, recordId, resolution })
      return `Your word is on record. ${nowStands(reply.state)}${leftInDoubt(reply.undecided)}`
    }
    case "retry": {
      const reply = await heddle.retry({ ...words, submissionId: command.submissionId })
      const when = reply.dueAt === undefined ? "" : ` It is tried ${agoOf(reply.dueAt, present())}.`
      return `${nowStands(reply.state)}${when}`
    }
    case "abort": {
      const reply = await heddle.abort({ ...words, submissionId: command.submissionId })
      return reply._tag === "Settled"
        ? `It has settled: ${reply.settlement.outcome}.`
        : "It is being aborted: its run has ten seconds to stop."
    }
    case "pause":
    case "resume": {
      const reply =
        command.kind === "pause"
          ? await heddle.pauseThread(words)
          : await heddle.resumeThread(words)
      return reply.paused ? "The thread is paused." : "The thread is not paused any more."
    }
    case "wake": {
      await heddle.wake({ ownerId, threadId: command.threadId })
      return "The thread is looked at."
    }
  }
}

export const performing = (ownerId: string, command: Command, said: Said): Promise<string> =>
  asking(() => perform(ownerId, command, said))
