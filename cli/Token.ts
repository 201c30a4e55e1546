/**
 * The bearer token of a command: given as it is, read from a file, or told by a program.
 *
 * - T1 It goes into the request's header and nowhere else: no message holds it, or what a program said.
 * - T2 A file is read, and a program asked, again when the token has run out: a long `tail` outlives it.
 */
import { exec } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { ExitCode } from "./ExitCode.ts"
import type { TokenSource } from "./Settings.ts"
import { Stopped } from "./Stopped.ts"

/** What a token says of itself. Only its issuer and the deployment can tell whether it is true. */
export interface TokenClaims {
  readonly principal: string | undefined
  readonly expiresAt: number | undefined
}

export const claimsOf = (token: string): TokenClaims => {
  try {
    const [, body = ""] = token.split(".")
    const { exp, sub } = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as {
      exp?: unknown
      sub?: unknown
    }
    return {
      principal: typeof sub === "string" ? sub : undefined,
      expiresAt: typeof exp === "number" ? exp * 1_000 : undefined,
    }
  } catch {
    return { principal: undefined, expiresAt: undefined }
  }
}

const stopped = (what: string, next: string): Stopped =>
  new Stopped({ exitCode: ExitCode.denied, what, next })

const commandMillis = 60_000

const run = async (command: string): Promise<string> => {
  try {
    return (await promisify(exec)(command, { timeout: commandMillis })).stdout
  } catch {
    throw stopped(
      "The command that gives the token failed", // T1
      "Run it by itself; it must print a token on standard output and end with 0 within a minute.",
    )
  }
}

const readToken = async (source: TokenSource): Promise<string> => {
  if (source._tag === "Text") return source.text
  if (source._tag === "Command") return run(source.command)
  try {
    return await readFile(source.path, "utf8")
  } catch {
    throw stopped(`The token file ${source.path} cannot be read`, "Check --token-file.")
  }
}

/** Characters that a header can carry and a token can have. */
const sound = /^[A-Za-z0-9._~+/=-]+$/

export interface TokenHolder {
  /** The token of the moment; rejects with a `Stopped`. */
  readonly current: () => Promise<string>
  /** Asks for another one; whether there is. Rejects with a `Stopped`. */
  readonly renew: () => Promise<boolean>
}

/** Holds the token of a command. */
export const holdToken = (source: TokenSource): TokenHolder => {
  let kept: string | undefined
  const ask = async (): Promise<string> => {
    const token = (await readToken(source)).trim()
    if (!sound.test(token)) {
      throw stopped(
        token === "" ? "The token is empty" : "The token has characters that no token has", // T1
        "Check --token, --token-file, --token-command, HEDDLE_TOKEN and heddle.toml.",
      )
    }
    kept = token
    return token
  }
  return {
    current: async () => {
      const expiresAt = kept === undefined ? 0 : claimsOf(kept).expiresAt
      if (kept !== undefined && (expiresAt === undefined || Date.now() < expiresAt)) return kept
      return ask() // T2
    },
    renew: async () => {
      const before = kept
      return (await ask()) !== before // T2
    },
  }
}
