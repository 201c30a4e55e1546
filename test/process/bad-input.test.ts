/**
 * Bytes that are no good HTTP, or break off, sent to a real workerd over a socket of our own: it goes on serving others,
 * and keeps nothing of it.
 */
import { connect } from "node:net"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentId, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import { build, startServer } from "./server.ts"

const ownerId = OwnerId.make("shop")
const agent = AgentId.make("noop")

/** Sends the pieces, then hangs up, or waits for the answer; gives its first line. */
const send = (url: string, pieces: ReadonlyArray<string>, hangsUp: boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    let answer = ""
    const end = () => {
      socket.destroy()
      resolve(answer.split("\r\n", 1)[0] ?? "")
    }
    socket.on("connect", () => {
      for (const piece of pieces) socket.write(piece)
      if (hangsUp) socket.end(end)
    })
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1")
      if (answer.includes("\r\n\r\n")) end()
    })
    socket.on("close", end)
    socket.on("error", end)
    socket.setTimeout(20_000, () => reject(new Error(`no answer to ${pieces[0]?.slice(0, 80)}`)))
  })

const line = (threadId: string) =>
  JSON.stringify({
    _tag: "Request",
    id: "1",
    tag: "submit",
    payload: { ownerId, threadId, agent, input: 1, idempotencyKey: "k" },
  })

const head = (token: string, more: ReadonlyArray<string>, method = "POST") =>
  [
    `${method} /rpc HTTP/1.1`,
    "Host: heddle",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/x-ndjson",
    ...more,
    "",
    "",
  ].join("\r\n")

const body = line("cut")
const long = (bytes: number) => `X-Long: ${"x".repeat(bytes)}`

/** What is sent, whether the sender hangs up behind it, and what it is answered, if anything. */
const bad = (token: string): ReadonlyArray<readonly [Array<string>, boolean, RegExp]> => [
  [["\0\u0001\u0002 nonsense\r\n\r\n"], false, /^(HTTP\/1.1 400|$)/],
  [["GET"], true, /^$/],
  [["GET /health HTTP/1.1\r\nHost: a b\r\n\r\n"], false, / 400 /],
  [[head(token, [], "BREW")], false, /^(HTTP\/1.1 (400|405|501)|$)/],
  [[head(token, ["Content-Length: 4"]), "null"], false, / 400 /],
  [[head(token, [`Content-Length: ${body.length}`]), body.slice(0, 40)], true, /^(|.* 400 .*)$/],
  [[head(token, ["Content-Length: 40"]), body.slice(0, 40)], false, / 400 /],
  [
    [head(token, ["Transfer-Encoding: chunked"]), `${body.length.toString(16)}\r\n`, body],
    true,
    /^(|.* 400 .*)$/,
  ],
  [[head(token, ["Transfer-Encoding: chunked"]), "zz\r\n"], false, /^(|.* (400|500) .*)$/],
  [[head(token, ["Content-Length: 99999999999"]), body], false, / 413 /],
  [[head(token, [long(40_000), "Content-Length: 0"])], false, / 431 /],
  [[head(token, [long(4_000_000), "Content-Length: 0"])], false, /^(HTTP\/1.1 4|$)/],
  [[head("x".repeat(9_000), ["Content-Length: 0"])], false, / 401 /],
]

it.live(
  "bytes that are no request, or half of one, have no effect, and others are served meanwhile",
  () =>
    Effect.gen(function* () {
      const { client, token, url } = yield* startServer(yield* Effect.promise(build))
      const served = (thread: string) =>
        client.submitAndWait({ ownerId, threadId: ThreadId.make(thread), agent, input: 1 })
      for (const [nth, [pieces, hangsUp, answer]] of bad(token).entries()) {
        const [said, settlement] = yield* Effect.all(
          [Effect.promise(() => send(url, pieces, hangsUp)), served("beside")],
          { concurrency: "unbounded" },
        )
        expect({ nth, said }).toEqual({ nth, said: expect.stringMatching(answer) })
        expect(settlement.outcome).toBe("completed")
      }
      const { threads } = yield* client.rpc.listThreads({ ownerId })
      expect(threads.map(({ threadId }) => threadId)).toEqual(["beside"])
    }).pipe(Effect.scoped),
  60_000,
)
