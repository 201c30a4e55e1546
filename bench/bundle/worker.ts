/** A deployment without agents: what of a Worker is ours. */
import { Heddle } from "../../heddle.ts"

const heddle = Heddle.make({ agents: [] })

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}
export class Api extends heddle.Entrypoint {}

export default { fetch: heddle.fetch, scheduled: heddle.scheduled }
