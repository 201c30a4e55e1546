/**
 * The network between objects, clients and the outside: what is sent arrives later, out of order, twice, or
 * never; and whoever waits for an answer learns that the other side is gone.
 *
 * - N1 Everything crosses as a copy of plain data, in both directions.
 * - N2 A request that has left lands, also after its sender died; a reply reaches only the living.
 * - N3 The caller of an object that dies is told, sooner or later; never that the call did not happen.
 * - N4 A request that the platform replays is the same request, seconds later.
 * - N5 A stream's values arrive in their order, each after the one before was taken.
 */
import type { WireExit, WireMessage, WireSink, WireTarget } from "../contracts/transport/Wire.ts"
import { copyJson } from "./Copy.ts"
import type { Faults } from "./Faults.ts"
import { type Incarnation, leaveObject, type OpenCall } from "./Incarnation.ts"
import type { Queue, Runner } from "./Queue.ts"
import type { RequestDoes } from "./Strikes.ts"

/** Who calls: a runner, and its gate. */
export interface Sender {
  readonly runner: Runner
  readonly leave: (send: () => void) => void
}

/** The object that a request lands at, as it lives then. Throws when it cannot start. */
export type Land = () => Incarnation

export interface Network {
  readonly target: (from: Sender, name: string, land: Land) => WireTarget
  /** How long a message takes. */
  readonly latency: () => number
}

export interface NetworkOptions {
  readonly queue: Queue
  readonly faults: Faults
  /** The usual latency of this run, at most. */
  readonly latencyMillis: number
  /** One message in ten takes any time below this. */
  readonly strayMillis: number
  /** What becomes of this request by the plan; by default nothing. */
  readonly strikes?: (name: string, tag: string) => RequestDoes | undefined
  /** Told of each request that lands, and of each answer as its server gave it. */
  readonly onLand: (name: string, message: WireMessage) => void
  readonly onAnswer: (name: string, message: WireMessage, exit: WireExit) => void
  /** Told of each answer as soon as its server has it, and whether its rows are as they were when the request landed. */
  readonly onSaid?: (said: Said) => void
}

export interface Said {
  readonly server: Incarnation
  readonly message: WireMessage
  readonly exit: WireExit
  readonly isUnchanged: boolean
}

const marked = (message: string, marks: object): Error => Object.assign(new Error(message), marks)

const lost = (): Error => marked("Network connection lost.", { retryable: true })

/** How the platform words the end of an object, with the marks that it gives. */
export const goneErrors: ReadonlyArray<() => Error> = [
  lost,
  () => marked("Durable Object reset because its code was updated.", { retryable: true }),
  () => marked("The Durable Object's code has been updated.", { remote: true, retryable: true }),
  () => new Error("internal error; reference = 7v2k"),
  () =>
    marked("Cannot resolve Durable Object due to transient issue on remote node.", {
      retryable: true,
    }),
  () => new Error("aborted"),
]

interface Route {
  readonly from: Sender
  readonly name: string
  readonly land: Land
  /** What the plan has in store for this request. */
  readonly struck?: RequestDoes | undefined
}

interface Settled {
  readonly resolve: (exit: WireExit) => void
  readonly reject: (error: Error) => void
}

/** A message as those read it who look for what went wrong. */
const wordsOf = ({ name }: Route, message: WireMessage): string =>
  `${message._tag === "Request" ? message.tag : "interrupt"} to ${name}`

