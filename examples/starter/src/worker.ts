/** The Worker that wrangler.toml deploys: every agent, behind a service binding and HTTPS. */
import { Heddle } from "heddle"
import { GreetLive } from "./agent.ts"

const heddle = Heddle.make({ agents: [GreetLive] })

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}
export class Api extends heddle.Entrypoint {}

export default { fetch: heddle.fetch, scheduled: heddle.scheduled }
