/**
 * Who may call what: roles between objects, grants at the edges.
 *
 * Invariants
 * - Z1 An object refuses a call whose headers name no role, or a role the operation does not admit.
 * - Z2 A role speaks for one owner (and thread) only: its own; the headers are set by our code from
 *   what the caller is, never from a payload. Where one owner calls another, for the sender that the payload names.
 * - Z3 An edge refuses what the grants do not name before it calls an object.
 * - Z4 The application's policy is asked once per public call, before its handler reads or writes; of a call that
 *   names several threads once about each, and one denial denies the call. Of a callback both objects ask.
 * - Z5 A policy that fails is logged by its name and where it came from, never in its words: they may be a secret's.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Headers } from "effect/http"
import type { Rpc } from "effect/rpc"
import { RpcMiddleware } from "effect/rpc"
import { OperationDenied, Unauthenticated, Unavailable } from "./Errors.ts"
import { OwnerId, Principal, type SubmissionId, ThreadId } from "./Identifiers.ts"
import { CurrentLimits } from "./Limits.ts"
import { namedThreads } from "./NamedThreads.ts"
import { describeThrown } from "./Thrown.ts"

/** The caller of an object, as its headers say and the middleware has checked. */
export type Caller =
  | { readonly _tag: "Owner"; readonly ownerId: OwnerId }
  | { readonly _tag: "Thread"; readonly ownerId: OwnerId; readonly threadId: ThreadId }
  | { readonly _tag: "Principal"; readonly principal: Principal }
  /** The deployment's own cron: of no owner, and for nobody. */
  | { readonly _tag: "Scheduler" }

export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(
  "heddle/contracts/CurrentCaller",
) {}

export type Role = Caller["_tag"]

/** The one role an operation admits; a call of any other is `OperationDenied`. */
export const AllowedRole = Context.Reference<Role | undefined>("heddle/contracts/AllowedRole", {
  defaultValue: () => undefined,
})

/** The public name of an operation that objects serve under another; its tag unless it says so. */
export const PublicName = Context.Reference<string | undefined>("heddle/contracts/PublicName", {
  defaultValue: () => undefined,
})

/**
 * For whom a call of an owner, or of a thread, speaks, as its payload says: the owner that is called, unless the
 * operation says otherwise. The payload has been decoded.
 */
export const SpeaksFor = Context.Reference<(payload: never) => unknown>(
  "heddle/contracts/SpeaksFor",
  { defaultValue: () => (payload: unknown) => payloadField(payload, "ownerId") },
)

const roleHeader = "heddle-role"
const ownerHeader = "heddle-owner"
const threadHeader = "heddle-thread"
const principalHeader = "heddle-principal"

/** The headers that carry a caller between objects. */
export const callerHeaders = (caller: Caller): Record<string, string> => {
  switch (caller._tag) {
    case "Owner":
      return { [roleHeader]: "Owner", [ownerHeader]: caller.ownerId }
    case "Thread":
      return {
        [roleHeader]: "Thread",
        [ownerHeader]: caller.ownerId,
        [threadHeader]: caller.threadId,
      }
    case "Principal":
      return { [roleHeader]: "Principal", [principalHeader]: caller.principal }
    case "Scheduler":
      return { [roleHeader]: "Scheduler" }
  }
}

const decodeOwnerId = Schema.decodeUnknownOption(OwnerId)
const decodeThreadId = Schema.decodeUnknownOption(ThreadId)
const decodePrincipal = Schema.decodeUnknownOption(Principal)

/** Reads a caller back; none when the headers are missing or malformed. */
export const callerOf = (headers: Headers.Headers): Option.Option<Caller> => {
  switch (headers[roleHeader]) {
    case "Owner":
      return Option.map(decodeOwnerId(headers[ownerHeader]), (ownerId) => ({
        _tag: "Owner",
        ownerId,
      }))
    case "Thread":
      return Option.map(
        Option.all([decodeOwnerId(headers[ownerHeader]), decodeThreadId(headers[threadHeader])]),
        ([ownerId, threadId]) => ({ _tag: "Thread", ownerId, threadId }),
      )
    case "Principal":
      return Option.map(decodePrincipal(headers[principalHeader]), (principal) => ({
        _tag: "Principal",
        principal,
      }))
    case "Scheduler":
      return Option.some({ _tag: "Scheduler" })
    default:
      return Option.none()
  }
}

