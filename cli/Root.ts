/** The command `heddle` itself, and the flags that all its commands take. */
import { Command, Flag } from "effect/cli"
import { exitCodesText } from "./ExitCode.ts"
import { pathFlag } from "./Paths.ts"
import { millisOf } from "./Times.ts"

/** A flag that takes a duration. */
export const durationFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.mapTryCatch(millisOf, (error) => (error instanceof Error ? error.message : String(error))),
    Flag.withMetavar("duration"),
    Flag.withDescription(description),
  )

const answerMillis = 30_000

/** A description of several lines, as the help indents its first one. */
export const paragraphs = (text: string): string => text.replaceAll("\n", "\n  ")

export const root = Command.make("heddle").pipe(
  Command.withSharedFlags({
    url: Flag.String("url").pipe(
      Flag.withDescription("The deployment, such as https://heddle.example.com (HEDDLE_URL)"),
      Flag.optional,
    ),
    owner: Flag.String("owner").pipe(
      Flag.withAlias("o"),
      Flag.withDescription("The owner whose threads it is about (HEDDLE_OWNER)"),
      Flag.optional,
    ),
    token: Flag.String("token").pipe(
      Flag.withDescription("The bearer token (HEDDLE_TOKEN; others on the machine can see flags)"),
      Flag.optional,
    ),
    tokenFile: pathFlag("token-file").pipe(
      Flag.withDescription("A file that holds the token (HEDDLE_TOKEN_FILE)"),
      Flag.optional,
    ),
    tokenCommand: Flag.String("token-command").pipe(
      Flag.withDescription("A shell command that prints the token (HEDDLE_TOKEN_COMMAND)"),
      Flag.optional,
    ),
    profile: Flag.String("profile").pipe(
      Flag.withDescription("The table [profiles.NAME] of heddle.toml to use (HEDDLE_PROFILE)"),
      Flag.optional,
    ),
    config: pathFlag("config").pipe(
      Flag.withDescription("The settings file, instead of the nearest heddle.toml (HEDDLE_CONFIG)"),
      Flag.optional,
    ),
    connectTimeout: durationFlag(
      "connect-timeout",
      "How long an answer may take to begin (default 30s)",
    ).pipe(Flag.withDefault(answerMillis)),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print JSON: one document, or a line each for streams"),
      Flag.withDefault(false),
    ),
  }),
  Command.withDescription(
    paragraphs(`Submit work to a Heddle deployment, follow it, decide about it, operate it.

Where and as whom: --url, --owner and --token; or HEDDLE_URL, HEDDLE_OWNER and HEDDLE_TOKEN; or heddle.toml
here or in a folder above. Flags win over the environment, which wins over the file.

${exitCodesText}`),
  ),
)
