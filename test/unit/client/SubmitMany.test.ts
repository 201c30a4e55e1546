/** Many submissions of one call, as the client repeats them. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, type Schema } from "effect"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import { AgentNotRegistered, Unavailable } from "../../../contracts/Errors.ts"
import { IdempotencyKey } from "../../../contracts/Identifiers.ts"
import type { SubmitOutcome } from "../../../contracts/SubmitMany.ts"
import { ownerId, receipt, submission } from "./fakes.ts"
import { type HttpWorld, makeHttpWorld, origin } from "./httpWorld.ts"

const connect = (world: HttpWorld) =>
  Effect.map(
    Layer.build(
      HeddleClient.layerHttp({
        url: origin,
        token: world.token,
        fetch: (input, init) => world.fetch(new Request(input, init)),
      }),
    ),
    (context) => Context.get(context, HeddleClient),
  )

const { idempotencyKey: _key, ownerId: _owner, ...unkeyed } = submission
const gone = new Unavailable({ retryable: true, overloaded: false, reason: "A fence" })

describe("many submissions", () => {
  const batch = (count: number) => ({
    ownerId,
    submissions: Array.from({ length: count }, (_one, n) => {
      return { ...unkeyed, input: { n } }
    }),
  })
  const accepted = (sequence: number) =>
    ({ _tag: "Accepted", receipt: { ...receipt, sequence } }) as const
  const refused = (error: Unavailable | AgentNotRegistered) => ({ _tag: "Refused", error }) as const
  const busy = new Unavailable({ retryable: true, overloaded: true, reason: "busy" })
  const unknown = new AgentNotRegistered({ agent: unkeyed.agent })

  type Submissions = ReadonlyArray<{
    readonly idempotencyKey: string
    readonly input: Schema.Json
  }>

  /** Answers the calls with these, in turn; tells what each had sent. */
  const answering = Effect.fnUntraced(function* (
    ...answers: ReadonlyArray<ReadonlyArray<SubmitOutcome> | Unavailable>
  ) {
    const sent: Array<Submissions> = []
    const world = yield* makeHttpWorld({
      answers: {
        submitMany: ({ submissions }) => {
          sent.push(submissions)
          const answer = answers[Math.min(sent.length, answers.length) - 1] ?? gone
          return answer instanceof Unavailable
            ? Effect.fail(answer)
            : Effect.succeed({ outcomes: answer })
        },
      },
    })
    return { sent, client: yield* connect(world) }
  })
  const inputs = (sent: ReadonlyArray<Submissions>) =>
    sent.map((submissions) => submissions.map(({ input }) => (input as { readonly n: number }).n))
  const keys = (submissions: Submissions | undefined) =>
    submissions?.map(({ idempotencyKey }) => idempotencyKey) ?? []

  it.live("fail typed where the deployment does not answer each", () =>
    Effect.gen(function* () {
      for (const outcomes of [[], [accepted(1)], [accepted(1), accepted(2), accepted(3)]]) {
        const { client, sent } = yield* answering(outcomes)
        const error = yield* Effect.flip(client.submitMany(batch(2)))
        expect(error).toMatchObject({ _tag: "Unavailable", retryable: false })
        expect(sent).toHaveLength(1)
      }
    }),
  )

  it.live("have a key each, made before the first try", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering(gone, [accepted(1), accepted(2), accepted(3)])
      const { ownerId: owner, submissions } = batch(3)
      const mine = IdempotencyKey.make("mine")
      const own = submissions.map((one, n) => (n === 1 ? { ...one, idempotencyKey: mine } : one))
      const reply = yield* client.submitMany({ ownerId: owner, submissions: own })
      expect(reply.outcomes).toEqual([accepted(1), accepted(2), accepted(3)])
      expect(sent).toHaveLength(2)
      expect(keys(sent[1])).toEqual(keys(sent[0]))
      expect(keys(sent[0])[1]).toBe("mine")
      expect(new Set(keys(sent[0])).size).toBe(3)
    }),
  )

  it.live("are repeated where nobody could answer, and only those", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering(
        [refused(gone), accepted(2), refused(unknown), refused(gone), refused(busy)],
        gone,
        [refused(gone), accepted(4)],
        [accepted(1)],
      )
      const { outcomes } = yield* client.submitMany(batch(5))
      expect(outcomes).toEqual([
        accepted(1),
        accepted(2),
        refused(unknown),
        accepted(4),
        refused(busy),
      ])
      expect(inputs(sent)).toEqual([[0, 1, 2, 3, 4], [0, 3], [0, 3], [0]])
      expect(keys(sent[3])).toEqual(keys(sent[0]).slice(0, 1))
    }),
  )

  it.live("keep what they were answered when the repetitions come to nothing", () =>
    Effect.gen(function* () {
      const first = [accepted(1), refused(gone)]
      const unheard = yield* answering(first, gone)
      expect((yield* unheard.client.submitMany(batch(2))).outcomes).toEqual(first)
      expect(inputs(unheard.sent)).toEqual([[0, 1], [1], [1], [1], [1]])
      const overloaded = yield* answering(first, busy)
      expect((yield* overloaded.client.submitMany(batch(2))).outcomes).toEqual(first)
      expect(overloaded.sent).toHaveLength(2)
      const refusedAlways = yield* answering(first, [refused(gone)])
      expect((yield* refusedAlways.client.submitMany(batch(2))).outcomes).toEqual(first)
      expect(refusedAlways.sent).toHaveLength(5)
    }),
  )

  it.live("fail as a whole where no try was answered", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering(gone)
      expect(yield* Effect.flip(client.submitMany(batch(1)))).toStrictEqual(gone)
      expect(sent).toHaveLength(5)
      const overloaded = yield* answering(busy)
      expect(yield* Effect.flip(overloaded.client.submitMany(batch(1)))).toStrictEqual(busy)
      expect(overloaded.sent).toHaveLength(1)
    }),
  )
})
