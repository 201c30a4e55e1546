/**
 * Lures: what has an object come by a failpoint that a run seldom reaches. A plan that crashes something there
 * asks for it, too.
 */
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { FaultKind } from "./Faults.ts"
import { brokenCall, step } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import type { Behaviour, OneOp, Script } from "./Script.ts"

/** What a lure adds to a plan; where and when is the plan's. */
export type Bait =
  | { readonly _tag: "Submit"; readonly agent: string; readonly script: Script }
  | { readonly _tag: "Abort" | "Retry" }
  | { readonly _tag: "Pause" | "Resume" | "Attend" | "Forget" }
  | { readonly _tag: "Fault"; readonly kind: FaultKind; readonly of: "owner" | "thread" }

/** What a lure adds, and how much longer the world must last for it. */
export interface Lure {
  readonly baits: ReadonlyArray<Bait>
  readonly lastsMillis: number
}

const well: Behaviour = { takesMillis: 5, failures: 0, ends: "well" }

const scriptOf = (...ops: ReadonlyArray<OneOp>): Script => ({ ops, ends: "well" })

const broken = brokenCall("lured")

const every: Script = scriptOf(
  step("a", 50),
  { _tag: "Call", name: "b", tool: "pay", behaviour: well, landsMillis: 0 },
  { _tag: "Small", name: "c", what: "progress" },
  { _tag: "Small", name: "d", what: "update" },
  step("e", 2_000),
)

const submit = (script: Script, agent = "first"): Bait => ({ _tag: "Submit", agent, script })
const fault = (kind: FaultKind, of: "owner" | "thread" = "thread"): Bait => ({
  _tag: "Fault",
  kind,
  of,
})

const none: Lure = { baits: [], lastsMillis: 0 }
const lure = (lastsMillis: number, ...baits: ReadonlyArray<Bait>): Lure => ({ baits, lastsMillis })

const ofThread = (name: ThreadFailpoint): Lure => {
  switch (name) {
    case "resolve":
      return lure(150_000, submit(scriptOf(broken)), { _tag: "Attend" }, { _tag: "Attend" })
    case "suspend":
      return lure(0, submit(scriptOf(broken)), submit(scriptOf(broken)))
    case "retry":
      return lure(2_000, submit(scriptOf(step("a", 1_000))), { _tag: "Retry" }, { _tag: "Retry" })
    case "abort":
      return lure(2_000, submit(scriptOf(step("a", 1_000))), { _tag: "Abort" }, { _tag: "Abort" })
    case "pause":
      return lure(0, { _tag: "Pause" }, { _tag: "Resume" })
    case "forget":
      return lure(15_000, { _tag: "Forget" })
    case "recover":
    case "fence":
      return lure(0, submit(every), fault("crash"), fault("crash"))
    case "claim":
    case "apply":
    case "step":
    case "state":
    case "progress":
    case "prepare":
    case "settleTool":
    case "settle":
    case "report":
      return lure(0, submit(every))
    default:
      return none
  }
}

const ofOwner = (name: OwnerFailpoint): Lure => {
  switch (name) {
    case "fault":
      return lure(
        30_000,
        submit(every),
        fault("record corrupt"),
        fault("crash"),
        fault("record corrupt"),
        fault("storage fails"),
      )
    case "binding":
      return lure(
        60_000,
        submit(every, "newer"),
        submit(every, "newer"),
        submit(every, "newer"),
        fault("deployment", "owner"),
        fault("deployment"),
        fault("deployment"),
        fault("deployment"),
        fault("deployment"),
      )
    case "recover":
      return lure(0, submit(every), fault("crash"), fault("crash"))
    case "condemn":
    case "forget":
      return lure(15_000, { _tag: "Forget" })
    default:
      return none
  }
}

/** The lure for a failpoint of a kind of object. */
export const lureOf = (of: "owner" | "thread", name: string, random: Random): Lure => {
  const found = of === "owner" ? ofOwner(name as OwnerFailpoint) : ofThread(name as ThreadFailpoint)
  // Now and then chance alone brings the object there: then other things are about.
  return random.chance(0.8) ? found : none
}
