/**
 * The end of a race, in the block that decides it: its winner on record, and whatever else of it waits withdrawn.
 *
 * The record stands under the race's own name (`WaitWithdrawn` with the `winner`), and part 1 of each wait that was
 * withdrawn says which race it was lost in.
 *
 * - R1 A race is decided once: its name has one record.
 * - R2 With it the waits of all other branches end, those of races inside them, too: no later word or time answers
 *   one, and a child that was waited for is told to end.
 * - R3 Names in branches that have lost stay used: what they have recorded says where it was recorded, and the record
 *   of the race has those that an attempt in memory had taken.
 * - R4 Branches that wait are told of that like of an answer: code that cannot be interrupted gives way by it.
 */
import { abortChild } from "./AbortChildren.ts"
import type { Block } from "./Block.ts"
import { findOpenChild } from "./ChildRows.ts"
import { append, bytesOf, findNamed } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { branchesOf, branchesText } from "./RaceBranch.ts"
import { winnerPayload } from "./RaceWinner.ts"
import { answerPart, closeWait, type StoredWait, waitsOf } from "./WaitRows.ts"

export type Racing = Pick<SubmissionRow, "sequence" | "epoch" | "id" | "principal">

export interface Winner {
  readonly race: string
  readonly branch: string
}

const loses = (wait: StoredWait, { branch, race }: Winner): boolean =>
  branchesOf(wait.races).some(([other, of]) => other === race && of !== branch)

const withdraw = (block: Block, row: Racing, wait: StoredWait, race: string): void => {
  const payload = JSON.stringify({ race })
  append(block, {
    submission: row.sequence,
    kind: "WaitWithdrawn",
    name: wait.name,
    part: answerPart,
    epoch: row.epoch,
    races: wait.races,
    payload,
  })
  block.answered.push({ submission: row.sequence, name: wait.name, bytes: bytesOf(payload) }) // R4
  closeWait(block.sql, row.sequence, wait.name)
  if (wait.kind !== "child") return
  const child = findOpenChild(block.sql, row.sequence, wait.name)
  if (child !== undefined)
    abortChild(block, row, child, { author: "heddle", reason: `it has lost the race ${race}` })
}

const lostWaits = (block: Block, row: Racing, winner: Winner): ReadonlyArray<StoredWait> =>
  waitsOf(block.sql, row.sequence).filter((wait) => loses(wait, winner))

/** Withdraws what the branches that have lost wait for. // R2 */
export const withdrawLost = (block: Block, row: Racing, winner: Winner): void => {
  for (const wait of lostWaits(block, row, winner)) withdraw(block, row, wait, winner.race)
}

/** The names that an attempt in memory has taken in the other branches. */
const takenByOthers = (
  { thread }: Block,
  row: Racing,
  { branch, race }: Winner,
): ReadonlyArray<string> => {
  const { live } = thread
  const scopes = live?.sequence === row.sequence ? live.contests.get(race)?.scopes : undefined
  return (scopes ?? []).flatMap((scope) => (scope.branch === branch ? [] : [...scope.names]))
}

/** Decides the race of which this wait, just answered, is a whole branch. */
export const decideBySole = (block: Block, row: Racing, wait: StoredWait): void => {
  const around = branchesOf(wait.races)
  const own = wait.sole === 1 ? around.at(-1) : undefined
  if (own === undefined) return
  const [race, branch] = own
  const winner = { race, branch }
  if (findNamed(block.sql, row.sequence, race) !== undefined) return // R1
  const payload = winnerPayload(branch, [
    ...lostWaits(block, row, winner).map(({ name }) => name),
    ...takenByOthers(block, row, winner),
  ]) // R3
  append(block, {
    submission: row.sequence,
    kind: "WaitWithdrawn",
    name: race,
    epoch: row.epoch,
    races: branchesText(around.slice(0, -1)),
    payload,
  })
  block.answered.push({ submission: row.sequence, name: race, bytes: bytesOf(payload) })
  withdrawLost(block, row, winner)
}
