/**
 * The demonstration's client: the public typed client over HTTPS, with a token of its own.
 */
import { Effect } from "effect"
import { HeddleClient } from "../../client/HeddleClient.ts"
import { AgentId, type OwnerId } from "../../contracts/index.ts"
import { decodeGrants, mintToken } from "../mintToken.ts"
import type { DemoClient } from "./Client.ts"

/** The agent of `examples/01-digest.ts`, by the name that callers know. */
const digest = AgentId.make("digest")

/** A token that may do everything with one owner, for an hour. */
export const demoToken = (options: {
  readonly secret: string
  readonly ownerId: OwnerId
}): Promise<string> =>
  mintToken({
    grants: decodeGrants({ principal: "demo", owners: [options.ownerId] }),
    secret: options.secret,
    expiresInSeconds: 3_600,
  })

/** The calls of the demonstration on the client in the context. */
export const makeDemoClient: Effect.Effect<DemoClient, never, HeddleClient> = Effect.map(
  HeddleClient,
  ({ rpc, submit }): DemoClient => ({
    submit: (lane, { idempotencyKey, input }) =>
      submit({ ...lane, agent: digest, input, idempotencyKey, title: input.name.slice(-200) }),
    awaitSettlement: (lane, submissionId, timeoutMillis) =>
      rpc.awaitSettlement({ ...lane, submissionId, timeoutMillis }),
    status: (lane, submissionId) => rpc.status({ ...lane, submissionId }),
    history: (lane, after) => rpc.history({ ...lane, after }),
    observe: (lane) => rpc.observe(lane),
  }),
)
