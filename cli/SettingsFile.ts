/**
 * `heddle.toml`: where the deployment is and who calls it, found in the working folder or above it.
 *
 * - F1 What is wrong with it is told with file, line and column, and never with a value out of it.
 * - F2 One that is merely found is used only if it is the user's own (or root's): whoever can put a file into
 *   a shared folder above could else have tokens sent elsewhere.
 */
import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { parse, TomlError } from "smol-toml"
import { ExitCode } from "./ExitCode.ts"
import { Stopped } from "./Stopped.ts"

export const settingsFileName = "heddle.toml"

/** What a table of it may say. */
export interface Profile {
  readonly url?: string
  readonly token?: string
  /** The file that holds it, from the folder of heddle.toml on. */
  readonly tokenFile?: string
  readonly owner?: string
  readonly author?: string
}

export interface SettingsFile {
  readonly path: string
  /** What its first level says. */
  readonly base: Profile
  /** The profile it would have used. */
  readonly profile?: string
  readonly profiles: Readonly<Record<string, Profile>>
}

const names: Readonly<Record<string, keyof Profile>> = {
  url: "url",
  token: "token",
  token_file: "tokenFile",
  owner: "owner",
  author: "author",
}

const stopped = (path: string, what: string): Stopped =>
  new Stopped({
    exitCode: ExitCode.usage,
    what: `${path}: ${what}`,
    next: `It may say ${Object.keys(names).join(", ")} and profile, and the same but for profile in tables [profiles.NAME].`,
  })

type TomlTable = Readonly<Record<string, unknown>>

const isTable = (value: unknown): value is TomlTable =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

const profileOf = (path: string, place: string, entries: TomlTable): Profile => {
  const profile: { -readonly [Name in keyof Profile]: string } = {}
  for (const [name, value] of Object.entries(entries)) {
    const field = Object.hasOwn(names, name) ? names[name] : undefined
    if (field === undefined) throw stopped(path, `${place}${name} is not a setting`)
    if (typeof value !== "string" || value === "") {
      throw stopped(path, `${place}${name} is not a text`) // F1
    }
    profile[field] = field === "tokenFile" ? resolve(dirname(path), value) : value
  }
  return profile
}

/** Reads the text of a file. Throws a `Stopped`. */
export const parseSettings = (path: string, text: string): SettingsFile => {
  let document: TomlTable
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [, reason = ""] = /^Invalid TOML document: ([^\n]*)/.exec(error.message) ?? []
    throw stopped(`${path}:${error.line}:${error.column}`, reason) // F1
  }
  const { profile, profiles = {}, ...base } = document
  if (profile !== undefined && typeof profile !== "string")
    throw stopped(path, "profile is not a text")
  if (!isTable(profiles)) throw stopped(path, "profiles is not a table")
  const read = Object.entries(profiles).map(([name, entries]) => {
    if (!isTable(entries)) throw stopped(path, `profiles.${name} is not a table`)
    return [name, profileOf(path, `profiles.${name}.`, entries)] as const
  })
  return {
    path,
    base: profileOf(path, "", base),
    profiles: Object.fromEntries(read),
    ...(profile === undefined ? {} : { profile }),
  }
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    throw stopped(path, "cannot be read")
  }
}

/** Whose files are trusted: one's own, and root's. None where there are no users. */
const trusted = (): ReadonlyArray<number> | undefined => {
  const user = process.getuid?.()
  return user === undefined ? undefined : [user, 0]
}

/** The file of that name, or else the nearest one above the folder. Throws a `Stopped`. */
export const findSettings = (
  folder: string,
  named: string | undefined,
  users = trusted(),
): SettingsFile | undefined => {
  // As an absolute path, so that files it names are found from its folder.
  if (named !== undefined)
    return parseSettings(resolve(folder, named), read(resolve(folder, named)))
  for (let at = resolve(folder); ; at = dirname(at)) {
    const path = join(at, settingsFileName)
    if (existsSync(path)) {
      if (users?.includes(statSync(path).uid) === false) {
        throw new Stopped({
          exitCode: ExitCode.usage,
          what: `${path} is another user's, so it is not used`, // F2
          next: "If you trust it, name it with --config or HEDDLE_CONFIG.",
        })
      }
      return parseSettings(path, read(path))
    }
    if (dirname(at) === at) return undefined
  }
}
