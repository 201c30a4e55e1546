/**
 * What clients were told: the receipts, refusals and settlements of each intent. A run is judged by them.
 */
import type { Receipt } from "../contracts/Submission.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import type { Address, Operation } from "./Plan.ts"

/** Of what is a submission done again, and whether with another input. */
export interface Again {
  readonly of: Receipt
  readonly isOther: boolean
  readonly patient: boolean
}

export interface Intent {
  readonly key: string
  readonly address: Address
  readonly client: number
  readonly operation: Extract<Operation, { readonly _tag: "Submit" }>
  /** Only where it does the work of another again. */
  readonly again: Again | undefined
  readonly receipts: Array<Receipt>
  readonly refusals: Array<string>
  readonly settlements: Array<Settlement>
  /** The earliest time to which anybody has asked to have it deferred; undefined where it was sent to run at once. */
  deferredTo: number | undefined
  /** Somebody asked to have it aborted, or its call resolved by aborting. */
  abortAsked: boolean
  /** Somebody was told that it is aborted, or will be. */
  abortAccepted: boolean
}

export interface Decided extends Address {
  readonly submissionId: Receipt["submissionId"]
  readonly name: string
  readonly approved: boolean
}

/** A schedule, as clients know of it. */
export interface Scheduled extends Address {
  readonly name: string
  /** The shortest that anybody asked for. */
  readonly everySeconds: number
  /** Every period that anybody asked for. */
  readonly periods: Set<number>
  /** When somebody asked for it first. */
  readonly since: number
  /** Inputs of it, as they stand in the ledger. */
  readonly inputs: Set<string>
  /** How often somebody asked for it. */
  asked: number
}

export interface Told {
  readonly intents: ReadonlyMap<string, Intent>
  readonly intent: (
    operation: Extract<Operation, { readonly _tag: "Submit" }>,
    address: Address,
    now: number,
    again?: Again,
  ) => Intent
  /** Somebody asked to have everything of this owner aborted that is accepted until then. */
  readonly abortAll: (ownerId: string, until: number) => void
  /** Whether somebody asked to have this submission of a client aborted; a row that was pruned has lost its key. */
  readonly abortWasAsked: (row: { readonly id: string; readonly idempotencyKey: string }) => boolean
  /** Whether somebody asked so of what was accepted then. */
  readonly isAborting: (ownerId: string, acceptedAt: number) => boolean
  /** Decisions that were accepted, and values, each by the mark of its wait. */
  readonly decided: Map<string, Decided>
  readonly signalled: Map<string, number>
  /** What was asked to be given by schedules, by thread and name: every such input there may be. */
  readonly scheduled: Map<string, Scheduled>
  /** Runs that others have asked for, and somebody asked to have aborted. */
  readonly abortedIds: Set<string>
  /** Those of them of which somebody was told that they are aborted, or will be. */
  readonly abortedSurely: Set<string>
  /** The id of an intent's submission, if it is known. */
  readonly idOf: (key: string) => Receipt | undefined
  /** Threads that somebody asked to have forgotten. */
  readonly forgotten: Set<number>
  /** Threads that somebody asked to have paused. */
  readonly paused: Set<number>
}

export const makeTold = (): Told => {
  const intents = new Map<string, Intent>()
  const aborting = new Map<string, number>()
  return {
    intents,
    decided: new Map(),
    signalled: new Map(),
    scheduled: new Map(),
    abortedIds: new Set(),
    abortedSurely: new Set(),
    forgotten: new Set(),
    paused: new Set(),
    abortWasAsked: ({ id, idempotencyKey }) =>
      intents.get(idempotencyKey)?.abortAsked === true ||
      [...intents.values()].some(
        ({ abortAsked, receipts }) =>
          abortAsked && receipts.some(({ submissionId }) => submissionId === id),
      ),
    isAborting: (ownerId, acceptedAt) => acceptedAt <= (aborting.get(ownerId) ?? -1),
    abortAll: (ownerId, until) => {
      aborting.set(ownerId, Math.max(until, aborting.get(ownerId) ?? 0))
      for (const intent of intents.values())
        if (intent.address.ownerId === ownerId) intent.abortAsked = true
    },
    intent: (operation, address, now, again) => {
      const found = intents.get(operation.key)
      if (found !== undefined) return found
      const made: Intent = {
        key: operation.key,
        address,
        client: operation.client,
        operation,
        again,
        receipts: [],
        refusals: [],
        settlements: [],
        deferredTo: undefined,
        abortAsked: now <= (aborting.get(address.ownerId) ?? -1),
        abortAccepted: false,
      }
      intents.set(operation.key, made)
      return made
    },
    idOf: (key) => intents.get(key)?.receipts[0],
  }
}
