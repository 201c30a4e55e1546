/** The scenes of the demonstration, all at once, and the table that tells of them. */
import { Effect } from "effect"
import { table } from "table"
import type { HeddleClient } from "../../../client/HeddleClient.ts"
import type { OwnerId } from "../../../contracts/index.ts"
import type { CallFailure } from "../Client.ts"
import { conversationsScene } from "./Conversations.ts"
import { ordersScene } from "./Orders.ts"
import { parcelsScene } from "./Parcels.ts"
import { refundsScene } from "./Refunds.ts"
import { remindersScene } from "./Reminders.ts"
import { makeStage, type SceneResult } from "./Scene.ts"

const scenes = [refundsScene, conversationsScene, ordersScene, parcelsScene, remindersScene]

/** Plays all of them. */
export const playScenes = (
  ownerId: OwnerId,
): Effect.Effect<ReadonlyArray<SceneResult>, CallFailure, HeddleClient> =>
  Effect.flatMap(makeStage(ownerId), (stage) =>
    Effect.all(
      scenes.map((play) => play(stage)),
      { concurrency: "unbounded" },
    ),
  )

/** One line for each. */
export const scenesTable = (results: ReadonlyArray<SceneResult>): string =>
  table(
    [
      ["example", "threads", "submissions", "what happened"],
      ...results.map(({ example, submissions, threads, told }) => [
        example,
        threads,
        submissions,
        told,
      ]),
    ],
    {
      columns: { 1: { alignment: "right" }, 2: { alignment: "right" } },
      drawHorizontalLine: (line, count) => line < 2 || line === count,
    },
  )
