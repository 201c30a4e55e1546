/**
 * A target in the same memory that behaves as if it were not: everything is copied both ways, what
 * could not cross a wire is refused, and a test can lose, hold or double what passes.
 *
 * - M1 Nothing is shared: message, values and exit arrive as structured clones.
 * - M2 What is not plain JSON data is refused, as a caller would find out at the latest over HTTPS.
 * - M3 It has no timers; a hook holds a message for as long as the promise it returned.
 */
import type { WireExit, WireMessage, WireSink, WireTarget } from "./Wire.ts"

/** `drop` loses it: the caller sees a lost connection. `duplicate` sends a request twice. */
export type Fate = "deliver" | "drop" | "duplicate"

type Decision = Fate | Promise<Fate>

/** Asked for each message that passes; what is returned happens to it. Absent hooks deliver. */
export interface InMemoryHooks {
  /** A request or an interrupt on its way there. Duplicates run twice; the first answer counts. */
  readonly request?: (message: WireMessage) => Decision
  /** The exit on its way back. `duplicate` is `deliver`: an exit has one place to go. */
  readonly reply?: (message: WireMessage, exit: WireExit) => Decision
  /** Values of a stream on their way back. A dropped push fails at the server, like a lost peer. */
  readonly push?: (message: WireMessage, values: ReadonlyArray<unknown>) => Decision
}

/** What a dropped message looks like to whoever waits for its answer. */
export const connectionLost = (): Error =>
  Object.assign(new Error("Network connection lost."), { retryable: true })

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

/** Throws unless the value is JSON; `undefined` may stand for an absent value. */
const assertJson = (value: unknown, path: string): void => {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return
    case "number":
      if (Number.isFinite(value)) return
      break
    case "object": {
      if (value === null) return
      if (!isPlain(value)) break
      for (const [key, inner] of Object.entries(value)) assertJson(inner, `${path}.${key}`)
      return
    }
    default:
  }
  throw new TypeError(`DataCloneError: ${path} is not JSON and could not be cloned`) // M2
}

const copy = <A>(value: A, what: string): A => {
  assertJson(value, what)
  return structuredClone(value) // M1
}

/** A target that reaches `server` as another object would. A function is asked anew for each call. */
export const inMemoryTarget = (
  server: WireTarget | (() => WireTarget),
  hooks: InMemoryHooks = {},
): WireTarget => {
  const peer = typeof server === "function" ? server : () => server

  const sinkOf = (message: WireMessage, sink: WireSink): WireSink => {
    return async (values) => {
      const copied = copy(values, "values")
      const fate = hooks.push === undefined ? "deliver" : await hooks.push(message, copied)
      if (fate === "drop") throw connectionLost()
      await sink(copied)
    }
  }

  const deliver = async (message: WireMessage, sink: WireSink | undefined): Promise<WireExit> => {
    const exit = copy(
      await peer().call(copy(message, "message"), sink && sinkOf(message, sink)),
      "exit",
    )
    const fate = hooks.reply === undefined ? "deliver" : await hooks.reply(message, exit)
    if (fate === "drop") throw connectionLost()
    return exit
  }

  const decided = (fate: Fate, message: WireMessage, sink: WireSink | undefined) => {
    if (fate === "drop") return Promise.reject<WireExit>(connectionLost())
    if (fate === "deliver") return deliver(message, sink)
    const first = deliver(message, sink)
    deliver(message, sink).catch(() => undefined)
    return first
  }

  return {
    call: (message, sink) => {
      const fate = hooks.request?.(message) ?? "deliver" // M3
      return typeof fate === "string"
        ? decided(fate, message, sink)
        : fate.then((settled) => decided(settled, message, sink))
    },
  }
}
