/**
 * `run.callback`: a token for one wait of a run, for somebody outside who has no other credentials.
 *
 * - K1 A token's 128 bits are a digest of a secret of the thread (256 bits of the host's, in its `meta` row) and of the
 *   wait: no record, row or page of history holds a token, and each attempt gets the same.
 * - K2 What a token is known by is durable before it is given: the run has it on record, and the thread a row.
 * - K3 A wait has one token, whenever it was asked for; its name stays the wait's own.
 */
import { Effect, Schema } from "effect"
import {
  callbackAddress,
  type CallbackTarget,
  type CallbackToken,
  makeCallbackToken,
} from "../contracts/Callback.ts"
import { OperationDenied } from "../contracts/Errors.ts"
import { StepName } from "../contracts/Identifiers.ts"
import { sha256 } from "../platform/Digest.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Block } from "./Block.ts"
import {
  appendFact,
  type Boxed,
  callbackName,
  leave,
  readFact,
  recallPart,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { reading, type ReadFailure } from "./Durable.ts"
import { readRow } from "./Ledger.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { misuse } from "./Misuse.ts"
import { isName as isStoredName } from "./StoredColumns.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"
import { tokenPart } from "./WaitRows.ts"

const isName = Schema.is(StepName)

/** The thread's own secret, once it has one. */
const readKey = (sql: Sql): string | undefined => {
  const [row] = sql.all<{ callbackKey: string | null }>("SELECT callbackKey FROM meta")
  return row?.callbackKey ?? undefined
}

const keyIn = ({ sql, thread }: Block): string => {
  const known = readKey(sql)
  if (known !== undefined) return known
  const made = thread.host.secret() + thread.host.secret()
  sql.run("UPDATE meta SET callbackKey = ?", made)
  return made
}

/** The secret part of the token for a wait. // K1 */
const secretOf = (key: string, submissionId: string, name: string): string =>
  sha256("callback\n", key, "\n", submissionId, "\n", name).slice(0, 32)

/** What a secret is known by. */
const digestOf = (secret: string): string => sha256("callback\n", secret)

const recordIn = (block: Block, { live }: Running, name: string): Boxed<string> | Verdict => {
  const secret = secretOf(keyIn(block), live.row.id, name)
  const digest = digestOf(secret)
  const payload = JSON.stringify({ callback: digest })
  const fact = { kind: "ValueDrawn", name, part: tokenPart, payload } as const
  const full = appendFact(block, live, fact)
  if (full !== undefined) return full
  block.sql.run(
    "INSERT OR IGNORE INTO callbacks (digest, submission, name) VALUES (?, ?, ?)",
    digest,
    live.sequence,
    name,
  ) // K2
  return { value: secret }
}

const again = (running: Running, name: string, digest: unknown): Effect.Effect<string> =>
  Effect.flatMap(readFact(running, readKey), (key) => {
    const secret = key === undefined ? undefined : secretOf(key, running.live.row.id, name)
    return secret !== undefined && digestOf(secret) === digest
      ? Effect.succeed(secret)
      : leave(running, { _tag: "Unreadable", what: "callbacks" })
  })

/** The token, as `Run` offers it. */
export const callback = (running: Running, name: string): Effect.Effect<CallbackToken> =>
  Effect.suspend(() => {
    if (!isName(name)) return misuse("a name has 1 to 128 printable characters")
    return Effect.andThen(
      takeName(running, name, callbackName(name)), // K3
      Effect.flatMap(recallPart(running, { name, part: tokenPart }), (recorded) => {
        const secret =
          recorded === undefined
            ? writeFact(running, "wait", (block) => recordIn(block, running, name))
            : recorded.kind === "ValueDrawn"
              ? again(running, name, recorded.payload["callback"])
              : leave(running, { _tag: "Mismatch", name })
        return Effect.map(secret, (bits) =>
          makeCallbackToken({ ...running.live.identity, secret: bits }),
        )
      }),
    )
  })

const readTarget = (thread: Thread, token: CallbackToken): CallbackTarget | undefined => {
  if (!thread.hasTables) return undefined
  const { sql } = thread.host.storage
  const [found] = sql.all<{ submission: number; name: string }>(
    "SELECT submission, name FROM callbacks WHERE digest = ?",
    digestOf(callbackAddress(token).secret),
  )
  if (found === undefined) return undefined
  const row = readRow(sql, found.submission)
  if (row === undefined || !isStoredName(found.name)) throw new Unreadable("callbacks")
  return { submissionId: row.id, name: found.name as CallbackTarget["name"] }
}

/** The wait that a token is for. */
export const callbackTarget = (
  thread: Thread,
  { token }: { readonly token: CallbackToken },
): Effect.Effect<CallbackTarget, ReadFailure | OperationDenied> =>
  Effect.flatMap(
    reading(thread, "callback", () => readTarget(thread, token)),
    (target) =>
      target === undefined
        ? Effect.fail(new OperationDenied({ operation: "callback" }))
        : Effect.succeed(target),
  )
