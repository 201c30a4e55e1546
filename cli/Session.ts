/**
 * What a command works with: the client of the deployment that the settings name, and the ways to say
 * what came of it.
 *
 * - N1 Nothing is sent before all settings are known to be usable.
 * - N2 Whatever a call fails with ends as a `Stopped`, in words that say what to do.
 * - N3 What was typed is never passed over for what the environment or a file says.
 */
import { userInfo } from "node:os"
import { Effect, Layer, Option } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import { OwnerId } from "../contracts/Identifiers.ts"
import { ExitCode } from "./ExitCode.ts"
import { guardedFetch } from "./GuardedFetch.ts"
import { Output } from "./Output.ts"
import { jsonDocument, jsonLine } from "./Plain.ts"
import { type CallError, stoppedBy } from "./Remedies.ts"
import { root } from "./Root.ts"
import { givenByEnvironment, type Settings, settingsOf } from "./Settings.ts"
import { findSettings } from "./SettingsFile.ts"
import { Stopped, usage } from "./Stopped.ts"
import { claimsOf, holdToken } from "./Token.ts"

export interface Session {
  readonly client: HeddleClient["Service"]
  /** Where the deployment is, for words: its origin. */
  readonly url: string
  /** The whole address that calls go to: behind one origin there may be several deployments. */
  readonly address: string
  /** The owner, or how to name one. */
  readonly ownerId: Effect.Effect<OwnerId, Stopped>
  /** Who the token says calls. */
  readonly principal: string | undefined
  /** How many requests may have been taken by whatever is at the address. */
  readonly requestsSent: () => number
  /** Asks for another token where this one has run out; whether there is one. */
  readonly renewToken: Effect.Effect<boolean>
  /** Who says so, where a command asks for a name. */
  readonly author: string
  readonly json: boolean
  readonly output: Output["Service"]
  /** One result: a document for machines, or the text for people. */
  readonly show: (value: unknown, text: () => string) => Effect.Effect<void>
  /** One of a stream of results. */
  readonly showLine: (value: unknown, text: () => string) => Effect.Effect<void>
}

const asStopped = (error: unknown): Stopped =>
  error instanceof Stopped ? error : usage("The token cannot be read", "Check --token-file.")

const isStopped = (error: unknown): error is Stopped => error instanceof Stopped

/** What the client refuses before anything is sent was not refused by the deployment: it was typed so. */
const asUsage = ({ error, next, what }: Stopped): Stopped =>
  new Stopped({
    exitCode: ExitCode.usage,
    what,
    ...(next === undefined ? {} : { next }),
    ...(error === undefined ? {} : { error }),
  })

/** Runs what throws a `Stopped`. */
export const attempt = <A>(run: () => A): Effect.Effect<A, Stopped> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      return isStopped(error) ? Effect.fail(error) : Effect.die(error)
    }
  })

/** A flag's value. One that is there and empty is a mistake, a variable that is not set say, and nobody's choice. */
const typed = (name: string, option: Option.Option<string>): string | undefined => {
  const value = Option.getOrUndefined(option)
  if (value !== "") return value
  throw usage(`--${name} is empty`, "Give it a value, or leave it out.") // N3
}

const readSettings = Effect.fnUntraced(function* () {
  const flags = yield* root
  const { env } = process
  return yield* attempt(() => {
    const url = typed("url", flags.url)
    const owner = typed("owner", flags.owner)
    const token = typed("token", flags.token)
    const tokenFile = typed("token-file", flags.tokenFile)
    const tokenCommand = typed("token-command", flags.tokenCommand)
    return settingsOf({
      flags: {
        ...(url === undefined ? {} : { url }),
        ...(owner === undefined ? {} : { owner }),
        ...(token === undefined ? {} : { token }),
        ...(tokenFile === undefined ? {} : { tokenFile }),
        ...(tokenCommand === undefined ? {} : { tokenCommand }),
      },
      profileFlag: typed("profile", flags.profile),
      environment: givenByEnvironment(env),
      profileVariable: env["HEDDLE_PROFILE"] || undefined,
      file: findSettings(
        process.cwd(),
        typed("config", flags.config) ?? (env["HEDDLE_CONFIG"] || undefined),
      ),
    })
  })
})

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

