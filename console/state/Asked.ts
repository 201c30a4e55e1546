/**
 * The command that somebody is about to give: at most one, over the page it was asked for on.
 *
 * - A1 It goes with its page, and with its reader: nobody decides over another page than the one they have read.
 */
import { effect, signal } from "@preact/signals"
import type { Command } from "../lib/Commands.ts"
import { reader } from "./Session.ts"

export interface Asked {
  readonly ownerId: string
  readonly command: Command
  /** Called once it was done. */
  readonly done: () => void
}

export const asked = signal<Asked | undefined>(undefined)

const leave = () => void (asked.value = undefined)

addEventListener("hashchange", leave) // A1
effect(() => {
  if (reader.value > 0) leave() // A1
})
