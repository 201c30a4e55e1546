/**
 * What so many submissions cost by the price list. Pure.
 *
 * - B1 Prices are those beyond what the plan includes: the next submission costs this, not the first.
 * - B2 Each write of an alarm is a row written; its removal is taken for one, too.
 * - B3 An object is billed for as long as it is active. Here that is what was measured, and, for the slower commits of the
 *   platform, one `commitMillis` for each commit; for one of a thread two, since its owner may wait for it.
 */
import { commitMillis, type Item, items, objectGigabytes, prices } from "./Prices.ts"
import type { Usage } from "./Usage.ts"

/** Of what is billed by use: all but what is stored. */
export type Used = Readonly<Record<Exclude<Item, "stored">, number>>

/** The milliseconds of one submission in which objects are active, those of its owner and its thread together. // B3 */
export const activeMillis = ({ owner, thread }: Usage): number =>
  owner.activeMillis + thread.activeMillis + (owner.commits + 2 * thread.commits) * commitMillis

/** Units of one submission. */
export const usedBy = (usage: Usage, requestMillis: number): Used => {
  const { owner, thread, workerRequests } = usage
  return {
    workerRequests,
    workerMillis: workerRequests * requestMillis,
    objectRequests: owner.requests + thread.requests,
    duration: (activeMillis(usage) / 1_000) * objectGigabytes,
    rowsRead: owner.read + thread.read,
    rowsWritten: owner.written + owner.alarmWrites + thread.written + thread.alarmWrites, // B2
  }
}

export const usedItems = items.filter((item): item is keyof Used => item !== "stored")

export const dollarsOf = (item: Item, units: number): number =>
  (units / prices[item].units) * prices[item].dollars // B1

export const totalOf = (used: Used, submissions: number): number =>
  usedItems.reduce((sum, item) => sum + dollarsOf(item, used[item] * submissions), 0)

/** How many submissions of a month the plan includes, and what runs out first. */
export const includedIn = (used: Used): { readonly submissions: number; readonly item: Item } =>
  usedItems
    .map((item) => ({ item, submissions: prices[item].included / used[item] }))
    .reduce((least, one) => (one.submissions < least.submissions ? one : least))
