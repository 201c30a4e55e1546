/** A host lane, and a search of how work ended, shown with `heddle/testing`. */
import { Context, Effect, Layer, Schema } from "effect"
import { expect, it } from "vitest"
import type { HostLane } from "../../heddle.ts"
import { TestDeployment } from "../../testing/index.ts"
import * as Agent from "../../thread-actors/Agent.ts"

/** Where reminders are kept, by the time they are for. */
class Calendar extends Context.Service<
  Calendar,
  {
    readonly nextAt: Effect.Effect<number | undefined>
    readonly ring: (now: number) => Effect.Effect<void>
  }
>()("reminders/Calendar") {}

const reminders: HostLane<Calendar> = {
  name: "reminders",
  allowanceMillis: 1_000,
  run: ({ now }) => Effect.flatMap(Calendar, (calendar) => calendar.ring(now)),
  nextDeadline: () => Effect.flatMap(Calendar, (calendar) => calendar.nextAt),
}

/** A calendar of the test, outside of the objects. */
const makeCalendar = (times: Array<number>) => {
  const rung: Array<number> = []
  const layer = Layer.succeed(Calendar, {
    nextAt: Effect.sync(() => times[0]),
    ring: (now) =>
      Effect.sync(() => {
        while (times[0] !== undefined && times[0] <= now) rung.push(times.shift() ?? 0)
      }),
  })
  return { layer, rung, times }
}

const Note = Agent.make("note", { input: Schema.String, output: Schema.String })
const NoteLive = Note.handler((said) => Effect.succeed(`noted: ${said}`))

const startsAt = Date.UTC(2026, 0, 1)
const hour = 3_600_000

it("rings each reminder at its time, also after the owner's object died", async () => {
  const calendar = makeCalendar([startsAt + hour, startsAt + 2 * hour])
  const heddle = TestDeployment.make({
    agents: [NoteLive],
    hostLanes: [reminders],
    services: calendar.layer,
    startsAt,
  })
  // An owner asks for the first time once it has something to do.
  await heddle.settled(await heddle.submit({ agent: Note, input: "a", threadId: "notes" }))

  await heddle.advance("59 minutes")
  expect(calendar.rung).toEqual([])
  await heddle.advance("2 minutes")
  expect(calendar.rung).toEqual([startsAt + hour])

  heddle.crashOwner()
  await heddle.advance("1 hour")
  expect(calendar.rung).toEqual([startsAt + hour, startsAt + 2 * hour])
})

it("finds what submissions came to, if the deployment says so", async () => {
  for (const outcomes of [true, false]) {
    const heddle = TestDeployment.make({ agents: [NoteLive], search: { outcomes } })
    const note = { agent: Note, input: "feed the cat", threadId: "notes" }
    const { submissionId } = await heddle.submit(note)
    await heddle.advanceToRest()

    const { hits } = await heddle.search("cat")
    expect(hits).toMatchObject(outcomes ? [{ submissionId, outcome: "completed" }] : [])
  }
})
