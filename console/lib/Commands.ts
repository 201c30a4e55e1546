/**
 * What an operator can do, and what comes of it: told before it is done. Pure.
 *
 * - O1 Every command says what it changes, what it leaves, and whether it can be taken back.
 */
import { plural } from "./Format.ts"

/** A command and what it is about. */
export type Command =
  | {
      readonly kind: "approve" | "deny"
      readonly threadId: string
      readonly submissionId: string
      readonly name: string
      /** What the run asks, where it is known. */
      readonly summary?: string
      readonly data?: unknown
    }
  | {
      readonly kind: "resolve"
      readonly threadId: string
      readonly submissionId: string
      readonly name: string
      readonly recordId: string
    }
  | {
      readonly kind: "retry" | "abort"
      readonly threadId: string
      readonly submissionId: string
    }
  | { readonly kind: "wake" | "pause"; readonly threadId: string }
  | {
      readonly kind: "resume"
      readonly threadId: string
      /** What the thread tells of its pause, where that is known. */
      readonly told?: string
    }

export type CommandKind = Command["kind"]

interface Words {
  /** On a button. */
  readonly verb: string
  /** Over the form. */
  readonly title: string
  /** What comes of it. // O1 */
  readonly consequence: string
  /** Whether it ends something for good. */
  readonly grave: boolean
}

const words: Readonly<Record<CommandKind, Words>> = {
  approve: {
    verb: "Approve",
    title: "Approve what the run asks",
    consequence:
      "The run goes on with your approval. The first decision stands: nobody can change it afterwards, you included.",
    grave: false,
  },
  deny: {
    verb: "Deny",
    title: "Deny what the run asks",
    consequence:
      "The run goes on and is told that it was denied; what it does then is its own. The first decision stands.",
    grave: false,
  },
  resolve: {
    verb: "Resolve",
    title: "Say what became of the call",
    consequence:
      "The submission goes on once no call of it is in doubt. The first word decides. Look at the provider before you say it.",
    grave: true,
  },
  retry: {
    verb: "Retry now",
    title: "Try it at once",
    consequence:
      "Ends the wait of the thread's fault, backoff, stall or missing agent, and the rest between two attempts. A call that may have happened is not made again, and no decision is replaced.",
    grave: false,
  },
  abort: {
    verb: "Abort",
    title: "End this submission",
    consequence:
      "It settles as aborted: at once if it does not run, else after at most ten seconds. What it has done outside is not undone. This cannot be taken back.",
    grave: true,
  },
  wake: {
    verb: "Wake",
    title: "Have the thread looked at",
    consequence:
      "Ends a stall and a backoff, and has the thread visited. It clears no fault and changes no decision.",
    grave: false,
  },
  pause: {
    verb: "Pause",
    title: "Pause the thread",
    consequence:
      "It goes on to accept input and commands, and starts nothing until it is resumed. A run that is under way goes on to its end.",
    grave: false,
  },
  resume: {
    verb: "Resume",
    title: "Resume the thread",
    consequence:
      "Its work starts again, in order. Whoever paused it may have had a reason: know it before you do this.",
    grave: false,
  },
}

export const wordsOfCommand = (kind: CommandKind): Words => words[kind]

/** Whether the contract takes an author and a reason: `wake` alone has none. */
export const hasWords = (kind: CommandKind): boolean => kind !== "wake"

/** What may be said about a call of unknown outcome. */
export const resolutions = [
  {
    tag: "CompletedWithResult",
    label: "It happened",
    consequence: "The run goes on with the result that you give. It must fit the tool's schema.",
  },
  {
    tag: "NeverHappened",
    label: "It never happened",
    consequence: "The call is made again. Say it only when you have seen that it did not.",
  },
  {
    tag: "SafeToRetry",
    label: "Making it again does no harm",
    consequence: "The call is made again, whether it happened or not.",
  },
  {
    tag: "AbortSubmission",
    label: "Nobody needs it any more",
    consequence: "The submission settles as aborted. The doubt stays on record.",
  },
] as const

export type ResolutionTag = (typeof resolutions)[number]["tag"]

/** What is still to be said after one call was; nothing if that was all. */
export const leftInDoubt = (undecided: number): string =>
  undecided === 0
    ? ""
    : ` ${plural(undecided, "more call of it is", "more calls of it are")} in doubt.`

/** The result as it was typed. */
export const readResult = (
  text: string,
): { readonly value: unknown } | { readonly problem: string } => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : "It is no JSON" }
  }
}

const authorCharacters = 256
const reasonCharacters = 1_024

/** What is wrong with the words of a command; nothing if they can be sent. */
export const problemOf = (said: {
  readonly author: string
  readonly reason: string
}): string | undefined => {
  if (said.author.trim() === "") return "Say who you are."
  if (said.author.length > authorCharacters)
    return `A name has at most ${authorCharacters} characters.`
  if (said.reason.trim() === "") return "Say why: whoever looks at this thread next will read it."
  return said.reason.length > reasonCharacters
    ? `A reason has at most ${reasonCharacters} characters.`
    : undefined
}