const checkUrl = (settings: Settings): URL => {
  if (settings.url === undefined) {
    throw usage(
      "Where is the deployment?",
      "Say it with --url, HEDDLE_URL or url in heddle.toml. npm run dev serves one at http://127.0.0.1:8787.",
    )
  }
  const url = URL.canParse(settings.url) ? new URL(settings.url) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw usage(
      `${JSON.stringify(settings.url)} is no address`,
      "Write one such as https://heddle.example.com.",
    )
  }
  if (url.username !== "" || url.password !== "") {
    throw usage(
      "The address holds a name or a password",
      "Leave them out; a deployment takes a token.",
    )
  }
  return url
}

/** One text for one address: `/rpc` is where calls go that are sent to an origin. */
const addressOf = ({ origin, pathname, search }: URL): string =>
  /^\/(rpc\/?)?$/.test(pathname) && search === "" ? origin : `${origin}${pathname}${search}`

const checkOwner = (settings: Settings): Effect.Effect<OwnerId, Stopped> =>
  attempt(() => {
    const { owner } = settings
    if (owner === undefined) {
      throw usage("Whose threads?", "Say it with --owner, HEDDLE_OWNER or owner in heddle.toml.")
    }
    if (!/^[A-Za-z0-9._:-]{1,128}$/.test(owner)) {
      throw usage(
        `${JSON.stringify(owner)} is no owner`,
        "An owner is 1 to 128 characters out of A-Z a-z 0-9 . _ : -",
      )
    }
    return OwnerId.make(owner)
  })

const noToken = new Stopped({
  exitCode: ExitCode.denied,
  what: "There is no token",
  next: "Give one with --token, --token-file, --token-command, HEDDLE_TOKEN or heddle.toml. Locally: npm run --silent token -- --principal NAME --owners PATTERN.",
})

const machineUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return "unknown"
  }
}

/** The client, and what its token function failed with last. */
const connect = Effect.fnUntraced(function* (settings: Settings, url: URL, answerMillis: number) {
  if (settings.token === undefined) return yield* noToken
  const token = holdToken(settings.token)
  let problem: Stopped | undefined
  let sent = 0
  const first = yield* Effect.tryPromise({ try: token.current, catch: asStopped }) // N1
  const layer = HeddleClient.layerHttp({
    url: url.href,
    fetch: guardedFetch({
      answerMillis,
      onSent: () => {
        sent += 1
      },
    }),
    token: () =>
      token.current().catch((error: unknown) => {
        if (isStopped(error)) problem = error
        throw error
      }),
  })
  const context = yield* Layer.build(layer)
  const client = yield* Effect.provideContext(HeddleClient, context)
  return {
    client,
    principal: claimsOf(first).principal,
    renewToken: Effect.orElseSucceed(Effect.tryPromise(token.renew), () => false),
    problem: () => problem,
    requestsSent: () => sent,
  }
})

/**
 * Runs a command's body with its session; the thread, if it is about one, is for the words of errors.
 */
export const withSession = Effect.fnUntraced(function* <R>(
  body: (session: Session) => Effect.Effect<void, CallError | Stopped, R>,
  threadId?: string,
) {
  const flags = yield* root
  const output = yield* Output
  const settings = yield* readSettings()
  const url = yield* attempt(() => checkUrl(settings)) // N1
  const { client, principal, problem, renewToken, requestsSent } = yield* connect(
    settings,
    url,
    flags.connectTimeout,
  )
  if (url.protocol === "http:" && !loopback.test(url.hostname)) {
    yield* output.note(`Warning: the token goes to ${url.host} unencrypted. Use https.`)
  }
  const { json } = flags
  yield* body({
    client,
    url: url.origin,
    address: addressOf(url),
    ownerId: checkOwner(settings),
    principal,
    requestsSent,
    renewToken,
    author: settings.author ?? machineUser(),
    json,
    output,
    show: (value, text) => output.print(json ? jsonDocument(value) : text()),
    showLine: (value, text) => output.print(json ? jsonLine(value) : text()),
  }).pipe(
    Effect.mapError((error) => {
      if (isStopped(error)) return error
      const about = { url: url.origin, ownerId: settings.owner, threadId }
      const stopped = problem() ?? stoppedBy(error, about) // N2
      return error._tag === "InvalidInput" && requestsSent() === 0 ? asUsage(stopped) : stopped
    }),
    Effect.ensuring(output.progressEnds),
  )
}, Effect.scoped)
