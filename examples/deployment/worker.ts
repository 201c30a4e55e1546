/**
 * A deployment that people's browsers, an identity provider's users and other Workers call: whose tokens it takes, whose
 * pages may call, and how often.
 */
import { Heddle, literal, type RateLimiter } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

interface Env {
  readonly HEDDLE_JWT_SECRET: string
  readonly HEDDLE_JWT_SECRET_PREVIOUS?: string
  readonly LIMITER: RateLimiter
}

const heddle = Heddle.make({
  agents: [PlaceOrderLive],
  tokens: (env: Env) => [
    // Your own services sign with a secret that they share with this Worker.
    { secrets: [env.HEDDLE_JWT_SECRET, env.HEDDLE_JWT_SECRET_PREVIOUS] },
    // People sign in with an identity provider, and see the threads that are named after them.
    {
      jwksUrl: "https://id.example.com/.well-known/jwks.json",
      issuer: "https://id.example.com/",
      audience: "heddle",
      grants: ({ org, sub }) => ({
        principal: `person:${literal(sub)}`,
        owners: [literal(org)],
        threads: [`${literal(sub)}:*`],
        operations: ["submit", "status", "observe", "awaitSettlement"],
      }),
    },
  ],
  corsOrigins: ["https://app.example.com"],
  rateLimiter: (env: Env) => env.LIMITER,
})

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}
export class Api extends heddle.Entrypoint {}

export default { fetch: heddle.fetch, scheduled: heddle.scheduled }
