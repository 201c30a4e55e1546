/**
 * The plan of a run: all that a seed draws before anything happens, as plain data that can be made shorter.
 */
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { FaultKind, FaultRates } from "./Faults.ts"
import type { HostLanePlan } from "./HostWork.ts"
import type { Denial } from "./Policy.ts"
import type { Pace } from "./Queue.ts"
import type { Reconciling, Script } from "./Script.ts"
import type { SinkPlan } from "./Sink.ts"
import type { Strike } from "./Strikes.ts"

export interface Address {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** What is submitted; `thread` is a place in the plan's list. */
export interface Submitted {
  readonly thread: number
  readonly key: string
  readonly agent: string
  readonly script: Script
  readonly afterMillis: number | undefined
  readonly waits: boolean
  /** Whether it asks to join a run that is open. */
  readonly joins?: boolean
  readonly title?: string
}

/** What clients do about runs that wait and talk. */
export type Talking =
  | {
      /** Decides all that a thread asks, and what was decided there before once more. */
      readonly _tag: "Decide"
      readonly thread: number
      readonly approved: boolean
      /** Looks again and again until there is something to decide. */
      readonly patient: boolean
    }
  | {
      /** Decides without looking, so that the word may come at any time before the question or after. */
      readonly _tag: "Approve"
      readonly key: string
      readonly name: string
      readonly approved: boolean
    }
  | {
      readonly _tag: "Signal"
      /** The key of the submission that is meant, and the name of its wait. */
      readonly key: string
      readonly name: string
      readonly value: number
    }
  | {
      /** Has a thread give itself inputs, one every so many seconds. The same name again replaces it. */
      readonly _tag: "Schedule"
      readonly thread: number
      readonly name: string
      readonly everySeconds: number
      readonly script: Script
    }
  | { readonly _tag: "Unschedule"; readonly thread: number; readonly name: string }
  | {
      /** Somebody outside uses a token that a run gave away, or one that is like it and made up. */
      readonly _tag: "Callback"
      readonly nth: number
      readonly value: number
      readonly forged: boolean
    }
  | {
      /** Aborts a run that another has asked for. */
      readonly _tag: "AbortSent"
      readonly nth: number
    }

/**
 * What a client or operator does, and when; `thread` and `owner` are places in the plan's lists. A place behind the threads of
 * the plan is that of a child's: whoever means it waits until it has come to be, and so much longer.
 */
export type Operation = {
  readonly at: number
  readonly client: number
  readonly lateMillis?: number
} & (
  | ({ readonly _tag: "Submit" } & Submitted)
  /** In one call, to threads of one owner. Never drawn. */
  | { readonly _tag: "SubmitMany"; readonly submissions: ReadonlyArray<Submitted> }
  | {
      readonly _tag: "Abort" | "Retry"
      /** The key of the submission that is meant. */
      readonly key: string
    }
  | {
      /** Has the work of a submission done again, under a key of its own. */
      readonly _tag: "Resubmit"
      /** The key of that one. */
      readonly of: string
      readonly key: string
      /** Instead of that one's. */
      readonly script?: Script
      readonly waits: boolean
      /** Looks again and again until that one has settled. */
      readonly patient: boolean
    }
  | {
      readonly _tag:
        | "Pause"
        | "Resume"
        | "Wake"
        | "Reconcile"
        | "Resolve"
        /** Looks again and again, until there is a call to resolve. */
        | "Attend"
        | "Read"
        | "Observe"
        | "Intrude"
        /** Of all that is open in the thread, or has begun there for a run that asked for it. */
        | "AbortOpen"
        | "RetryOpen"
      readonly thread: number
    }
  | Talking
  | { readonly _tag: "Forget"; readonly thread: number; readonly abort: boolean }
  | {
      readonly _tag: "Maintenance" | "Cron" | "Rebuild" | "List" | "RebuildLists"
      readonly owner: number
    }
  /** Of all that the owner has open. Never drawn. */
  | { readonly _tag: "RetryMany" | "AbortMany"; readonly owner: number }
)

/** A fault with a time and, mostly, an object. */
export interface PlannedFault {
  readonly at: number
  readonly kind: FaultKind
  /** A place in the list of objects: owners first, then threads, the registry, then children's, which are waited for. */
  readonly object: number
  readonly lateMillis?: number
  readonly lastsMillis: number
}

/** In milliseconds, by the deployment; for ever in an older one that does not say it. */
export interface KeepsPlan {
  readonly v1?: number
  readonly v2: number
  /** The second agent keeps its own for ever. */
  readonly second?: boolean
}

/** By the deployment: how many attempts of an agent may run at once in an owner. Without end where nothing is told. */
export type RunningPlan = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface Plan {
  readonly seed: number
  readonly pace: Pace
  readonly rates: FaultRates
  readonly latencyMillis: number
  /** One message in ten takes any time below this; 40 by default. */
  readonly strayMillis?: number
  /** Every alarm rings late, by any time below this; 10 by default. */
  readonly alarmLagMillis?: number
  readonly flushMillis: number
  readonly skewMillis: number
  readonly owners: ReadonlyArray<OwnerId>
  readonly threads: ReadonlyArray<Address>
  readonly clients: number
  readonly operations: ReadonlyArray<Operation>
  readonly faults: ReadonlyArray<PlannedFault>
  readonly strikes?: ReadonlyArray<Strike>
  /** Numbers of the product that this run changes. */
  readonly limits?: Partial<Limits>
  /** What the application's policy denies; without one nobody asks it. */
  readonly denials?: ReadonlyArray<Denial>
  /** How every reconciler does until the world heals; drawn each time by default. */
  readonly reconciling?: Reconciling
  /** Objects that die with one that a submission kills: they share its machine. */
  readonly killsTake?: ReadonlyArray<number>
  /** Whether clients ask an object right after one of its blocks has failed. */
  readonly asksAfter?: boolean
  /** Whether threads have titles, which lists and searches show; and whether outcomes are searched, too. */
  readonly lists?: "titles" | "outcomes"
  /** Whether runs wait and talk. */
  readonly talks?: boolean
  /** Whether messages of other owners' threads are let in: by every thread, or by those with an even number. */
  readonly doors?: "open" | "even"
  /** Where the records of threads are published, if anywhere. */
  readonly sink?: SinkPlan
  /** Work of the application's own in the owners. */
  readonly hostLanes?: ReadonlyArray<HostLanePlan>
  /** Whether runs give away tokens for their waits. */
  readonly callbacks?: boolean
  /** For how long what has settled keeps its content; for ever without it. */
  readonly keeps?: KeepsPlan
  /** The limits of agents. */
  readonly running?: RunningPlan
  /** Millis after the start. */
  readonly healsAt: number
}
