/** Arguments and flags that several commands take, checked before anything is sent. */
import { Option } from "effect"
import { Argument, Flag } from "effect/cli"
import { AgentId, RecordId, StepName, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import { momentOf } from "./Times.ts"

const idPattern = (charactersMax: number) => new RegExp(`^[A-Za-z0-9._:-]{1,${charactersMax}}$`)
const idWords = (charactersMax: number) =>
  `1 to ${charactersMax} characters out of A-Z a-z 0-9 . _ : -`

/** The thread a command is about. */
export const thread = Argument.String("thread").pipe(
  Argument.withDescription("The thread"),
  Argument.filter(
    (text) => idPattern(128).test(text),
    () => `a thread id: ${idWords(128)}`,
  ),
  Argument.map((text) => ThreadId.make(text)),
)

export const isThreadId = (text: string): boolean => idPattern(128).test(text)

const isSubmissionId = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
const submissionWords =
  "a submission id as a receipt has it, such as 01a2296d-d875-7000-acd4-19af00000001"

/** The submission a command is about. */
export const submission = Argument.String("submission").pipe(
  Argument.withDescription("The submission, as its receipt names it"),
  Argument.filter(isSubmissionId, () => submissionWords),
  Argument.map((text) => SubmissionId.make(text)),
)

/** A submission that a flag names. */
export const submissionFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(isSubmissionId, () => submissionWords),
    Flag.map((text) => SubmissionId.make(text)),
    Flag.withMetavar("submission"),
    Flag.withDescription(description),
  )

export const isStepName = (text: string): boolean =>
  /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,128}$/u.test(text)

/** A name that somebody chose: of what a run waits for, or of a schedule. */
export const stepName = (description: string) =>
  Argument.String("name").pipe(
    Argument.withDescription(description),
    Argument.filter(isStepName, () => "1 to 128 printable characters"),
    Argument.map((text) => StepName.make(text)),
  )

/** The record that a resolution answers. */
export const record = Argument.String("record").pipe(
  Argument.withDescription("The recordId of the call, as explain and obligations tell it"),
  Argument.filter(
    (text) => /^[0-9a-f]{32}$/.test(text),
    () => "32 hexadecimal digits, as heddle explain shows them",
  ),
  Argument.map((text) => RecordId.make(text)),
)

export const agent = Flag.String("agent").pipe(
  Flag.withAlias("a"),
  Flag.withDescription("The agent that works on it"),
  Flag.filter(
    (text) => idPattern(64).test(text),
    () => `an agent's name: ${idWords(64)}`,
  ),
  Flag.map((text) => AgentId.make(text)),
)

/** The key of an intent: whoever repeats it with the same one gets the first receipt. */
export const key = Flag.String("key").pipe(
  Flag.filter(
    (text) => /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u.test(text),
    () => "1 to 256 printable characters",
  ),
  Flag.withDescription("The idempotency key of this intent (default: a new one)"),
  Flag.optional,
)

/** A whole number that is not negative. */
export const count = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 0,
      () => "a number that is not negative",
    ),
    Flag.withDescription(description),
  )

export const moment = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.mapTryCatch(momentOf, (error) => (error instanceof Error ? error.message : String(error))),
    Flag.withMetavar("moment"),
    Flag.withDescription(description),
  )

const words = (name: string, charactersMax: number) =>
  Flag.String(name).pipe(
    Flag.filter(
      (text) => text !== "" && text.length <= charactersMax && !text.includes("\0"),
      () => `1 to ${charactersMax} characters`,
    ),
  )

/** Who says so; the person at the terminal unless another is named. */
export const author = words("author", 256).pipe(
  Flag.withDescription("Who says so (HEDDLE_AUTHOR; default your user name)"),
  Flag.optional,
)

/** Why: it is recorded with the command. */
export const reason = words("reason", 1_024).pipe(
  Flag.withAlias("m"),
  Flag.withDescription("Why; it is recorded"),
)

/** Fields of a payload without those that were not given. */
export const given = <A>(name: string, option: Option.Option<A>): Record<string, A> =>
  Option.match(option, { onNone: () => ({}), onSome: (value) => ({ [name]: value }) })
