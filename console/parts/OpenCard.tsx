/**
 * An open submission: what it waits for, who can end that, and what can be done about it here.
 *
 * - O1 Nobody approves what they have not read: where what the run asks is not among the records, there is the way to it.
 */
import type { ExplainedWait, JournalRecord, RecoveryExplanation } from "../../client/sdk/index.ts"
import type { Command } from "../lib/Commands.ts"
import { plural, straight } from "../lib/Format.ts"
import { hrefOf } from "../lib/Route.ts"
import { fieldsOf } from "../lib/RecordWords.ts"
import { approvalOf } from "../lib/Timeline.ts"
import { CommandButton } from "./CommandButton.tsx"
import { Chip } from "./Glyph.tsx"
import { Named } from "./Named.tsx"
import { Prose } from "./Prose.tsx"
import { Ago, Since } from "./Time.tsx"

export interface OpenProps {
  readonly ownerId: string
  readonly threadId: string
  readonly open: RecoveryExplanation
  /** Those that are on the page. */
  readonly records: ReadonlyArray<JournalRecord>
  readonly done: () => void
}

/** The decisions that end a wait. */
const decisionsOf = (
  { open: { submissionId }, records, threadId }: OpenProps,
  { blocker, name, recordId }: ExplainedWait,
): ReadonlyArray<Command> => {
  const at = { threadId, submissionId }
  if (blocker === "approval" && name !== undefined) {
    const asked = approvalOf(records, { submissionId, name })
    if (asked === undefined) return [] // O1
    const { data, summary } = fieldsOf(asked)
    const about = {
      ...(typeof summary === "string" ? { summary } : {}),
      ...(data === undefined ? {} : { data }),
    }
    return [
      { kind: "approve", ...at, name, ...about },
      { kind: "deny", ...at, name, ...about },
    ]
  }
  if (blocker === "unknown" && recordId !== undefined)
    return [{ kind: "resolve", ...at, name: name ?? "", recordId }]
  return []
}

interface WaitProps {
  readonly props: OpenProps
  readonly wait: ExplainedWait
}

const who: Readonly<Record<string, string>> = {
  nobody: "goes on by itself",
  operator: "an operator can act",
  deployer: "a deployment ends it",
  caller: "somebody decides",
}

/** What can be done about it here, or where it can be read. */
const Decisions = ({ props, wait }: WaitProps) => {
  const { done, open, ownerId, threadId } = props
  const decisions = decisionsOf(props, wait)
  const { submissionId } = open
  return (
    <p class="buttons">
      {decisions.map((command) => (
        <CommandButton key={command.kind} ownerId={ownerId} command={command} done={done} />
      ))}
      {wait.blocker === "approval" && decisions.length === 0 ? (
        <a
          class="button small"
          href={hrefOf({ page: "thread", ownerId, threadId, submissionId })} // O1
        >
          What it asks
        </a>
      ) : undefined}
    </p>
  )
}

const Wait = ({ props, wait }: WaitProps) => (
  <li class={`wait wait-${wait.blocker}`}>
    <p class="wait-head">
      <strong>{wait.blocker}</strong>
      {wait.name === undefined ? undefined : (
        <span class="mono">
          <Named name={wait.name} />
        </span>
      )}
      {wait.sinceAt === undefined ? undefined : (
        <span class="dim">
          for <Since at={wait.sinceAt} />
        </span>
      )}
      {wait.untilAt === undefined ? undefined : (
        <span class="dim">
          until <Ago at={wait.untilAt} />
        </span>
      )}
      <span class="dim">{who[wait.whoCanAct] ?? wait.whoCanAct}</span>
    </p>
    <p>
      <Prose text={wait.message} />
    </p>
    <Decisions props={props} wait={wait} />
  </li>
)

/** What would happen, and why recovery thinks so. */
const Reasoning = ({ open }: { readonly open: RecoveryExplanation }) => (
  <details class="reasoning">
    <summary>
      {open.decision}: {straight(open.wouldDo)}
    </summary>
    <ul>
      {open.evidence.map((line) => (
        <li key={line}>{straight(line)}</li>
      ))}
    </ul>
  </details>
)

export const OpenCard = (props: OpenProps) => {
  const { done, open, ownerId, threadId } = props
  const at = { threadId, submissionId: open.submissionId }
  const waits = [...open.heldBy, ...open.waits]
  return (
    <article class="open-card" aria-label={`Submission ${open.sequence}, ${open.state}`}>
      <header>
        <Chip condition={open.state} />
        <span class="mono">{open.agent}</span>
        <span class="dim">
          submission {open.sequence}, accepted <Ago at={open.acceptedAt} />,{" "}
          {open.attempts === 0 ? "not begun" : plural(open.attempts, "attempt")}
        </span>
        <span class="spring" />
        {open.state === "settled" ? undefined : (
          <span class="buttons">
            <CommandButton quiet ownerId={ownerId} command={{ kind: "retry", ...at }} done={done} />
            <CommandButton quiet ownerId={ownerId} command={{ kind: "abort", ...at }} done={done} />
          </span>
        )}
      </header>
      <ul class="waits">
        {waits.map((wait) => (
          <Wait key={`${wait.blocker} ${wait.name} ${wait.recordId}`} props={props} wait={wait} />
        ))}
      </ul>
      <Reasoning open={open} />
    </article>
  )
}
