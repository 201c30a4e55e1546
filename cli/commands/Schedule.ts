/** `heddle schedule`, `heddle schedules` and `heddle unschedule`: inputs that a thread gives itself by the clock. */
import { Effect, type Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { StepName } from "../../contracts/Identifiers.ts"
import type { Schedule } from "../../contracts/Schedule.ts"
import { inputFlags, readInput } from "../Input.ts"
import { namedPageFlags, pageOf, showPages } from "../Pages.ts"
import { agent, given as givenField, stepName, thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const at = (millis: number | undefined) => (millis === undefined ? undefined : isoOf(millis))

const text = (schedule: Schedule): string =>
  fields({
    name: schedule.name,
    cron: schedule.cron,
    "time zone": schedule.timeZone ?? "UTC",
    agent: schedule.agent,
    title: schedule.title,
    next: at(schedule.nextAt) ?? "never again",
    last: at(schedule.lastAt),
    collapsed: schedule.collapsed === 0 ? undefined : String(schedule.collapsed),
    "waits for": schedule.waitsFor,
  })

const textFlag = (name: string, charactersMax: number, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(
      (value) => value !== "" && value.length <= charactersMax,
      () => `1 to ${charactersMax} characters`,
    ),
    Flag.withDescription(description),
  )

export const schedule = Command.make(
  "schedule",
  {
    thread,
    name: stepName("Its name in the thread"),
    cron: textFlag(
      "cron",
      128,
      "When: minute hour day month weekday, with seconds before if wanted",
    ),
    timeZone: textFlag("time-zone", 64, "Whose clock, such as Europe/Berlin (default UTC)").pipe(
      Flag.optional,
    ),
    agent,
    title: textFlag("title", 256, "A title, for people and search").pipe(Flag.optional),
    ...inputFlags,
  },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const input = (yield* readInput(given)) as Schema.Json
        const reply = yield* session.client.rpc.schedule({
          ownerId,
          threadId: given.thread,
          name: given.name,
          cron: given.cron,
          agent: given.agent,
          input,
          ...givenField("timeZone", given.timeZone),
          ...givenField("title", given.title),
        })
        yield* session.show(reply, () => text(reply))
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    "Have a thread given an input at each time of a cron expression. The same name again replaces it. Times that " +
      "passed while nothing could run are one input, not many.",
  ),
  Command.withShortDescription("Give a thread an input by the clock"),
  Command.withExamples([
    {
      command:
        'heddle schedule order-12 nightly --cron "0 3 * * *" --time-zone Europe/Berlin --agent refund --input \'{"order":"12"}\'',
    },
  ]),
)

export const schedules = Command.make("schedules", { thread, ...namedPageFlags }, (flags) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const threadId = flags.thread
      yield* showPages(session, flags, {
        name: "schedules",
        page: ({ after, limit }) =>
          session.client.rpc
            .schedules({
              ownerId,
              threadId,
              ...(limit === undefined ? {} : { limit }),
              ...(after === undefined ? {} : { after: StepName.make(after) }),
            })
            .pipe(Effect.map((page) => pageOf(page.schedules, page.next))),
        headings: ["name", "cron", "time zone", "agent", "next", "last", "collapsed"],
        cells: (row) => [
          row.name,
          row.cron,
          row.timeZone ?? "UTC",
          row.agent,
          at(row.nextAt),
          at(row.lastAt),
          row.collapsed,
        ],
        empty: `The thread ${threadId} has no schedule.`,
      })
    }),
    flags.thread,
  ),
).pipe(
  Command.withDescription("List the schedules of a thread, by name."),
  Command.withShortDescription("List the schedules of a thread"),
  Command.withExamples([{ command: "heddle schedules order-12" }]),
)

export const unschedule = Command.make(
  "unschedule",
  { thread, name: stepName("The schedule's name in the thread") },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const { name, thread: threadId } = given
        const reply = yield* session.client.rpc.unschedule({ ownerId, threadId, name })
        yield* session.show(reply, () => fields({ removed: reply.removed }))
        if (!reply.removed) yield* session.output.note("There was no schedule of that name.")
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    "Cancel a schedule. What it has given the thread already stays; abort that if nobody needs it.",
  ),
  Command.withShortDescription("Cancel a schedule"),
  Command.withExamples([{ command: "heddle unschedule order-12 nightly" }]),
)
