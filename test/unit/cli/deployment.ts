/**
 * A deployment on a port of this machine: the real HTTP edge, over objects that answer what a test says
 * and remember what they were asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Layer, type Scope, Stream } from "effect"
import type { RpcGroup } from "effect/rpc"
import { makeHttpHandler } from "../../../client/Http.ts"
import { callerMiddlewareLayer } from "../../../contracts/Authorization.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import { RegistryRpc } from "../../../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import { inMemoryTarget, makeWireServer } from "../../../contracts/transport/index.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { grants, type objectHandlers, provided } from "../client/fakes.ts"

const secret = "a secret of the thirty-two bytes"

/** What an operation answers: a value, an effect, or a stream. */
export type Answer = (payload: never) => unknown
export type Answers = Readonly<Record<string, Answer>>

export interface Asked {
  readonly operation: string
  readonly payload: Record<string, unknown>
}

export interface Deployment {
  readonly url: string
  /** Of "ada", for the owners "shop-*". */
  readonly token: string
  readonly tokenOf: (rest: Record<string, unknown>, seconds?: number) => Promise<string>
  /** The calls that reached an object, in order. */
  readonly asked: Array<Asked>
  readonly payloads: (operation: string) => ReadonlyArray<Record<string, unknown>>
}

const answerOf = (answers: Answers, operation: string, payload: unknown): unknown => {
  const answer = answers[operation]
  if (answer === undefined) return Effect.die(new Error(`no test answers ${operation}`))
  return answer(payload as never)
}

/** A handler for every operation of a group, whichever there are. */
const handlersOf = (
  group: { readonly requests: ReadonlyMap<string, unknown> },
  answers: Answers,
  asked: Array<Asked>,
) =>
  Object.fromEntries(
    [...group.requests.keys()].map((operation) => [
      operation,
      (payload: Record<string, unknown>) => {
        asked.push({ operation, payload })
        const answer = answerOf(answers, operation, payload)
        return Effect.isEffect(answer) || Stream.isStream(answer) ? answer : Effect.succeed(answer)
      },
    ]),
  )

const serverOf = (
  group: typeof OwnerRpc | typeof ThreadRpc | typeof RegistryRpc,
  answers: Answers,
  asked: Array<Asked>,
) => {
  // Served alike, whichever group it is: the types of one stand for all.
  const one = group as unknown as typeof OwnerRpc
  const handlers = handlersOf(group, answers, asked) as unknown as RpcGroup.HandlersFrom<
    RpcGroup.Rpcs<typeof OwnerRpc>
  >
  const layer = Layer.merge(one.toLayer(handlers), callerMiddlewareLayer)
  return provided(makeWireServer(one), layer as ReturnType<typeof objectHandlers>["owner"])
}

/** Hands a request of Node's to a handler of the platform's kind, and its answer back. */
const bridge =
  (handler: (request: Request) => Promise<Response>) =>
  async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Array<Buffer> = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const response = await handler(
      new Request(`http://deployment${incoming.url ?? "/"}`, {
        method: incoming.method ?? "GET",
        headers: incoming.headers as Record<string, string>,
        ...(incoming.method === "POST" ? { body: Buffer.concat(chunks) } : {}),
      }),
    )
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    const reader = response.body?.getReader()
    outgoing.on("close", () => void reader?.cancel().catch(() => undefined))
    for (;;) {
      const read = await reader?.read().catch(() => undefined)
      if (read === undefined || read.done) break
      outgoing.write(read.value)
    }
    outgoing.end()
  }

/** Listens until the scope ends; gives the address. */
export const listening = (
  serve: (incoming: IncomingMessage, outgoing: ServerResponse) => unknown,
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        }),
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  )

export const makeDeployment = Effect.fnUntraced(function* (
  answers: Answers = {},
): Effect.fn.Return<Deployment, never, Scope.Scope> {
  const asked: Array<Asked> = []
  const owner = yield* serverOf(OwnerRpc, answers, asked)
  const thread = yield* serverOf(ThreadRpc, answers, asked)
  const registry = yield* serverOf(RegistryRpc, answers, asked)
  const handler = makeHttpHandler({
    targets: () => ({
      owner: () => inMemoryTarget(owner),
      thread: () => inMemoryTarget(thread),
      registry: () => inMemoryTarget(registry),
      close: () => undefined,
    }),
    // A token ends when it says so.
    limits: makeLimits({ clockSkewMillis: 0 }),
    version: () => "v-1",
  })
  const url = yield* listening(
    bridge((request) =>
      handler(request, { HEDDLE_JWT_SECRET: secret }, { waitUntil: () => undefined }),
    ),
  )
  const tokenOf = (rest: Record<string, unknown>, seconds = 600) =>
    mintToken({ grants: grants(rest), secret, expiresInSeconds: seconds })
  return {
    url,
    asked,
    tokenOf,
    token: yield* Effect.promise(() => tokenOf({})),
    payloads: (operation) =>
      asked.filter((one) => one.operation === operation).map(({ payload }) => payload),
  }
})
