import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Given, givenByEnvironment, settingsOf } from "../../../cli/Settings.ts"
import { findSettings, parseSettings } from "../../../cli/SettingsFile.ts"
import { Stopped } from "../../../cli/Stopped.ts"
import { answers } from "./answers.ts"
import { makeCommand } from "./command.ts"
import { makeDeployment } from "./deployment.ts"

const stoppedBy = (run: () => unknown): Stopped => {
  try {
    run()
  } catch (error) {
    if (error instanceof Stopped) return error
    throw error
  }
  throw new Error("It did not stop")
}

const text = `
url = "https://base.test"
owner = "base"
profile = "staging"

[profiles.staging]
url = "https://staging.test"
token = "staging-token"

[profiles.live]
url = "https://live.test"
token_file = "secrets/live"
owner = "live"
author = "bot"
`

const file = parseSettings("/etc/heddle/heddle.toml", text)

const of = (
  places: {
    flags?: Given
    profileFlag?: string
    environment?: Given
    profileVariable?: string
    file?: typeof file
  } = {},
) =>
  settingsOf({
    flags: {},
    profileFlag: undefined,
    environment: {},
    profileVariable: undefined,
    file,
    ...places,
  })

describe("settings", () => {
  it("come from the first level and the file's own profile, which wins", () => {
    expect(of()).toMatchObject({
      url: "https://staging.test",
      owner: "base",
      token: { _tag: "Text", text: "staging-token" },
    })
  })

  it("come from the environment before any profile that nobody typed", () => {
    const environment = { url: "https://env.test", tokenCommand: "print" }
    expect(of({ environment })).toMatchObject({
      url: "https://env.test",
      owner: "base",
      token: { _tag: "Command", command: "print" },
    })
    expect(of({ environment, profileVariable: "live" })).toMatchObject({
      url: "https://env.test",
      owner: "live",
    })
  })

  it("come from a profile that was typed before the environment", () => {
    const environment = { url: "https://env.test", token: "env-token", owner: "env" }
    expect(of({ environment, profileFlag: "live" })).toMatchObject({
      url: "https://live.test",
      owner: "live",
      author: "bot",
      token: { _tag: "File", path: "/etc/heddle/secrets/live" },
    })
    expect(of({ environment, profileFlag: "staging" })).toMatchObject({ owner: "env" })
  })

  it("come from flags before all", () => {
    const flags = { url: "https://flag.test", tokenFile: "/t" }
    expect(of({ flags, profileFlag: "live", environment: { token: "e" } })).toMatchObject({
      url: "https://flag.test",
      owner: "live",
      token: { _tag: "File", path: "/t" },
    })
  })

  it("are none where nobody says any, and an empty variable says none", () => {
    const environment = givenByEnvironment({ HEDDLE_URL: "", HEDDLE_OWNER: undefined })
    const { file: _, ...places } = { file, flags: {}, environment }
    const found = settingsOf({
      ...places,
      profileFlag: undefined,
      profileVariable: undefined,
      file: undefined,
    })
    expect(Object.values(found).filter((value) => value !== undefined)).toEqual([])
  })

  it("name the profiles there are when one is missing", () => {
    const stopped = stoppedBy(() => of({ profileFlag: "prod" }))
    expect(stopped).toMatchObject({ exitCode: 2, next: "There are staging, live." })
  })
})

describe("heddle.toml", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "heddle-settings-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it("is found in the nearest folder above", () => {
    const deep = join(folder, "a", "b")
    mkdirSync(deep, { recursive: true })
    writeFileSync(join(folder, "heddle.toml"), `owner = "far"`)
    expect(findSettings(deep, undefined)?.base).toEqual({ owner: "far" })
    writeFileSync(join(folder, "a", "heddle.toml"), `owner = "near"`)
    expect(findSettings(deep, undefined)?.base).toEqual({ owner: "near" })
    writeFileSync(join(deep, "other.toml"), `owner = "named"`)
    expect(findSettings(deep, "other.toml")?.base).toEqual({ owner: "named" })
  })

  it("is not used unasked when it is another user's", () => {
    const path = join(folder, "heddle.toml")
    writeFileSync(path, `url = "https://elsewhere.test"`)
    const stranger = [(process.getuid?.() ?? 0) + 1]
    expect(stoppedBy(() => findSettings(folder, undefined, stranger))).toMatchObject({
      exitCode: 2,
      what: expect.stringContaining("is another user's") as string,
    })
    expect(findSettings(folder, path, stranger)?.base.url).toBe("https://elsewhere.test")
    expect(findSettings(folder, undefined, undefined)?.base.url).toBe("https://elsewhere.test")
  })

  it("is refused with the place of a mistake, and without what it holds", () => {
    for (const [wrong, place] of [
      [`token = "hush\nurl = 1`, "h.toml:1:"],
      [`tokn = "hush"`, "tokn is not a setting"],
      [`token = 7`, "token is not a text"],
      [`[profiles]\nlive = "hush"`, "profiles.live is not a table"],
      [`[profiles.live]\ntoken_command = "hush"`, "profiles.live.token_command is not a setting"],
      [`constructor = "hush"`, "constructor is not a setting"],
      [`profile = ["hush"]`, "profile is not a text"],
    ] as const) {
      const stopped = stoppedBy(() => parseSettings("h.toml", wrong))
      expect(stopped.exitCode).toBe(2)
      expect(stopped.what).toContain(place)
      expect(`${stopped.what}${stopped.next}`).not.toContain("hush")
    }
  })

  it("takes its profiles as names, whatever they are called", () => {
    const found = parseSettings(
      "h.toml",
      `[profiles.__proto__]\nowner = "x"\n[profiles.toString]\n`,
    )
    expect(Object.keys(found.profiles)).toEqual(["__proto__", "toString"])
    expect(stoppedBy(() => of({ profileFlag: "constructor" })).exitCode).toBe(2)
  })
})

describe("heddle, as a process", () => {
  it.live(
    "goes where flags, a typed profile, the environment and the file say, in this order",
    () =>
      Effect.gen(function* () {
        const deployment = yield* makeDeployment(answers)
        const command = yield* makeCommand
        const { token, url } = deployment
        writeFileSync(
          join(command.folder, "heddle.toml"),
          `url = "${url}"\nowner = "shop-file"\ntoken_file = "token"\n[profiles.two]\nowner = "shop-profile"\n`,
        )
        writeFileSync(join(command.folder, "token"), `${token}\n`)
        const below = join(command.folder, "below")
        mkdirSync(below)
        const env = { HEDDLE_OWNER: "shop-env" }
        const ownerAsked = Effect.fnUntraced(function* (args: ReadonlyArray<string>, given = {}) {
          const ended = yield* Effect.promise(() =>
            command.run(["threads", ...args], { cwd: below, env: given }),
          )
          expect(ended).toMatchObject({ code: 0 })
          return deployment.payloads("listThreads").at(-1)?.["ownerId"]
        })
        expect(yield* ownerAsked([])).toBe("shop-file")
        expect(yield* ownerAsked([], { HEDDLE_PROFILE: "two" })).toBe("shop-profile")
        expect(yield* ownerAsked([], env)).toBe("shop-env")
        expect(yield* ownerAsked(["--profile", "two"], env)).toBe("shop-profile")
        expect(yield* ownerAsked(["--profile", "two", "-o", "shop-flag"], env)).toBe("shop-flag")
        expect(yield* ownerAsked(["--token-command", `echo ${token}`])).toBe("shop-file")
      }),
  )
})
