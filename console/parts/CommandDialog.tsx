/**
 * The form of a command: what comes of it is told before it is done, and what refused it stays beside what was typed.
 *
 * - C1 A command is given once: the button waits for the answer.
 * - C2 A command that was refused leaves the form as it is.
 * - C3 An answer that comes after its form was left is told all the same, over whatever form is open then, and closes none.
 */
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import {
  hasWords,
  problemOf,
  readResult,
  resolutions,
  type ResolutionTag,
  wordsOfCommand,
} from "../lib/Commands.ts"
import { straight } from "../lib/Format.ts"
import { type Asked, asked } from "../state/Asked.ts"
import { tell, tellFailure } from "../state/Notice.ts"
import { performing, type Said } from "../state/Perform.ts"
import { author, refused, setAuthor } from "../state/Session.ts"
import { Failure } from "./Failure.tsx"
import { Named } from "./Named.tsx"
import { Notices } from "./Notices.tsx"
import { Prose } from "./Prose.tsx"
import { TokenForm } from "./TokenForm.tsx"
import { Value } from "./Value.tsx"

interface Typed {
  readonly author: string
  readonly reason: string
  readonly resolution: ResolutionTag
  readonly resultText: string
  readonly isFailure: boolean
}

/** What is wrong with the form, or what is to be sent. */
const readTyped = ({ command }: Asked, typed: Typed): Said | { readonly problem: string } => {
  const problem = hasWords(command.kind) ? problemOf(typed) : undefined
  if (problem !== undefined) return { problem }
  if (command.kind !== "resolve" || typed.resolution !== "CompletedWithResult")
    return { ...typed, result: undefined }
  const result = readResult(typed.resultText)
  return "problem" in result
    ? { problem: `The result is no JSON: ${result.problem}` }
    : { ...typed, result: result.value }
}

interface FieldsProps {
  readonly typed: Typed
  readonly change: (changed: Partial<Typed>) => void
}

const Resolutions = ({ change, typed }: FieldsProps) => {
  const id = useId()
  return (
    <fieldset class="choices">
      <legend>What did you find?</legend>
      {resolutions.map(({ consequence, label, tag }) => (
        <label key={tag} class="choice">
          <input
            type="radio"
            name={id}
            value={tag}
            checked={typed.resolution === tag}
            onChange={() => change({ resolution: tag })}
          />
          <span>
            <strong>{label}</strong>
            <small>{consequence}</small>
          </span>
        </label>
      ))}
      {typed.resolution === "CompletedWithResult" ? (
        <>
          <label class="field">
            <span>Its result, as JSON</span>
            <textarea
              class="code"
              rows={4}
              spellcheck={false}
              value={typed.resultText}
              onInput={(event) => change({ resultText: event.currentTarget.value })}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={typed.isFailure}
              onChange={(event) => change({ isFailure: event.currentTarget.checked })}
            />
            It was refused: this is the tool's declared failure
          </label>
        </>
      ) : undefined}
    </fieldset>
  )
}

const Words = ({ change, typed }: FieldsProps) => (
  <>
    <label class="field">
      <span>Your name</span>
      <input
        type="text"
        autocomplete="off"
        value={typed.author}
        onInput={(event) => change({ author: event.currentTarget.value })}
      />
    </label>
    <label class="field">
      <span>Reason</span>
      <textarea
        rows={2}
        value={typed.reason}
        onInput={(event) => change({ reason: event.currentTarget.value })}
      />
    </label>
  </>
)

const About = ({ asked: { command, ownerId } }: { readonly asked: Asked }) => (
  <div class="about">
    <p class="mono">
      {ownerId} · {command.threadId}
      {"name" in command ? (
        <>
          {" "}
          · <Named name={command.name} />
        </>
      ) : undefined}
      {"submissionId" in command ? <small> {command.submissionId}</small> : undefined}
    </p>
    {"summary" in command && command.summary !== undefined ? (
      <blockquote>{straight(command.summary)}</blockquote>
    ) : undefined}
    {"told" in command && command.told !== undefined ? (
      <blockquote>
        <Prose text={command.told} />
      </blockquote>
    ) : undefined}
    {"data" in command && command.data !== undefined ? (
      <Value value={command.data} label="What the run tells about it" />
    ) : undefined}
  </div>
)

const refusedLate = ({ command }: Asked, refusal: unknown): string => {
  const why = refusal instanceof Error ? ` ${refusal.message}` : ""
  return `${wordsOfCommand(command.kind).verb}, ${command.threadId}: it was not done.${why}`
}

/** Gives the command, and closes the form once it was taken. */
const useSending = (given: Asked, typed: Typed) => {
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const [problem, setProblem] = useState("")
  const send = (event: Event) => {
    event.preventDefault()
    if (isSending) return // C1
    const read = readTyped(given, typed)
    setProblem("problem" in read ? read.problem : "")
    if ("problem" in read) return
    if (hasWords(given.command.kind)) setAuthor(typed.author)
    setSending(true)
    setError(undefined)
    performing(given.ownerId, given.command, read).then(
      (told) => {
        tell(told)
        if (asked.value === given) asked.value = undefined // C3
        given.done()
      },
      (refusal: unknown) => {
        if (asked.value !== given) tellFailure(refusedLate(given, refusal)) // C3
        setSending(false)
        setError(refusal) // C2
      },
    )
  }
  return { isSending, error, problem, send }
}

const Form = ({ given }: { readonly given: Asked }) => {
  const [typed, setTyped] = useState<Typed>({
    author: author.value,
    reason: "",
    resolution: "CompletedWithResult",
    resultText: "",
    isFailure: false,
  })
  const change = (changed: Partial<Typed>) => setTyped((before) => ({ ...before, ...changed }))
  const { error, isSending, problem, send } = useSending(given, typed)
  const { kind } = given.command
  const words = wordsOfCommand(kind)
  return (
    <form onSubmit={send}>
      <h2 id="command-title">{words.title}</h2>
      <About asked={given} />
      <p class={words.grave ? "consequence grave" : "consequence"}>{words.consequence}</p>
      {kind === "resolve" ? <Resolutions typed={typed} change={change} /> : undefined}
      {hasWords(kind) ? <Words typed={typed} change={change} /> : undefined}
      {problem === "" ? undefined : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {error === undefined ? undefined : <Failure error={error} />}
      <div class="buttons">
        <button type="button" class="quiet" onClick={() => (asked.value = undefined)}>
          Not now
        </button>
        <button
          type="submit"
          class={words.grave ? "primary danger" : "primary"}
          disabled={isSending}
        >
          {isSending ? "Sending…" : words.verb}
        </button>
      </div>
    </form>
  )
}

export const CommandDialog = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  const given = asked.value
  // With the form, and not after it: what had the focus goes while the dialog still knows where it came from.
  useLayoutEffect(() => {
    if (given !== undefined) dialog.current?.showModal()
    else dialog.current?.close()
  }, [given])
  return (
    <dialog
      ref={dialog}
      tabIndex={-1}
      aria-labelledby="command-title"
      onClose={() => (asked.value = undefined)}
    >
      <Notices isHere={given !== undefined} />
      {given === undefined || refused.value === undefined ? undefined : (
        <div class="renewal-inside">
          <p>
            <strong>Your token is not taken any more.</strong> Give another one, and send this
            again.
          </p>
          <TokenForm verb="Go on" />
        </div>
      )}
      {given === undefined ? undefined : <Form given={given} />}
    </dialog>
  )
}
