/** What tests of waits share: somebody who answers, and a look at what a run has on record. */
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import { answers, go, until, type World } from "./harness.ts"
import type { Said } from "./operators.ts"

export const hour = 3_600_000

/** Somebody outside: each command as the owner sends it. */
export const outside = (world: World) => {
  const about = (submissionId: SubmissionId, said: object) =>
    ({
      ...world.address,
      submissionId,
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
      ...said,
    }) as never
  const words = { author: "ann", reason: "looks right" }
  return {
    decide: (submissionId: SubmissionId, name: string, approved: boolean, said: Said = {}) =>
      go(world.asOwner.resolveApproval(about(submissionId, { name, approved, ...words, ...said }))),
    signal: (submissionId: SubmissionId, name: string, payload: unknown, said: Said = {}) =>
      go(world.asOwner.signal(about(submissionId, { name, payload, ...said }))),
    callback: (token: string) => go(world.asReader.callback({ ...world.address, token } as never)),
  }
}

/** The records of a thread as `kind name`, oldest first. */
export const recorded = async (world: World): Promise<ReadonlyArray<string>> => {
  const { records } = await go(world.history({ limit: 200 }))
  return records.map(({ kind, name }) => (name === undefined ? kind : `${kind} ${name}`))
}

/** The output of a submission that must have completed. */
export const outputOf = async (world: World, submissionId: SubmissionId): Promise<unknown> => {
  const { settlement } = await go(world.status(submissionId))
  if (settlement?.outcome !== "completed")
    throw new Error(`not completed: ${JSON.stringify(settlement)}`)
  return settlement.output
}

export const rowOf = (world: World, sequence = 1) =>
  world.storage.sql.all<{
    state: string
    attempts: number
    ended: number
    vanished: number
    epoch: number
    suspension: string | null
  }>(
    "SELECT state, attempts, ended, vanished, epoch, suspension FROM submissions WHERE sequence = ?",
    sequence,
  )[0]

export const openWaits = (world: World): ReadonlyArray<string> =>
  world.storage.sql
    .all<{ name: string }>("SELECT name FROM waits ORDER BY name")
    .map(({ name }) => name)

/** Dispatches once, and gives the tag of the only answer. */
export const dispatched = async (world: World): Promise<string> =>
  (await answers(world.process())).map(({ _tag }) => _tag).join(", ")

/** Until the run waits with so many branches. */
export const waiting = (world: World, names: ReadonlyArray<string>) =>
  until(
    `the run waits for ${names.join(", ")}`,
    () => openWaits(world),
    (open) => names.every((name) => open.includes(name)),
  )
