/**
 * The entry: whether this owner is known to the owner registry, or still owes to be. Pure.
 *
 * It is owed beside the first mutation and stays owed until the registry has answered; it is a part of
 * the maintenance row, so that owing and paying it write no row of their own.
 *
 * Invariants
 * - J1 A try is charged before its call: one that kills its object, or whose answer is lost, is not
 *   repeated before its backoff.
 * - J2 Until its first try it goes with any pass, and its time moves no alarm: it is that of the cover.
 * - J3 A deployment without a registry owes none, whatever the row says.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { Limits } from "../contracts/Limits.ts"

export type Entry =
  /** Not written yet: an owner that nobody wrote to, or tables from before there was a registry. */
  | { readonly _tag: "None" }
  /** Tries so far, and when the next is due; epoch milliseconds. */
  | { readonly _tag: "Owed"; readonly tries: number; readonly dueAt: number }
  | { readonly _tag: "Entered" }

export const none: Entry = { _tag: "None" }
export const entered: Entry = { _tag: "Entered" }

/** The entry that the first writing block of a life leaves behind. */
export const owedFromNow = (entry: Entry, now: number, limits: Limits): Entry =>
  entry._tag === "None" ? { _tag: "Owed", tries: 0, dueAt: now + limits.coverMillis } : entry // J2

/** When the alarm must ring for it, at the latest; undefined when it need not. */
export const deadline = (entry: Entry, registers: boolean): number | undefined =>
  registers && entry._tag === "Owed" ? entry.dueAt : undefined // J3

/** Whether a pass tries it now. */
export const isDue = (entry: Entry, registers: boolean, now: number): boolean =>
  registers && entry._tag === "Owed" && (entry.tries === 0 || entry.dueAt <= now) // J2, J3

/** The entry with one more try under way; the next is due a backoff after this one must have ended. */
export const charged = (entry: Entry, now: number, limits: Limits): Entry => {
  if (entry._tag !== "Owed") return entry
  const tries = entry.tries + 1
  const curve = { baseMillis: limits.registryRetryMillis, maxMillis: limits.registryRetryMaxMillis }
  const endsAt = now + limits.registryMillis
  return { _tag: "Owed", tries, dueAt: endsAt + delayMillis(curve, tries) } // J1
}
