/** Parcels that go along lines of stations as messages: each is stamped once at each, in the order of the line. */
import { Effect } from "effect"
import type { JournalRecord, ThreadId } from "../../../contracts/index.ts"
import { each, field, type Scene, type Stage, threadsNamed } from "./Scene.ts"

const lines = 4
const stationsEach = 6
const parcelsEach = 10

const linesOf = (stations: ReadonlyArray<ThreadId>): ReadonlyArray<ReadonlyArray<ThreadId>> =>
  Array.from({ length: lines }, (_, line) =>
    stations.slice(line * stationsEach, (line + 1) * stationsEach),
  )

/** How many stamps the last station of a line has given. */
const arrived = ({ ownerId, rpc }: Stage, line: ReadonlyArray<ThreadId>) => {
  const threadId = line.at(-1) as ThreadId
  return Effect.map(
    Effect.orElseSucceed(rpc.readState({ ownerId, threadId }), () => ({ value: 0 })),
    ({ value }) => Number(value ?? 0),
  )
}

/** Waits until all parcels of a line have come to its end. */
const awaitAll = (stage: Stage, line: ReadonlyArray<ThreadId>): Effect.Effect<void> =>
  Effect.flatMap(arrived(stage, line), (count) =>
    count >= parcelsEach
      ? Effect.void
      : Effect.delay(
          Effect.suspend(() => awaitAll(stage, line)),
          "300 millis",
        ),
  )

/** The number of the last stamp that each run of a station has given, in the order of the runs. */
const stampsOf = (records: ReadonlyArray<JournalRecord>): ReadonlyArray<string> =>
  records
    .filter(({ kind }) => kind === "Settled")
    .map(({ payload }) => {
      const stamps = field(field(payload, "output"), "stamps")
      const last: unknown = Array.isArray(stamps) ? stamps.at(-1) : undefined
      return String(field(last, "number"))
    })

const expected = Array.from({ length: parcelsEach }, (_, index) => String(index + 1)).join()

const wrongWith = (stage: Stage, threadId: ThreadId) =>
  Effect.map(stage.records(threadId), (records) => {
    const stamps = stampsOf(records).join()
    return stamps === expected ? [] : [`${threadId}: stamps ${stamps}`]
  })

export const parcelsScene: Scene = Effect.fnUntraced(function* (stage) {
  const stations = threadsNamed("station", lines * stationsEach)
  yield* each(linesOf(stations), (line, index) =>
    Effect.gen(function* () {
      const [first, ...rest] = line as [ThreadId, ...Array<ThreadId>]
      for (let parcel = 1; parcel <= parcelsEach; parcel++)
        yield* stage.submit({
          threadId: first,
          agent: "station",
          key: `parcel:${index}:${parcel}`,
          input: { parcel: `${index + 1}-${parcel}`, route: rest, stamps: [] },
        })
      yield* awaitAll(stage, line)
    }),
  )
  const findings = (yield* each(stations, (threadId) => wrongWith(stage, threadId))).flat()
  const messages = lines * parcelsEach * (stationsEach - 1)
  return {
    example: "05-mailbox",
    threads: stations.length,
    submissions: lines * parcelsEach + messages,
    told: `${lines * parcelsEach} parcels, ${messages} messages, each stamped once and in order`,
    findings,
  }
})
