/** Why a command ends without having done what was asked, in words for the person who typed it. */
import { Data } from "effect"
import { ExitCode } from "./ExitCode.ts"

export class Stopped extends Data.TaggedError("Stopped")<{
  readonly exitCode: ExitCode
  /** What happened. */
  readonly what: string
  /** What to do next. */
  readonly next?: string
  /** The error as the deployment told it, for `--json`. */
  readonly error?: { readonly _tag: string }
}> {}

/** What was typed, or a file that it names, cannot be used. */
export const usage = (what: string, next?: string): Stopped =>
  new Stopped({ exitCode: ExitCode.usage, what, ...(next === undefined ? {} : { next }) })