/** What a policy is asked: one public call, as the object that serves it has it. */
export interface Operation {
  /** A name of `HeddleRpc`, or `laneStatus`, by which an edge completes `observe`. */
  readonly operation: string
  readonly principal: Principal
  /** Absent for `listOwners` alone, which is about all of them. */
  readonly ownerId?: OwnerId
  /**
   * Absent for operations of the whole owner, `reconcile` of many threads among them. `submitMany`, and `retryMany`
   * and `abortMany` of a filter that names threads, are asked about once for each of their threads.
   */
  readonly threadId?: ThreadId
  readonly submissionId?: SubmissionId
}

/** The application's own policy, besides the grants. */
export interface Authorizer {
  /**
   * Succeeds to allow, fails with `OperationDenied` to refuse. Asked once per public call, in the
   * object that serves it, before anything is read or written; about `callback` (whose principal is `callback`, whoever
   * called) by the thread, which knows the token, and then by the owner, which is told the submission. What else it does
   * (a failure, a defect, more than `authorizeMillis`) is `Unavailable` to the caller, never a denial.
   */
  readonly authorize: (operation: Operation) => Effect.Effect<void, unknown>
}

/** The policy in force; it allows everything unless a deployment says otherwise. */
export const OperationAuthorizer = Context.Reference<Authorizer>(
  "heddle/contracts/OperationAuthorizer",
  { defaultValue: () => allowAll },
)

/** Serves under a policy; under the one that allows everything if there is none. */
export const withPolicy =
  (authorizer: Authorizer | undefined) =>
  <A, E, R>(server: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(server, OperationAuthorizer, authorizer ?? allowAll)

const allowAll: Authorizer = { authorize: () => Effect.void }

/** Runs before every handler of an object and provides `CurrentCaller`. */
export class CallerMiddleware extends RpcMiddleware.Service<
  CallerMiddleware,
  { provides: CurrentCaller }
>()("heddle/contracts/CallerMiddleware", {
  error: Schema.Union([OperationDenied, Unavailable]),
}) {}

const payloadField = (payload: unknown, name: string): unknown =>
  typeof payload === "object" && payload !== null
    ? (payload as Record<string, unknown>)[name]
    : undefined

/** The question of one call; its payload has been decoded. */
const operationOf = (operation: string, principal: Principal, payload: unknown): Operation => {
  const ownerId = payloadField(payload, "ownerId") as OwnerId | undefined
  const threadId = payloadField(payload, "threadId") as ThreadId | undefined
  const submissionId = payloadField(payload, "submissionId") as SubmissionId | undefined
  return {
    operation,
    principal,
    ...(ownerId === undefined ? {} : { ownerId }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(submissionId === undefined ? {} : { submissionId }),
  }
}

const noPolicy = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the deployment's policy did not answer",
})

/** The questions of one call: one, or one for each thread that it names. */
const operationsOf = (
  operation: string,
  principal: Principal,
  payload: unknown,
): ReadonlyArray<Operation> => {
  const asked = operationOf(operation, principal, payload)
  const named = namedThreads(operation, payload) ?? []
  return named.length === 0
    ? [asked]
    : named.map((threadId) => ({ ...asked, threadId: threadId as ThreadId }))
}

/** Asks the policy. Whatever is not a denial and not an answer in time is `Unavailable`. */
const authorized = (operation: Operation): Effect.Effect<void, OperationDenied | Unavailable> =>
  Effect.gen(function* () {
    const { authorize } = yield* OperationAuthorizer
    if (authorize === allowAll.authorize) return
    const { authorizeMillis } = yield* CurrentLimits
    const asked = Effect.interruptible(Effect.suspend(() => authorize(operation)))
    const exit = yield* Effect.exit(Effect.timeout(asked, authorizeMillis))
    if (exit._tag === "Success") return
    const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
    if (failure?.error instanceof OperationDenied) {
      return yield* new OperationDenied({ operation: operation.operation })
    }
    yield* Effect.logError(`the policy failed: ${describeThrown(exit.cause)}`) // Z5
    return yield* noPolicy
  })

