/**
 * The thread's typed value, shared by all its runs in their order.
 *
 * - W1 What a run has read, and what it has written, is recorded under the name and given again.
 * - W2 A change is recorded on the value it was computed from: the block looks at the version, and the
 *   change is computed again if a parallel branch came first.
 * - W3 A change is agent code, and runs outside any block: if it throws, uses its run or gives what
 *   cannot be stored, that is a defect and nothing is recorded.
 */
import { Effect, Option, Result } from "effect"
import type { RecordKind, ThreadState } from "../contracts/JournalRecord.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Json, JsonCodec, Run } from "./Agent.ts"
import {
  appendFact,
  type Boxed,
  giveUp,
  leave,
  type NewFact,
  readFact,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { jsonCoder } from "./JsonCoder.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { misuse } from "./Misuse.ts"
import { storable, type Unstorable } from "./StoredValue.ts"
import { Unreadable } from "./Unreadable.ts"

interface Stored {
  readonly version: number
  /** Canonical JSON, and what it says. */
  readonly text: string
  readonly value: Json
}

const readVersion = (sql: Sql): number =>
  sql.all<{ version: number }>("SELECT version FROM threadState WHERE id = 1")[0]?.version ?? 0

const readStored = (sql: Sql): Stored | undefined => {
  const [row] = sql.all<{ version: number; value: string }>(
    "SELECT version, value FROM threadState WHERE id = 1",
  )
  if (row === undefined) return undefined
  try {
    return { version: row.version, text: row.value, value: JSON.parse(row.value) as Json }
  } catch {
    throw new Unreadable("threadState")
  }
}

/** The value as readers of the thread get it. */
export const readThreadState = (sql: Sql): ThreadState => {
  const stored = readStored(sql)
  return stored === undefined ? { version: 0 } : { version: stored.version, value: stored.value }
}

const mismatch = (name: string): Verdict => ({ _tag: "Mismatch", name })

type Schema = JsonCodec<unknown>

/** One use of the state under a name. */
interface Use {
  readonly schema: Schema
  readonly name: string
}

/** The value of a record or row in this code's terms; a verdict if it reads it differently. */
const decode = (
  schema: Schema,
  name: string,
  state: { readonly value?: unknown },
): Boxed<Option.Option<unknown>> | Verdict => {
  if (!("value" in state)) return { value: Option.none() }
  const value = jsonCoder(schema).decode(state.value)
  return Result.isSuccess(value) ? { value: Option.some(value.success) } : mismatch(name)
}

const replay = (
  running: Running,
  use: Use,
  kind: RecordKind,
  recorded: Recorded,
): Effect.Effect<Option.Option<unknown>> => {
  if (recorded.kind !== kind) return leave(running, mismatch(use.name))
  const value = decode(use.schema, use.name, recorded.payload) // W1
  return "_tag" in value ? leave(running, value) : Effect.succeed(value.value)
}

/** The value as a run finds it outside any block, in this code's terms. */
interface Found {
  readonly stored: Stored | undefined
  readonly value: Option.Option<unknown>
}

const find = (running: Running, { schema, name }: Use): Effect.Effect<Found> =>
  Effect.flatMap(readFact(running, readStored), (stored) => {
    const value = stored === undefined ? {} : { value: stored.value }
    const decoded = decode(schema, name, value)
    return "_tag" in decoded
      ? leave(running, decoded)
      : Effect.succeed({ stored, value: decoded.value })
  })

const versionOf = (stored: Stored | undefined): number => stored?.version ?? 0

/** Writes a fact about the value if it is still as it was found; false if another branch changed it. */
const writeIfSame = (
  running: Running,
  found: Found,
  fact: NewFact,
  apply: (sql: Sql) => void,
): Effect.Effect<boolean> =>
  writeFact(running, "state", (block) => {
    if (readVersion(block.sql) !== versionOf(found.stored)) return { value: false } // W2
    const verdict = appendFact(block, running.live, fact)
    if (verdict !== undefined) return verdict
    apply(block.sql)
    return { value: true }
  })

const read = (running: Running, use: Use): Effect.Effect<Option.Option<unknown>> =>
  Effect.flatMap(find(running, use), (found) => {
    const { stored } = found
    const value = stored === undefined ? "" : `"value":${stored.text},`
    const payload = `{${value}"version":${versionOf(stored)}}`
    return Effect.flatMap(
      writeIfSame(running, found, { kind: "StateRead", name: use.name, payload }, () => undefined),
      (same) => (same ? Effect.succeed(found.value) : read(running, use)),
    )
  })

type Change = (state: Option.Option<unknown>) => unknown

/** Computes the new value: agent code, watched for calls of its own run. */
const compute = ({ live, thread }: Running, schema: Schema, change: () => unknown) => {
  const changing = { entered: false }
  live.changing = changing
  try {
    const value = storable(schema, change(), { limits: thread.limits, size: "recordBytes" })
    return { value, entered: changing.entered }
  } finally {
    live.changing = undefined
  }
}

const update = (running: Running, use: Use, change: Change): Effect.Effect<unknown> =>
  Effect.flatMap(find(running, use), (found) => {
    const { entered, value } = compute(running, use.schema, () => change(found.value))
    if (entered) return misuse(`the change ${use.name} of the state must not use its run`) // W3
    if (Result.isFailure(value)) return refuse(running, use.name, value.failure)
    const { text, value: kept } = value.success
    const version = versionOf(found.stored) + 1
    const payload = `{"value":${text},"version":${version}}`
    const apply = (sql: Sql) =>
      sql.run(
        "INSERT OR REPLACE INTO threadState (id, version, value) VALUES (1, ?, ?)",
        version,
        text,
      )
    return Effect.flatMap(
      writeIfSame(running, found, { kind: "StateChanged", name: use.name, payload }, apply),
      (same) => (same ? Effect.succeed(kept) : update(running, use, change)),
    )
  })

const refuse = (running: Running, name: string, why: Unstorable): Effect.Effect<never> =>
  why._tag === "TooLarge"
    ? giveUp(running, "ResultTooLarge", `the state exceeds ${why.maxBytes} bytes`)
    : misuse(`the change ${name} gives a state that cannot be stored: ${why.reason}`)

const noState = misuse("the agent declares no state")

/** `run.state`, for the state schema of the agent. */
export const stateOf = (running: Running, schema: Schema | undefined): Run<unknown>["state"] => {
  if (schema === undefined) return { read: () => noState, update: () => noState }
  const recalled = (name: string) => Effect.andThen(takeName(running, name), recall(running, name))
  return {
    read: (name) =>
      Effect.flatMap(recalled(name), (recorded) =>
        recorded === undefined
          ? read(running, { schema, name })
          : replay(running, { schema, name }, "StateRead", recorded),
      ),
    update: (name, change) =>
      Effect.flatMap(recalled(name), (recorded) =>
        recorded === undefined
          ? update(running, { schema, name }, change)
          : Effect.map(
              replay(running, { schema, name }, "StateChanged", recorded),
              Option.getOrUndefined,
            ),
      ),
  }
}
