/**
 * Host lanes of a simulated deployment: work outside that owners do in waves, and the log of those.
 *
 * - H1 Each piece of work is there from its time on, and done once a wave of it has ended well: who asks for the next time
 *   is told that of the first that is not done.
 * - H2 A wave ends as its plan says the first so many times; then, and once the world has healed, well.
 * - H3 Now and then the question for the next time fails, or is not answered, until the world has healed.
 */
import { Data, Effect } from "effect"
import type { HostLane } from "../owner-object/HostLane.ts"
import type { Incarnation } from "./Incarnation.ts"
import type { Queue } from "./Queue.ts"

/** A piece of work. */
export interface HostPiece {
  /** A place in the plan's list of owners. */
  readonly owner: number
  /** Millis after the start. */
  readonly at: number
  readonly takesMillis: number
  /** How its first waves end. `clings`: it goes on although it is interrupted. */
  readonly ends: "fails" | "dies" | "hangs" | "clings" | "kills"
  readonly times: number
}

export interface HostLanePlan {
  readonly name: string
  readonly allowanceMillis: number
  /** How often the question for its time comes to nothing, of 1. // H3 */
  readonly silent: number
  readonly pieces: ReadonlyArray<HostPiece>
}

/** A wave that goes on. */
export interface Wave {
  readonly lane: HostLanePlan
  readonly incarnation: Incarnation
  readonly startedAt: number
  /** Whether it may go on although it was interrupted. */
  readonly clings: boolean
}

export interface HostWork {
  /** The lanes as code in one incarnation has them. */
  readonly of: (incarnation: Incarnation) => ReadonlyArray<HostLane>
  /** What is not done of an owner's, in words. */
  readonly left: (owner: string) => ReadonlyArray<string>
  /** How many waves ended otherwise than well. */
  readonly ills: () => number
}

export interface HostWorkOptions {
  readonly queue: Queue
  readonly lanes: ReadonlyArray<HostLanePlan>
  readonly owners: ReadonlyArray<string>
  readonly startsAt: number
  readonly isHealed: () => boolean
  readonly kill: (incarnation: Incarnation) => void
  /** Told of each wave before it starts, with those that go on in its object, and when it has ended. */
  readonly onWave: (wave: Wave, others: ReadonlyArray<Wave>) => void
  readonly onWaveEnd: (wave: Wave) => void
}

class WaveFailed extends Data.TaggedError("WaveFailed") {}

interface Piece extends HostPiece {
  done: boolean
  waves: number
}

export const makeHostWork = (options: HostWorkOptions): HostWork => {
  const { isHealed, kill, lanes, onWave, onWaveEnd, owners, queue, startsAt } = options
  const { trace } = queue
  const pieces = new Map(
    lanes.map((lane): [HostLanePlan, ReadonlyArray<Piece>] => [
      lane,
      lane.pieces.map((piece) => ({ ...piece, done: false, waves: 0 })),
    ]),
  )
  const goingOn = new Set<Wave>()
  let ills = 0

  const leftOf = (lane: HostLanePlan, owner: string): ReadonlyArray<Piece> =>
    (pieces.get(lane) ?? [])
      .filter((piece) => !piece.done && owners[piece.owner] === owner)
      .toSorted((one, other) => one.at - other.at)

  /** What comes of a piece in a wave. // H2 */
  const workOn = (piece: Piece, incarnation: Incarnation): Effect.Effect<void, WaveFailed> => {
    const works = Effect.sleep(piece.takesMillis)
    piece.waves += 1
    if (isHealed() || piece.waves > piece.times)
      return Effect.andThen(
        works,
        Effect.sync(() => {
          piece.done = true // H1
          trace.note("host work", incarnation.object.name, piece.at)
        }),
      )
    ills += 1
    switch (piece.ends) {
      case "fails":
        return Effect.andThen(works, Effect.fail(new WaveFailed()))
      case "dies":
        return Effect.andThen(works, Effect.die(new Error("the wave has a mistake")))
      case "hangs":
        return Effect.never
      case "clings":
        return Effect.uninterruptible(Effect.sleep(60_000))
      case "kills":
        return Effect.andThen(
          works,
          Effect.suspend(() => {
            kill(incarnation)
            return Effect.never
          }),
        )
    }
  }

  const run = (lane: HostLanePlan, incarnation: Incarnation): Effect.Effect<void, WaveFailed> =>
    Effect.suspend(() => {
      const [piece] = leftOf(lane, incarnation.object.name)
      const isDue = piece !== undefined && startsAt + piece.at <= incarnation.runner.clock
      const wave: Wave = {
        lane,
        incarnation,
        startedAt: queue.now(),
        clings: isDue && piece.ends === "clings",
      }
      onWave(
        wave,
        [...goingOn].filter((one) => one.incarnation === incarnation),
      )
      goingOn.add(wave)
      trace.note("wave", incarnation.object.name, lane.name)
      return Effect.ensuring(
        isDue ? workOn(piece, incarnation) : Effect.void,
        Effect.sync(() => {
          goingOn.delete(wave)
          onWaveEnd(wave)
        }),
      )
    })

  const nextDeadline = (lane: HostLanePlan, owner: string) =>
    Effect.suspend((): Effect.Effect<number | undefined, WaveFailed> => {
      if (!isHealed() && queue.random.chance(lane.silent))
        return queue.random.chance(0.5) ? Effect.never : Effect.fail(new WaveFailed()) // H3
      const [piece] = leftOf(lane, owner)
      return Effect.succeed(piece && startsAt + piece.at) // H1
    })

  return {
    of: (incarnation) =>
      lanes.map((lane) => ({
        name: lane.name,
        allowanceMillis: lane.allowanceMillis,
        run: () => run(lane, incarnation),
        nextDeadline: () => nextDeadline(lane, incarnation.object.name),
      })),
    left: (owner) =>
      lanes.flatMap((lane) => leftOf(lane, owner).map(({ at }) => `${lane.name} at ${at} ms`)),
    ills: () => ills,
  }
}
