/**
 * What clients were told: the receipts, refusals and settlements of each intent. A run is judged by them.
 */
import type { Receipt } from "../contracts/Submission.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import type { Address, Operation } from "./Plan.ts"

export interface Intent {
  readonly key: string
  readonly address: Address
  readonly client: number
  readonly operation: Extract<Operation, { readonly _tag: "Submit" }>
  readonly receipts: Array<Receipt>
  readonly refusals: Array<string>
  readonly settlements: Array<Settlement>
  /** Somebody asked to have it aborted, or its call resolved by aborting. */
  abortAsked: boolean
  /** Somebody was told that it is aborted, or will be. */
  abortAccepted: boolean
}

export interface Told {
  readonly intents: ReadonlyMap<string, Intent>
  readonly intent: (
    operation: Extract<Operation, { readonly _tag: "Submit" }>,
    address: Address,
  ) => Intent
  /** The id of an intent's submission, if it is known. */
  readonly idOf: (key: string) => Receipt | undefined
  /** Threads that somebody asked to have forgotten. */
  readonly forgotten: Set<number>
  /** Threads that somebody asked to have paused. */
  readonly paused: Set<number>
}

export const makeTold = (): Told => {
  const intents = new Map<string, Intent>()
  return {
    intents,
    forgotten: new Set(),
    paused: new Set(),
    intent: (operation, address) => {
      const found = intents.get(operation.key)
      if (found !== undefined) return found
      const made: Intent = {
        key: operation.key,
        address,
        client: operation.client,
        operation,
        receipts: [],
        refusals: [],
        settlements: [],
        abortAsked: false,
        abortAccepted: false,
      }
      intents.set(operation.key, made)
      return made
    },
    idOf: (key) => intents.get(key)?.receipts[0],
  }
}
