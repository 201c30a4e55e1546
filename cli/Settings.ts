/**
 * Where a command goes, and as whom: out of flags, a profile, the environment and heddle.toml.
 *
 * - S1 What was typed wins: a flag, then the profile that a flag names. Then comes the environment, then
 *   the file: the profile that the environment or the file itself names, then its first level.
 * - S2 One place answers for a token as a whole: a token, a file and a command of different places are
 *   never mixed up.
 */
import type { Profile, SettingsFile } from "./SettingsFile.ts"
import { ExitCode } from "./ExitCode.ts"
import { Stopped } from "./Stopped.ts"

/** Where a token comes from. */
export type TokenSource =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "File"; readonly path: string }
  | { readonly _tag: "Command"; readonly command: string }

export interface Settings {
  readonly url: string | undefined
  readonly token: TokenSource | undefined
  readonly owner: string | undefined
  readonly author: string | undefined
  /** The file that was read. */
  readonly file: string | undefined
}

/** The values of one place; the same names for all. */
export interface Given extends Profile {
  readonly tokenCommand?: string
}

export const environmentNames = {
  url: "HEDDLE_URL",
  token: "HEDDLE_TOKEN",
  tokenFile: "HEDDLE_TOKEN_FILE",
  tokenCommand: "HEDDLE_TOKEN_COMMAND",
  owner: "HEDDLE_OWNER",
  author: "HEDDLE_AUTHOR",
} as const

/** Of an environment: an empty variable is none. */
export const givenByEnvironment = (env: Readonly<Record<string, string | undefined>>): Given =>
  Object.fromEntries(
    Object.entries(environmentNames)
      .map(([field, name]) => [field, env[name]] as const)
      .filter(([, value]) => value !== undefined && value !== ""),
  )

const tokenOf = (given: Given): TokenSource | undefined => {
  if (given.token !== undefined) return { _tag: "Text", text: given.token }
  if (given.tokenFile !== undefined) return { _tag: "File", path: given.tokenFile }
  if (given.tokenCommand !== undefined) return { _tag: "Command", command: given.tokenCommand }
  return undefined
}

const profileNamed = (file: SettingsFile | undefined, name: string): Profile => {
  const profiles = file?.profiles ?? {}
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile !== undefined) return profile
  const known = Object.keys(profiles)
  throw new Stopped({
    exitCode: ExitCode.usage,
    what: `There is no profile ${JSON.stringify(name)}${file === undefined ? ": no heddle.toml was found" : ` in ${file.path}`}`,
    next: known.length === 0 ? "Add a table [profiles.NAME]." : `There are ${known.join(", ")}.`,
  })
}

/** Puts the places together. Throws a `Stopped` when a profile is named that is not there. */
export const settingsOf = (places: {
  readonly flags: Given
  /** The profile that a flag names. */
  readonly profileFlag: string | undefined
  readonly environment: Given
  /** The profile that the environment names. */
  readonly profileVariable: string | undefined
  readonly file: SettingsFile | undefined
}): Settings => {
  const { environment, file, flags, profileFlag } = places
  const ordinary = places.profileVariable ?? file?.profile
  const order: ReadonlyArray<Given> = [
    flags,
    ...(profileFlag === undefined ? [] : [profileNamed(file, profileFlag)]),
    environment,
    ...(profileFlag === undefined && ordinary !== undefined ? [profileNamed(file, ordinary)] : []),
    file?.base ?? {},
  ] // S1
  const first = <A>(pick: (given: Given) => A | undefined): A | undefined =>
    order.map(pick).find((value) => value !== undefined)
  return {
    url: first(({ url }) => url),
    token: first(tokenOf), // S2
    owner: first(({ owner }) => owner),
    author: first(({ author }) => author),
    file: file?.path,
  }
}