export const makeNetwork = (options: NetworkOptions): Network => {
  const { faults, onAnswer, onLand, queue } = options
  const { random } = queue
  const latency = (): number =>
    random.chance(0.9) ? random.below(options.latencyMillis + 1) : random.below(options.strayMillis)

  /** Reaches who waits, if it lives. // N2 */
  const reach = ({ from }: Route, label: string, delay: number, run: () => void): void =>
    void queue.at(queue.now() + delay, from.runner, label, run)

  const fail = (route: Route, settled: Settled, error: Error): void =>
    reach(route, `broken ${route.name}`, latency() + 1, () => settled.reject(error)) // N3

  const sinkFor = (route: Route, server: Incarnation, sink: WireSink): WireSink => {
    return (values) => {
      const copied = copyJson(values) // N1
      return new Promise((resolve, reject) => {
        const back = (settle: () => void) =>
          void queue.at(queue.now() + latency(), server.runner, "taken", settle)
        leaveObject(server, () => {
          reach(route, `values ${route.name}`, latency(), () => {
            sink(copied).then(
              () => back(resolve), // N5
              () => back(() => reject(lost())),
            )
          })
          if (!route.from.runner.alive) back(() => reject(lost()))
        })
      })
    }
  }

  const answer = (route: Route, settled: Settled, message: WireMessage, exit: WireExit): void => {
    onAnswer(route.name, message, exit)
    const { struck } = route
    if (struck?._tag === "ReplyLost" || faults.strike("reply lost", () => wordsOf(route, message)))
      return fail(route, settled, lost())
    const delay =
      struck?._tag === "ReplyLate"
        ? struck.millis
        : faults.strike("reply late", () => wordsOf(route, message))
          ? random.between(100, 45_000)
          : latency()
    reach(route, `reply ${route.name}`, delay, () => settled.resolve(exit))
  }

  /** The request lands. */
  const arrive = (route: Route, settled: Settled, message: WireMessage, sink?: WireSink): void => {
    let server: Incarnation
    try {
      server = route.land()
    } catch (error) {
      return fail(route, settled, error as Error)
    }
    const { code } = server
    if (code === undefined) return fail(route, settled, lost())
    const call: OpenCall = {
      fail: (error) => {
        server.calls.delete(call)
        fail(route, settled, error)
      },
    }
    server.calls.add(call)
    server.runner.clock = queue.now() + server.runner.skewMillis
    server.object.landedAt = queue.now()
    const changes = server.object.state.changes()
    onLand(route.name, message)
    code
      .call(copyJson(message), sink && sinkFor(route, server, sink)) // N1
      .then(
        (exit) => {
          const copied = copyJson(exit) // N1
          const isUnchanged = server.object.state.changes() === changes
          options.onSaid?.({ server, message, exit: copied, isUnchanged })
          leaveObject(server, () => {
            if (server.calls.delete(call)) answer(route, settled, message, copied)
          })
        },
        (error: unknown) => {
          if (server.calls.delete(call))
            fail(route, settled, error instanceof Error ? error : new Error(String(error)))
        },
      )
  }

  const nobody: Settled = { resolve: () => undefined, reject: () => undefined }

  const send = (sent: Route, settled: Settled, message: WireMessage, sink?: WireSink): void => {
    const struck =
      message._tag === "Request" ? options.strikes?.(sent.name, message.tag) : undefined
    const route: Route = struck === undefined ? sent : { ...sent, struck }
    const where = () => wordsOf(route, message)
    if (struck?._tag === "Lost" || faults.strike("request lost", where))
      return fail(route, settled, lost())
    const delay =
      struck?._tag === "Late"
        ? struck.millis
        : faults.strike("request late", where)
          ? random.between(50, 40_000)
          : latency()
    const landing = (after: number, waits: Settled) =>
      void queue.at(
        queue.now() + after,
        undefined,
        `request ${route.name}`,
        () => arrive(route, waits, message, sink), // N2
      )
    landing(delay, settled)
    if (struck?._tag === "Replayed") landing(delay + struck.millis, nobody) // N4
    if (faults.strike("request doubled", where)) landing(delay + latency(), nobody)
    if (faults.strike("request replayed", where))
      landing(delay + random.between(500, 20_000), nobody) // N4
    // A caller may be told that the connection broke while its request is still on its way. // N3
    if (delay > 1_000 && struck === undefined && random.chance(0.5)) fail(route, settled, lost())
  }

  return {
    latency,
    target: (from, name, land) => ({
      call: (message, sink) =>
        new Promise<WireExit>((resolve, reject) => {
          const copied = copyJson(message) // N1
          const route: Route = { from, name, land }
          from.leave(() => send(route, { resolve, reject }, copied, sink))
        }),
    }),
  }
}
