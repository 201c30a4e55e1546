/**
 * The thread's typed value, shared by all its runs in their order.
 *
 * - W1 What a run has read, and what it has written, is recorded under the name and given again.
 * - W2 A change is applied in the block that records it, to the value as that block finds it.
 */
import { Effect, Option, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { ThreadState } from "../contracts/JournalRecord.ts"
import type { RecordKind } from "../contracts/JournalRecord.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { JsonCodec, Run } from "./Agent.ts"
import type { Block } from "./Block.ts"
import {
  appendFact,
  type Boxed,
  leave,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { systemFailure } from "./Failures.ts"
import { jsonCoder } from "./JsonCoder.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { sizeLimit } from "./SizeLimit.ts"
import { Unreadable } from "./Unreadable.ts"

interface Stored {
  readonly version: number
  /** Canonical JSON. */
  readonly text: string
}

const readStored = (sql: Sql): Stored | undefined => {
  const [row] = sql.all<{ version: number; value: string }>(
    "SELECT version, value FROM threadState WHERE id = 1",
  )
  return row === undefined ? undefined : { version: row.version, text: row.value }
}

/** The value as readers of the thread get it. */
export const readThreadState = (sql: Sql): ThreadState => {
  const stored = readStored(sql)
  if (stored === undefined) return { version: 0 }
  try {
    return { version: stored.version, value: JSON.parse(stored.text) as null }
  } catch {
    throw new Unreadable("threadState")
  }
}

const mismatch = (name: string): Verdict => ({ _tag: "Mismatch", name })

type Schema = JsonCodec<unknown>

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
  schema: Schema,
  use: { readonly kind: RecordKind; readonly name: string },
  recorded: Recorded,
): Effect.Effect<Option.Option<unknown>> => {
  if (recorded.kind !== use.kind) return leave(running, mismatch(use.name))
  const value = decode(schema, use.name, recorded.payload) // W1
  return "_tag" in value ? leave(running, value) : Effect.succeed(value.value)
}

const readIn = (
  block: Block,
  running: Running,
  schema: Schema,
  name: string,
): Boxed<Option.Option<unknown>> | Verdict => {
  const stored = readStored(block.sql)
  const version = stored?.version ?? 0
  const value = stored === undefined ? "" : `"value":${stored.text},`
  const verdict = appendFact(block, running.live, {
    kind: "StateRead",
    name,
    payload: `{${value}"version":${version}}`,
  })
  return verdict ?? decode(schema, name, readThreadState(block.sql))
}

const changeIn = (
  block: Block,
  running: Running,
  schema: Schema,
  use: { readonly name: string; readonly change: (state: Option.Option<unknown>) => unknown },
): Boxed<Effect.Effect<unknown>> | Verdict => {
  const { limits } = block.thread
  const before = decode(schema, use.name, readThreadState(block.sql))
  if ("_tag" in before) return before
  let changed: unknown
  try {
    changed = use.change(before.value) // W2
  } catch (error) {
    return { value: Effect.die(error) }
  }
  const encoded = jsonCoder(schema).encode(changed)
  if (Result.isFailure(encoded))
    return { value: Effect.die(new TypeError(`the state breaks its schema: ${encoded.failure}`)) }
  const text = canonicalJson(encoded.success, {
    maxBytes: sizeLimit(limits, "recordBytes"),
    maxNesting: limits.jsonNesting,
  })
  if (Result.isFailure(text)) {
    const message = `the state cannot be stored within ${sizeLimit(limits, "recordBytes")} bytes`
    return { _tag: "Failed", failure: systemFailure("ResultTooLarge", message) }
  }
  const version = (readStored(block.sql)?.version ?? 0) + 1
  const verdict = appendFact(block, running.live, {
    kind: "StateChanged",
    name: use.name,
    payload: `{"value":${text.success.text},"version":${version}}`,
  })
  if (verdict !== undefined) return verdict
  block.sql.run(
    "INSERT OR REPLACE INTO threadState (id, version, value) VALUES (1, ?, ?)",
    version,
    text.success.text,
  )
  const kept = jsonCoder(schema).decode(JSON.parse(text.success.text))
  return Result.isSuccess(kept) ? { value: Effect.succeed(kept.success) } : mismatch(use.name)
}

const noState = Effect.die(new TypeError("the agent declares no state"))

/** `run.state`, for the state schema of the agent. */
export const stateOf = (running: Running, schema: Schema | undefined): Run<unknown>["state"] => {
  if (schema === undefined) return { read: () => noState, update: () => noState }
  const recalled = (name: string) => Effect.andThen(takeName(running, name), recall(running, name))
  return {
    read: (name) =>
      Effect.flatMap(recalled(name), (recorded) =>
        recorded === undefined
          ? writeFact(running, "state", (block) => readIn(block, running, schema, name))
          : replay(running, schema, { kind: "StateRead", name }, recorded),
      ),
    update: (name, change) =>
      Effect.flatMap(recalled(name), (recorded) =>
        recorded === undefined
          ? Effect.flatten(
              writeFact(running, "state", (block) =>
                changeIn(block, running, schema, { name, change }),
              ),
            )
          : Effect.map(
              replay(running, schema, { kind: "StateChanged", name }, recorded),
              Option.getOrUndefined,
            ),
      ),
  }
}