/** The server side of `CallerMiddleware`: the same rule in every object. */
export const callerMiddlewareLayer: Layer.Layer<CallerMiddleware> = Layer.succeed(
  CallerMiddleware,
  (effect, { rpc, headers, payload }) => {
    const denied = Effect.suspend(() => Effect.fail(new OperationDenied({ operation: rpc._tag })))
    const allowed = Context.get(rpc.annotations, AllowedRole)
    return Option.match(callerOf(headers), {
      onNone: () => denied, // Z1
      onSome: (caller) => {
        if (caller._tag !== allowed) return denied // Z1
        const called = Effect.provideService(effect, CurrentCaller, caller)
        if (caller._tag === "Principal") {
          const name = Context.get(rpc.annotations, PublicName) ?? rpc._tag
          const asked = Effect.forEach(operationsOf(name, caller.principal, payload), authorized, {
            concurrency: "unbounded",
            discard: true,
          })
          return Effect.andThen(asked, called) // Z4
        }
        if (caller._tag === "Scheduler") return called
        const speaksFor = Context.get(rpc.annotations, SpeaksFor)(payload as never)
        return caller.ownerId === speaksFor ? called : denied // Z2
      },
    })
  },
)

/** Marks an operation with the role it admits. */
export const admits =
  (role: Role) =>
  <
    Tag extends string,
    Payload extends Schema.Top,
    Success extends Schema.Top,
    Failure extends Schema.Top,
    Middleware extends RpcMiddleware.AnyService,
    Requires,
  >(
    rpc: Rpc.Rpc<Tag, Payload, Success, Failure, Middleware, Requires>,
  ): Rpc.Rpc<Tag, Payload, Success, Failure, Middleware, Requires> =>
    rpc.annotate(AllowedRole, role)

/**
 * What an identity may touch. Patterns are literal but for `*`, which stands for any characters.
 * An empty list grants nothing.
 */
export const Grants = Schema.Struct({
  principal: Principal,
  /** Patterns of owner ids. */
  owners: Schema.Array(Schema.String.check(Schema.isMaxLength(256))),
  /** Patterns of thread ids; absent grants every thread of the owners. */
  threads: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isMaxLength(256)))),
  /** Patterns of names of `HeddleRpc` operations; absent grants every operation. */
  operations: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isMaxLength(64)))),
})
export type Grants = typeof Grants.Type

const matches = (pattern: string, text: string): boolean => {
  const [head = "", ...rest] = pattern.split("*")
  if (rest.length === 0) return pattern === text
  if (!text.startsWith(head)) return false
  const last = rest.pop() ?? ""
  let from = head.length
  for (const part of rest) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}

/**
 * What a public call asks for. Calls that name no thread need a grant for all threads; one that is
 * about all owners, and so names none, a grant for all owners.
 */
export interface Asked {
  readonly operation: string
  readonly ownerId: string | undefined
  readonly threadId?: string | undefined
}

/** Whether the grants name the operation, whatever it is about. Pure. */
export const grantsOperation = ({ operations }: Grants, operation: string): boolean =>
  operations === undefined || operations.some((pattern) => matches(pattern, operation))

/** Whether the grants name it. Pure. */
export const grantsAllow = (grants: Grants, asked: Asked): boolean =>
  // Z3
  grants.owners.some((pattern) =>
    asked.ownerId === undefined ? pattern === "*" : matches(pattern, asked.ownerId),
  ) &&
  grantsOperation(grants, asked.operation) &&
  (grants.threads === undefined ||
    grants.threads.some((pattern) =>
      asked.threadId === undefined ? pattern === "*" : matches(pattern, asked.threadId),
    ))

/** The identity behind a public call, as the edge verified it. */
export class CurrentGrants extends Context.Service<CurrentGrants, Grants>()(
  "heddle/contracts/CurrentGrants",
) {}

/** Runs before every public handler: verifies the identity and its grants, or refuses. */
export class EdgeMiddleware extends RpcMiddleware.Service<
  EdgeMiddleware,
  { provides: CurrentGrants }
>()("heddle/contracts/EdgeMiddleware", {
  error: Schema.Union([Unauthenticated, OperationDenied]),
}) {}
