/** One owner over real threads, all in Node: both objects as they are, on `node:sqlite`. */
import { Context, Effect, Layer, type Schema, Scope } from "effect"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import {
  AgentId,
  IdempotencyKey,
  OwnerId,
  Principal,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import type { VerifyCheck, VerifyReply } from "../../../contracts/Verify.ts"
import { inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireClient } from "../../../contracts/transport/WireClient.ts"
import { type Failpoints, inert } from "../../../platform/Failpoint.ts"
import { makeNodeHost, type NodeStorage, openNodeStorage } from "../../../platform/NodeStorage.ts"
import { type ObjectStorage, StorageFailure } from "../../../platform/ObjectStorage.ts"
import type { AgentLive } from "../../../thread-actors/Agent.ts"
import { agentsDigest } from "../../../thread-actors/AgentsDigest.ts"
import { makeThread } from "../../../thread-actors/ThreadRuntime.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "../owner/OwnerWorld.ts"

export interface LoomOptions extends WorldOptions {
  readonly agents: ReadonlyArray<AgentLive<never>>
  /** Told each commit of each object, by its name. */
  readonly onCommit?: (object: string) => void
  /** Whether the reports that threads push are lost. */
  readonly losesReports?: boolean
  /** A failpoint of threads at which the first object that reaches it dies. */
  readonly threadDiesAt?: string
  /** Asked at each failpoint of each thread: whether its object dies there. */
  readonly threadDies?: (point: string) => boolean
  /** Asked before each call of a thread; what it returns is waited for instead of an answer. */
  readonly threadAway?: (threadId: ThreadId) => Promise<never> | undefined
}

/** The end of an object: its calls fail, and its storage does. */
const makeDeath = () => {
  let isOver = false
  let reject: (error: Error) => void = () => undefined
  const lost = new Promise<never>((_, fail) => (reject = fail))
  lost.catch(() => undefined)
  const end = () => {
    isOver = true
    reject(new Error("Network connection lost."))
  }
  return { end, isOver: () => isOver, lost }
}

const mortal = (storage: ObjectStorage, isOver: () => boolean): ObjectStorage => ({
  ...storage,
  transaction: (block) => {
    if (isOver()) throw new StorageFailure(new Error("the object is gone"))
    return storage.transaction(block)
  },
})

const counting = (storage: ObjectStorage, onCommit: () => void): ObjectStorage => ({
  ...storage,
  transaction: (block) => {
    const result = storage.transaction(block)
    onCommit()
    return result
  },
})

/** All rows of a database as they are now, and how to have them back. */
const savepoint = ({ sql, transaction }: ObjectStorage): (() => void) => {
  const tables = sql
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map(({ name }) => ({ name, rows: sql.all(`SELECT * FROM ${name}`) }))
  return () =>
    transaction(() => {
      for (const { name, rows } of tables) {
        sql.run(`DELETE FROM ${name}`)
        for (const row of rows) {
          const columns = Object.keys(row)
          const places = columns.map(() => "?").join(", ")
          sql.run(
            `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${places})`,
            ...Object.values(row),
          )
        }
      }
    })
}

export const makeLoom = (options: LoomOptions) => {
  const databases = new Map<ThreadId, NodeStorage>()
  const incarnations = new Map<ThreadId, WireTarget>()
  const agents = new Map(options.agents.map((live) => [live.agent.name, live]))
  const loomOwner = OwnerId.make(options.name ?? ownerId)
  let hasDied = false
  const diesOnce = (point: string): boolean => {
    if (hasDied || point !== options.threadDiesAt) return false
    hasDied = true
    return true
  }
  const threadDies =
    options.threadDies ?? (options.threadDiesAt === undefined ? undefined : diesOnce)
  const lost: WireTarget = { call: () => Promise.reject(new Error("Network connection lost.")) }

  const incarnate = (threadId: ThreadId, owner: WireTarget): WireTarget => {
    const database = databases.get(threadId) ?? openNodeStorage()
    databases.set(threadId, database)
    const death = makeDeath()
    const storage = counting(mortal(database, death.isOver), () => options.onCommit?.(threadId))
    const failpoints: Failpoints = {
      reach: (point) =>
        Effect.suspend(() => {
          if (death.isOver()) return Effect.never
          if (threadDies?.(point) !== true) return Effect.void
          incarnations.delete(threadId)
          death.end()
          return Effect.never
        }),
    }
    const object = makeThread(makeNodeHost({ name: `${loomOwner}/${threadId}`, storage }), {
      agents,
      services: Layer.empty,
      limits: makeLimits({ attentionMillis: 20, ...options.limits }),
      codeVersion: "v1",
      publishes: options.sink !== undefined,
      agentsDigest: agentsDigest(agents),
      owner: () => (options.losesReports === true ? lost : owner),
      failpoints: threadDies === undefined ? inert : failpoints,
    })
    return { call: (message, sink) => Promise.race([object.call(message, sink), death.lost]) }
  }

  let toOwner: WireTarget = lost
  const world = makeOwnerWorld({
    ...options,
    // On a slow machine a run ends after its pass; the alarm that would look at it rings while `quiet` still waits.
    limits: { watchMillis: 500, watchMaxMillis: 1_000, ...options.limits },
    storageFault: (use) => {
      if (use === "commit") options.onCommit?.("owner")
      options.storageFault?.(use)
    },
    thread: (threadId, owner) => {
      toOwner = owner
      incarnations.set(threadId, incarnate(threadId, owner))
      return {
        call: (message, sink) =>
          options.threadAway?.(threadId) ?? current(threadId).call(message, sink),
      }
    },
  })
  const current = (threadId: ThreadId): WireTarget => {
    const found = incarnations.get(threadId) ?? incarnate(threadId, toOwner)
    incarnations.set(threadId, found)
    return found
  }

  const reader = Effect.runSync(
    makeWireClient(ThreadRpc, {
      target: ({ threadId }: { readonly threadId: ThreadId }) =>
        inMemoryTarget(() => current(threadId)),
      headers: callerHeaders({ _tag: "Principal", principal: Principal.make("tester") }),
    }).pipe(Effect.provideContext(Context.make(Scope.Scope, Scope.makeUnsafe()))),
  )

  const history = (threadId: string) =>
    Effect.runPromise(reader.history({ ownerId: loomOwner, threadId: ThreadId.make(threadId) }))
  const status = (threadId: string, submissionId: SubmissionId) =>
    Effect.runPromise(
      reader.status({ ownerId: loomOwner, threadId: ThreadId.make(threadId), submissionId }),
    )
  const explain = (threadId: string) =>
    Effect.runPromise(reader.explain({ ownerId: loomOwner, threadId: ThreadId.make(threadId) }))

  return {
    ...world,
    history,
    status,
    /** What each check of a thread comes to that is not passed, over all its pages. */
    unverified: async (threadId: string) => {
      const found: Array<VerifyCheck> = []
      for (let after: number | undefined = 0, pages = 0; after !== undefined; pages++) {
        if (pages > 100) throw new Error("the pages do not end")
        const page: VerifyReply = await Effect.runPromise(
          reader.verify({ ownerId, threadId: ThreadId.make(threadId), after }),
        )
        found.push(...page.checks.filter(({ _tag }) => _tag !== "Passed"))
        after = page.next
      }
      return found
    },
    /** Submits an input for an agent, under a key of its own unless one is named. */
    give: (
      threadId: string,
      agent: string,
      input: Schema.Json,
      key = `${threadId} ${agent} ${JSON.stringify(input).slice(0, 64)}`,
    ) =>
      Effect.runPromise(
        world.client.submit({
          ownerId,
          threadId: ThreadId.make(threadId),
          agent: AgentId.make(agent),
          input,
          idempotencyKey: IdempotencyKey.make(key),
        }),
      ),
    /** The rows of a thread that was called. */
    database: (threadId: ThreadId) => databases.get(threadId),
    /** The threads that were ever called. */
    threadIds: () => [...databases.keys()],
    explain,
    /** Whether an object has died at the failpoint that was asked for. */
    hasDied: () => hasDied,
    /** The kinds of a thread's records in their order. */
    kinds: async (threadId: string) => (await history(threadId)).records.map(({ kind }) => kind),
    /** Remembers the thread's database; the answer takes it back to this moment, in a new object. */
    backup: (name: string): (() => void) => {
      const threadId = ThreadId.make(name)
      const database = databases.get(threadId)
      if (database === undefined) throw new Error("nobody has called this thread")
      const restore = savepoint(database)
      return () => {
        restore()
        incarnations.set(threadId, incarnate(threadId, toOwner))
      }
    },
    /** The thread's database is lost: the next call reaches a new object that nobody has called. */
    lose: (threadId: ThreadId) => {
      databases.delete(threadId)
      incarnations.delete(threadId)
    },
    /** The thread's object dies; the next call reaches a new one on the same database. */
    crashThread: (threadId: string) => {
      incarnations.set(ThreadId.make(threadId), incarnate(ThreadId.make(threadId), toOwner))
    },
  }
}
